//! What reads through a conversation that is to be erased, and could not be read any more.

use axum::http::StatusCode;
use domain::{ConversationId, Owner};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use read_model::ForkRow;
use runtime::http::HttpProblem;
use serde::Deserialize;
use utoipa::ToSchema;
use wire::status::{Problem, Reason};

use super::erase_chat::{Erased, erase};
use crate::http::state::HttpState;
use crate::http::{catch_up, problem};
use crate::identity::Caller;

/// The code of an erasure that forks stand against.
pub const HAS_FORKS: &str = "HAS_FORKS";
/// Most forks that one request erases.
pub const FORKS_MAX: u32 = 200;
/// Most forks that a refusal names.
pub const FORKS_NAMED_MAX: usize = 20;
/// How often one request looks for forks: those that it finds go, and others may be begun meanwhile.
const LOOKS_MAX: u32 = 3;
/// Forks that go at once.
const AT_ONCE: usize = 8;

/// What becomes of forks that read through what is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForkRule {
    /// They stay, and so does what they read through.
    #[default]
    Refuse,
    /// They go too, and the forks of those, where all of them are the caller's.
    Erase,
}

/// Sees to it that nothing reads through a conversation any more. Forks go before what they go on from: whatever cuts this
/// short, what is left can be read.
///
/// # Errors
/// 409 [`HAS_FORKS`] where forks must stay, 503 while the rows do not hold all that was recorded, and what keeps a fork from
/// being erased.
pub async fn settle(
    state: &HttpState,
    caller: &Caller,
    chat: &ConversationId,
    rule: ForkRule,
) -> Result<(), HttpProblem> {
    let mut looks = 1;
    loop {
        let forks = look(state, caller, chat).await?;
        if forks.is_empty() {
            return Ok(());
        }
        if rule == ForkRule::Refuse || looks == LOOKS_MAX || !may_go(&forks, &caller.owner) {
            return Err(has_forks(&forks, &caller.owner));
        }
        let by_depth = forks.chunk_by(|one, other| one.depth == other.depth);
        for alike in by_depth.rev() {
            erase_all(state, caller, alike).await?;
        }
        looks += 1;
    }
}

/// The forks that there are, the nearest first; one more than [`FORKS_MAX`] tells that there are more than that.
async fn look(
    state: &HttpState,
    caller: &Caller,
    chat: &ConversationId,
) -> Result<Vec<ForkRow>, HttpProblem> {
    let gateway = &state.gateway;
    if !catch_up::reached(gateway).await.map_err(problem::of)? {
        return Err(problem::of(rows_behind()));
    }
    let tenant = &caller.access.tenant;
    let forks = read_model::forks(&gateway.read_model, tenant, chat, FORKS_MAX + 1).await;
    forks.map_err(|error| problem::of(crate::problem::of_read_model(&error)))
}

fn may_go(forks: &[ForkRow], caller: &Owner) -> bool {
    let is_within = u32::try_from(forks.len()).is_ok_and(|forks| forks <= FORKS_MAX);
    is_within && forks.iter().all(|fork| fork.owner == *caller)
}

/// One that is somebody else's by now is met again by the next look.
async fn erase_all(
    state: &HttpState,
    caller: &Caller,
    forks: &[ForkRow],
) -> Result<(), HttpProblem> {
    let ids: Vec<ConversationId> = forks.iter().map(|fork| fork.id.clone()).collect();
    let erasures = ids
        .into_iter()
        .map(|id| async move { erase(state, caller, &id, None).await });
    let erasures = stream::iter(erasures).buffer_unordered(AT_ONCE);
    erasures.try_for_each(|_: Erased| async { Ok(()) }).await
}

/// How many forks there are, and which of them are the caller's: others' are counted and not named.
fn has_forks(forks: &[ForkRow], caller: &Owner) -> HttpProblem {
    let own = forks.iter().filter(|fork| fork.owner == *caller);
    let own: Vec<&str> = own.map(|fork| fork.id.as_str()).collect();
    let (all, others) = (forks.len(), forks.len() - own.len());
    let mend = if others > 0 {
        format!("{others} of them are not the caller's, and must be erased first")
    } else if may_go(forks, caller) {
        "erase them first, or with it by ?forks=erase".to_owned()
    } else {
        format!("erase some of them first, since at most {FORKS_MAX} go with it")
    };
    let detail =
        format!("{all} chats read through this one and could not be read any more: {mend}");
    let refusal = HttpProblem::new(StatusCode::CONFLICT, HAS_FORKS, detail);
    let refusal = refusal.with("forks", all.to_string());
    if own.is_empty() {
        return refusal;
    }
    let named: Vec<&str> = own.into_iter().take(FORKS_NAMED_MAX).collect();
    refusal.with("fork_ids", named.join(","))
}

fn rows_behind() -> Problem {
    let message =
        "the rows do not hold all that was recorded, and a fork may be among the rest: try again";
    Problem::new(Reason::ReadModelUnavailable, message).retry_after(crate::problem::RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use domain::UserId;

    use super::*;

    fn user(id: &str) -> Owner {
        Owner::User(UserId::parse(id).unwrap())
    }

    fn forks(owners: impl IntoIterator<Item = &'static str>) -> Vec<ForkRow> {
        let owners = (1..).zip(owners);
        let forks = owners.map(|(depth, owner)| ForkRow {
            id: ConversationId::parse(format!("f{depth}")).unwrap(),
            owner: user(owner),
            depth,
        });
        forks.collect()
    }

    #[test]
    fn so_many_go_with_a_conversation_and_no_more() {
        let bound = usize::try_from(FORKS_MAX).unwrap();
        let check = |count: usize, expected: bool| {
            let forks = forks(["ada"].into_iter().cycle().take(count));
            assert_eq!(may_go(&forks, &user("ada")), expected, "{count}");
            let advice = has_forks(&forks, &user("ada")).detail;
            assert_eq!(advice.contains("?forks=erase"), expected, "{advice}");
        };
        check(1, true);
        check(bound, true);
        check(bound + 1, false);
        assert!(!may_go(&forks(["ada", "bob"]), &user("ada")));
    }

    #[test]
    fn a_refusal_names_some_of_the_callers_own() {
        let check = |forks: &[ForkRow], expected: (&str, Option<&str>)| {
            let refusal = has_forks(forks, &user("ada"));
            let named = refusal.metadata.get("fork_ids").map(String::as_str);
            assert_eq!((refusal.metadata["forks"].as_str(), named), expected);
        };
        check(&forks(["ada", "bob", "ada"]), ("3", Some("f1,f3")));
        check(&forks(["bob"]), ("1", None));
        let many = forks(["ada"].into_iter().cycle().take(FORKS_NAMED_MAX + 1));
        let all: Vec<&str> = many.iter().map(|fork| fork.id.as_str()).collect();
        check(&many[1..], ("20", Some(&all[1..].join(","))));
        check(&many, ("21", Some(&all[..FORKS_NAMED_MAX].join(","))));
    }
}

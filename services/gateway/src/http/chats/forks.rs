//! What reads through a conversation that is to be erased, and could not be read any more.

use axum::http::StatusCode;
use domain::{CommitId, ConversationId, Owner};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use read_model::ForkRow;
use runtime::http::HttpProblem;
use serde::Deserialize;
use utoipa::ToSchema;
use wire::proto::write::v1 as proto;
use wire::status::Reason;

use super::erasure::{Erased, erase};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::identity::Caller;

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

/// Erases a conversation that nothing reads through any more, and before it its forks where the rule says so. Forks go before
/// what they go on from: whatever cuts this short, what is left can be read. The writer looks for forks, so none that was
/// acknowledged is missed; those that it finds are read from the rows, which hold them by then.
///
/// # Errors
/// 409 `HAS_FORKS` where forks must stay, 503 while the rows do not hold all that was recorded, and what keeps it or a fork
/// from being erased.
pub async fn erase_with(
    state: &HttpState,
    caller: &Caller,
    chat: &ConversationId,
    key: Option<CommitId>,
    rule: ForkRule,
) -> Result<Erased, HttpProblem> {
    let mut looks = 1;
    loop {
        let refusal = match erase(state, caller, chat, key, proto::ForkRule::Refuse).await {
            Err(problem) if is_refusal(&problem) => problem,
            answer => return answer,
        };
        let forks = read(state, caller, chat).await?;
        if looks == LOOKS_MAX && forks.is_empty() {
            return Err(refusal);
        }
        let must_stay = rule == ForkRule::Refuse || looks == LOOKS_MAX;
        if !forks.is_empty() && (must_stay || !may_go(&forks, &caller.owner)) {
            return Err(has_forks(&forks, &caller.owner));
        }
        let by_depth = forks.chunk_by(|one, other| one.depth == other.depth);
        for alike in by_depth.rev() {
            erase_all(state, caller, alike).await?;
        }
        looks += 1;
    }
}

fn is_refusal(problem: &HttpProblem) -> bool {
    problem.code == Reason::HasForks.as_str()
}

/// The forks that the rows know, the nearest first; one more than [`FORKS_MAX`] tells that there are more than that.
async fn read(
    state: &HttpState,
    caller: &Caller,
    chat: &ConversationId,
) -> Result<Vec<ForkRow>, HttpProblem> {
    let (model, tenant) = (&state.gateway.reader.read_model, &caller.access.tenant);
    let forks = read_model::forks(model, tenant, chat, FORKS_MAX + 1).await;
    forks.map_err(|error| problem::of(crate::problem::of_read_model(&error)))
}

fn may_go(forks: &[ForkRow], caller: &Owner) -> bool {
    let is_within = u32::try_from(forks.len()).is_ok_and(|forks| forks <= FORKS_MAX);
    is_within && forks.iter().all(|fork| fork.owner == *caller)
}

/// One that is somebody else's by now, or was forked since, is met again by the next look.
async fn erase_all(
    state: &HttpState,
    caller: &Caller,
    forks: &[ForkRow],
) -> Result<(), HttpProblem> {
    let ids: Vec<ConversationId> = forks.iter().map(|fork| fork.id.clone()).collect();
    let erasures = ids
        .into_iter()
        .map(|id| async move { erase_fork(state, caller, &id).await });
    let erasures = stream::iter(erasures).buffer_unordered(AT_ONCE);
    erasures.try_collect().await
}

async fn erase_fork(
    state: &HttpState,
    caller: &Caller,
    fork: &ConversationId,
) -> Result<(), HttpProblem> {
    match erase(state, caller, fork, None, proto::ForkRule::Refuse).await {
        Err(problem) if !is_refusal(&problem) => Err(problem),
        Ok(_) | Err(_) => Ok(()),
    }
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
    let refusal = HttpProblem::new(StatusCode::CONFLICT, Reason::HasForks.as_str(), detail);
    let refusal = refusal.with("forks", all.to_string());
    if own.is_empty() {
        return refusal;
    }
    let named: Vec<&str> = own.into_iter().take(FORKS_NAMED_MAX).collect();
    refusal.with("fork_ids", named.join(","))
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

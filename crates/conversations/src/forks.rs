//! Erases a conversation of the caller, and the forks that read through it.

use domain::{CommitId, ConversationId, Owner};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use read_model::ForkRow;
use registry::AgentAccess;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1 as proto;
use wire::status::{Problem, Reason};

use crate::Conversations;
use crate::commands::{Issuer, command_target};
use crate::open::is_not_owned;
use crate::problem;

/// Maximum number of forks that one request erases.
pub const FORKS_MAX: u32 = 200;
/// Maximum number of forks that a problem names.
pub const FORKS_NAMED_MAX: usize = 20;
/// How often one request lists forks: others may be created while the listed ones are erased.
const LOOKS_MAX: u32 = 3;
/// Forks that are erased concurrently.
const AT_ONCE: usize = 8;

/// What happens to forks that read through an erased conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkRule {
    /// The erasure is rejected if there are forks.
    Refuse,
    /// Forks are erased too, including forks of forks, if the caller owns all of them.
    Erase,
}

/// Who erases. Handlers have checked that they may.
#[derive(Debug, Clone, Copy)]
pub struct Eraser<'a> {
    /// The agent of the conversations, and its tenant.
    pub access: &'a AgentAccess,
    /// The owner that the conversations must have; `None`: any owner.
    pub owner: Option<&'a Owner>,
}

/// The result of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasure {
    /// It is erased and cannot be read.
    Done {
        /// Number of commits that are not overwritten yet; 0: the erasure is complete.
        pending_commits: u64,
    },
    /// The caller does not own it, or no longer does.
    NotOwned,
}

/// Erases a conversation if the eraser may.
///
/// # Errors
/// The writer rejects the command or does not answer.
pub async fn erase(
    conversations: &Conversations,
    eraser: Eraser<'_>,
    chat: &ConversationId,
    key: Option<CommitId>,
    forks: proto::ForkRule,
) -> Result<Erasure, Problem> {
    // The owner is part of the request that the key identifies: another owner's retry does not get the first answer.
    let request = proto::EraseConversationRequest {
        target: Some(command_target(&eraser.access.agent, chat, key)),
        expected_owner: eraser.owner.map(owner_to_proto),
        forks: forks.into(),
    };
    match conversations.commands.erase(Issuer::Gateway, request).await {
        Ok(pending_commits) => Ok(Erasure::Done { pending_commits }),
        Err(problem) if is_not_owned(problem.reason()) => Ok(Erasure::NotOwned),
        Err(problem) => Err(problem),
    }
}

/// Erases a conversation without forks; if the rule is [`ForkRule::Erase`], its forks are erased first, the deepest
/// ones before their parents. If this is interrupted, what remains can be read. The writer checks for forks, so no
/// acknowledged one is missed; the forks are listed from the rows, which include them by then.
///
/// # Errors
/// `HAS_FORKS` if forks are not erased; unavailable while the rows lag; or the conversation or a fork cannot be erased.
pub async fn erase_with_forks(
    conversations: &Conversations,
    eraser: Eraser<'_>,
    chat: &ConversationId,
    key: Option<CommitId>,
    rule: ForkRule,
) -> Result<Erasure, Problem> {
    let mut looks = 1;
    loop {
        let refusal = match erase(conversations, eraser, chat, key, proto::ForkRule::Refuse).await {
            Err(problem) if is_refusal(&problem) => problem,
            answer => return answer,
        };
        let forks = list_forks(conversations, eraser.access, chat, FORKS_MAX + 1).await?;
        if looks == LOOKS_MAX && forks.is_empty() {
            return Err(refusal);
        }
        let must_stay = rule == ForkRule::Refuse || looks == LOOKS_MAX;
        if !forks.is_empty() && (must_stay || !may_go(&forks, eraser.owner)) {
            return Err(has_forks(&forks, eraser.owner));
        }
        let by_depth = forks.chunk_by(|one, other| one.depth == other.depth);
        for forks_of_depth in by_depth.rev() {
            erase_all(conversations, eraser, forks_of_depth).await?;
        }
        looks += 1;
    }
}

fn is_refusal(problem: &Problem) -> bool {
    problem.reason() == Reason::HasForks
}

/// The forks in the rows, the nearest first, at most `limit`.
///
/// # Errors
/// The rows do not answer.
pub async fn list_forks(
    conversations: &Conversations,
    access: &AgentAccess,
    chat: &ConversationId,
    limit: u32,
) -> Result<Vec<ForkRow>, Problem> {
    let (model, tenant) = (&conversations.gateway.reader.read_model, &access.tenant);
    let forks = read_model::forks(model, tenant, chat, limit).await;
    forks.map_err(|error| problem::of_read_model(&error))
}

fn may_go(forks: &[ForkRow], owner: Option<&Owner>) -> bool {
    let is_within = u32::try_from(forks.len()).is_ok_and(|forks| forks <= FORKS_MAX);
    is_within && forks.iter().all(|fork| is_of(fork, owner))
}

fn is_of(fork: &ForkRow, owner: Option<&Owner>) -> bool {
    owner.is_none_or(|owner| fork.owner == *owner)
}

/// A fork that changed its owner or got a fork is found again by the next listing.
async fn erase_all(conversations: &Conversations, eraser: Eraser<'_>, forks: &[ForkRow]) -> Result<(), Problem> {
    let ids: Vec<ConversationId> = forks.iter().map(|fork| fork.id.clone()).collect();
    let erasures = stream::iter(ids.into_iter().map(|id| async move { erase_fork(conversations, eraser, &id).await }))
        .buffer_unordered(AT_ONCE);
    erasures.try_collect().await
}

async fn erase_fork(conversations: &Conversations, eraser: Eraser<'_>, fork: &ConversationId) -> Result<(), Problem> {
    match erase(conversations, eraser, fork, None, proto::ForkRule::Refuse).await {
        Err(problem) if !is_refusal(&problem) => Err(problem),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Contains the number of forks, and names the caller's; others are only counted.
fn has_forks(forks: &[ForkRow], owner: Option<&Owner>) -> Problem {
    let own: Vec<&str> = forks.iter().filter(|fork| is_of(fork, owner)).map(|fork| fork.id.as_str()).collect();
    let (all, others) = (forks.len(), forks.len() - own.len());
    let remedy = if others > 0 {
        format!("{others} of them have other owners, who must erase them first")
    } else if may_go(forks, owner) {
        "erase them first, or together: set forks to erase".to_owned()
    } else {
        format!("erase some of them first: at most {FORKS_MAX} are erased together")
    };
    let detail = format!("{all} chats read through this one: {remedy}");
    let refusal = Problem::new(Reason::HasForks, detail).with("forks", all.to_string());
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
            parent: ConversationId::parse("root").unwrap(),
            depth,
        });
        forks.collect()
    }

    #[test]
    fn forks_are_erased_up_to_the_bound() {
        let bound = usize::try_from(FORKS_MAX).unwrap();
        let check = |count: usize, expected: bool| {
            let forks = forks(["ada"].into_iter().cycle().take(count));
            assert_eq!(may_go(&forks, Some(&user("ada"))), expected, "{count}");
            let advice = has_forks(&forks, Some(&user("ada"))).message().to_owned();
            assert_eq!(advice.contains("set forks to erase"), expected, "{advice}");
        };
        check(1, true);
        check(bound, true);
        check(bound + 1, false);
        assert!(may_go(&forks(["ada", "bob"]), None));
        assert!(!may_go(&forks(["ada", "bob"]), Some(&user("ada"))));
    }

    #[test]
    fn a_problem_names_the_callers_forks_up_to_the_bound() {
        let check = |forks: &[ForkRow], expected: (&str, Option<&str>)| {
            let refusal = has_forks(forks, Some(&user("ada")));
            let named = refusal.metadata().get("fork_ids").map(String::as_str);
            assert_eq!((refusal.metadata()["forks"].as_str(), named), expected);
        };
        check(&forks(["ada", "bob", "ada"]), ("3", Some("f1,f3")));
        check(&forks(["bob"]), ("1", None));
        let many = forks(["ada"].into_iter().cycle().take(FORKS_NAMED_MAX + 1));
        let all: Vec<&str> = many.iter().map(|fork| fork.id.as_str()).collect();
        check(&many[1..], ("20", Some(&all[1..].join(","))));
        check(&many, ("21", Some(&all[..FORKS_NAMED_MAX].join(","))));
    }
}

//! What an erasure comes to, by what the record holds. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::{ConversationId, RequestDigest, Status};

use super::detach::copy_of;
use super::scan::Found;
use super::subject::Subject;

/// What becomes of forks that read through what is erased, and so could not be read any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ForkRule {
    /// They are listed, and nothing is erased.
    Refuse,
    /// They go too, and the forks of those.
    Erase,
    /// Each lives on as a conversation of its own, `<id>-detached`, with a copy of what it goes on from; the fork itself goes.
    Detach,
}

/// What is to do, and what is done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The subject's own, which stand.
    pub claimed: Vec<Found>,
    /// Forks of what goes or is gone, which stand and are not claimed themselves; each behind those that it goes on from.
    pub forks: Vec<Found>,
    /// Erased ones, of whatever job, of which more than the tombstone is left: that job was cut short.
    pub unfinished: Vec<Found>,
    /// The subject's own, and forks that went with them, which are erased.
    pub done: Vec<Found>,
    /// Those of them that live on as copies.
    pub detached: Vec<Found>,
    /// Conversations that were asked for by their ids, and of which the record knows nothing, not even an erasure.
    pub unknown: Vec<ConversationId>,
}

/// Sorts the conversations of the subject's tenant.
pub(super) fn plan(found: Vec<Found>, subject: &Subject, mark: Option<RequestDigest>) -> Plan {
    let mut plan = Plan::default();
    let mut standing = Vec::new();
    let mut gone = BTreeSet::new();
    if let Subject::Conversations { ids, .. } = subject {
        let known: HashSet<&ConversationId> =
            found.iter().map(|one| &one.key.conversation).collect();
        let unknown = ids.iter().filter(|id| !known.contains(id));
        plan.unknown = unknown.cloned().collect();
    }
    for one in found {
        if one.status == Status::Erased {
            if one.is_pending {
                plan.unfinished.push(one.clone());
            }
            if (mark.is_some() && one.mark == mark) || subject.claims(&one) {
                gone.insert(one.key.conversation.clone());
                plan.done.push(one);
            }
        } else if subject.claims(&one) {
            gone.insert(one.key.conversation.clone());
            plan.claimed.push(one);
        } else {
            standing.push(one);
        }
    }
    let names: HashSet<&ConversationId> =
        standing.iter().map(|one| &one.key.conversation).collect();
    let is_copied = |one: &&Found| {
        let copy = copy_of(&one.key.conversation);
        !subject.claims(one) && copy.is_ok_and(|copy| names.contains(&copy))
    };
    plan.detached = plan.done.iter().filter(is_copied).cloned().collect();
    plan.forks = forks_of(gone, standing);
    plan
}

/// Those that go on from what goes, one behind the other.
fn forks_of(gone: BTreeSet<ConversationId>, standing: Vec<Found>) -> Vec<Found> {
    let mut children: HashMap<ConversationId, Vec<Found>> = HashMap::new();
    for one in standing {
        if let Some(parent) = one.forked_from.clone() {
            children.entry(parent).or_default().push(one);
        }
    }
    let mut parents: Vec<ConversationId> = gone.into_iter().collect();
    let mut forks = Vec::new();
    while let Some(parent) = parents.pop() {
        for fork in children.remove(&parent).unwrap_or_default() {
            parents.push(fork.key.conversation.clone());
            forks.push(fork);
        }
    }
    forks
}

#[cfg(test)]
mod tests;

//! Plans an erasure from the conversations of the record. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::{ConversationId, RequestDigest, Status};

use super::scan::ScannedConversation;
use super::subject::Subject;

/// What happens to forks that read through an erased conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ForkRule {
    /// Forks are listed, and nothing is erased.
    Refuse,
    /// Forks are erased, and the forks of forks.
    Erase,
    /// When receipts are repeated: forks that they do not list are left as they are. A caller erased their parent and severed
    /// them (`FORK_RULE_SEVER`).
    #[value(skip)]
    Sever,
}

/// What an erasure has to do, and what is already erased.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The conversations of the subject that are not erased.
    pub(crate) conversations: Vec<ScannedConversation>,
    /// Forks of erased conversations or of those to erase, each after its ancestors, except the subject's own; empty if they are
    /// severed.
    pub(crate) forks: Vec<ScannedConversation>,
    /// Conversations whose erasure, by any job, was interrupted: more than the tombstone remains.
    pub(crate) unfinished: Vec<ScannedConversation>,
    /// The erased conversations of the subject, and forks that were erased with them.
    pub(crate) done: Vec<ScannedConversation>,
    /// Requested ids of which the record contains neither a conversation nor an erasure.
    pub(crate) unknown: Vec<ConversationId>,
}

/// Plans the erasure from all conversations of the subject's tenant.
pub(super) fn plan(
    found: Vec<ScannedConversation>,
    subject: &Subject,
    rule: ForkRule,
    mark: Option<RequestDigest>,
) -> Plan {
    let mut plan = Plan::default();
    let mut others = Vec::new();
    let mut erased = BTreeSet::new();
    if let Subject::Conversations { ids, .. } = subject {
        let known: HashSet<&ConversationId> = found.iter().map(|one| &one.key.conversation).collect();
        let unknown = ids.iter().filter(|id| !known.contains(id));
        plan.unknown = unknown.cloned().collect();
    }
    for one in found {
        if one.status == Status::Erased {
            if one.is_pending {
                plan.unfinished.push(one.clone());
            }
            if (mark.is_some() && one.mark == mark) || subject.includes(&one) {
                erased.insert(one.key.conversation.clone());
                plan.done.push(one);
            }
        } else if subject.includes(&one) {
            erased.insert(one.key.conversation.clone());
            plan.conversations.push(one);
        } else {
            others.push(one);
        }
    }
    if rule != ForkRule::Sever {
        plan.forks = forks_of(erased, others);
    }
    plan
}

/// The forks of erased conversations, each after its ancestors.
fn forks_of(erased: BTreeSet<ConversationId>, others: Vec<ScannedConversation>) -> Vec<ScannedConversation> {
    let mut children: HashMap<ConversationId, Vec<ScannedConversation>> = HashMap::new();
    for one in others {
        if let Some(parent) = one.forked_from.clone() {
            children.entry(parent).or_default().push(one);
        }
    }
    let mut parents: Vec<ConversationId> = erased.into_iter().collect();
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

//! Plans an erasure from the conversations of the record. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::{ConversationId, ConversationKey, RequestDigest, Status};

use super::detach::copy_of;
use super::scan::ScannedConversation;
use super::subject::Subject;

/// What happens to forks that read through an erased conversation.
#[derive(Debug, Clone, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ForkRule {
    /// Forks are listed, and nothing is erased.
    Refuse,
    /// Forks are erased, and the forks of forks.
    Erase,
    /// Each fork is copied with its whole history to a new conversation, `<id>-detached`, and is erased.
    Detach,
    /// When receipts are repeated: these forks are detached. All others are left as they are: a caller erased their parent and
    /// severed them (`FORK_RULE_SEVER`).
    #[value(skip)]
    Listed(BTreeSet<ConversationId>),
}

impl ForkRule {
    /// Whether receipts list a fork as detached.
    fn lists(&self, fork: &ScannedConversation) -> bool {
        matches!(self, Self::Listed(detached) if detached.contains(&fork.key.conversation))
    }
}

/// What an erasure has to do, and what is already erased.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The conversations of the subject that are not erased.
    pub(crate) conversations: Vec<ScannedConversation>,
    /// Forks of erased conversations or of those to erase, each after its ancestors: all except the subject's own, or only
    /// those that receipts list as detached.
    pub(crate) forks: Vec<ScannedConversation>,
    /// Conversations whose erasure, by any job, was interrupted: more than the tombstone remains.
    pub(crate) unfinished: Vec<ScannedConversation>,
    /// The erased conversations of the subject, and forks that were erased with them.
    pub(crate) done: Vec<ScannedConversation>,
    /// Those of them that have detached copies.
    pub(crate) detached: Vec<ScannedConversation>,
    /// Requested ids of which the record contains neither a conversation nor an erasure.
    pub(crate) unknown: Vec<ConversationId>,
}

/// Plans the erasure from all conversations of the subject's tenant.
pub(super) fn plan(
    found: Vec<ScannedConversation>,
    subject: &Subject,
    rule: &ForkRule,
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
        } else if subject.includes(&one) && !rule.lists(&one) {
            erased.insert(one.key.conversation.clone());
            plan.conversations.push(one);
        } else {
            others.push(one);
        }
    }
    let names: HashSet<&ConversationId> = others.iter().map(|one| &one.key.conversation).collect();
    let is_copied = |one: &&ScannedConversation| {
        let copy = copy_of(&one.key.conversation);
        !subject.includes(one) && copy.is_ok_and(|copy| names.contains(&copy))
    };
    plan.detached = plan.done.iter().filter(is_copied).cloned().collect();
    let listed: Vec<ScannedConversation> = others.iter().filter(|one| rule.lists(one)).cloned().collect();
    plan.forks = forks_of(erased, others);
    if matches!(rule, ForkRule::Listed(_)) {
        plan.forks.retain(|fork| rule.lists(fork));
        plan.erase_with_missing_parents(listed);
    }
    plan
}

impl Plan {
    /// Listed forks whose parents a backup does not contain cannot be copied. They are erased.
    fn erase_with_missing_parents(&mut self, listed: Vec<ScannedConversation>) {
        let forks: HashSet<&ConversationKey> = self.forks.iter().map(|fork| &fork.key).collect();
        let others = listed.into_iter().filter(|one| !forks.contains(&one.key));
        self.conversations.extend(others);
    }
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

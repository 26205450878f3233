//! Groups a batch by conversation. Pure.

use std::collections::{HashMap, HashSet};

use domain::{ConversationId, ConversationKey, Partition, Position, Sequence, Status, TenantId};
use wire::commit::StoredCommit;

use super::batch::{Batch, Item, ParkReason, Parked};

/// The commits of one conversation in a batch.
#[derive(Debug, Clone)]
pub(super) struct Group<'b> {
    pub(super) tenant: &'b TenantId,
    pub(super) conversation: &'b ConversationId,
    pub(super) partition: Partition,
    /// The commits to write, in order.
    pub(super) commits: Vec<&'b StoredCommit>,
    /// Commits before a tombstone in the same batch: their rows are not written. Their usage is counted, as if the batch
    /// ended before the tombstone.
    pub(super) superseded: Vec<&'b StoredCommit>,
    /// The commits that wait because of a parked commit, in order. The first one is the parked one, if it is new.
    pub(super) queue: Vec<Sequence>,
    /// Why this batch parks the conversation; `None`: it does not, or it was parked before.
    pub(super) newly_parked: Option<ParkReason>,
    was_parked: bool,
}

impl<'b> Group<'b> {
    pub(super) fn new(tenant: &'b TenantId, conversation: &'b ConversationId, partition: Partition) -> Self {
        Self {
            tenant,
            conversation,
            partition,
            commits: Vec::new(),
            superseded: Vec::new(),
            queue: Vec::new(),
            newly_parked: None,
            was_parked: false,
        }
    }

    /// The group with only this commit.
    pub(super) fn with_only(&self, commit: &'b StoredCommit) -> Self {
        Self { commits: vec![commit], superseded: Vec::new(), queue: Vec::new(), newly_parked: None, ..self.clone() }
    }

    pub(super) fn key(&self) -> ConversationKey {
        ConversationKey { tenant: self.tenant.clone(), conversation: self.conversation.clone() }
    }

    /// Whether the commits end with a tombstone: then only the tombstone is written.
    pub(super) fn is_erased(&self) -> bool {
        self.commits.last().is_some_and(|commit| is_tombstone(commit))
    }

    /// Whether versions are missing between the commits.
    pub(super) fn has_gap(&self) -> bool {
        let mut pairs = self
            .commits
            .iter()
            .zip(self.commits.iter().skip(1))
            .map(|(one, next)| (&one.opened.commit, &next.opened.commit));
        pairs.any(|(one, next)| one.head.version.next() != next.first_version)
    }

    pub(super) fn is_parked(&self) -> bool {
        self.was_parked || self.newly_parked.is_some()
    }

    /// The parked conversation, if this batch parks it.
    pub(super) fn parked(&self) -> Option<Parked> {
        Some(Parked {
            key: self.key(),
            position: Position { partition: self.partition, sequence: *self.queue.first()? },
            reason: self.newly_parked.clone()?,
        })
    }

    /// Parks the group from commit `index` on.
    pub(super) fn park_from(&mut self, index: usize, reason: ParkReason) {
        let rest = self.commits.split_off(index.min(self.commits.len()));
        let waiting = rest.iter().map(|commit| commit.position.sequence);
        self.queue = waiting.chain(self.queue.drain(..)).collect();
        self.newly_parked = Some(reason);
    }

    fn add(&mut self, item: &'b Item) {
        match item {
            // An erasure does not depend on earlier commits, so it is never queued.
            Item::Commit(commit) if is_tombstone(commit) => {
                self.superseded.append(&mut self.commits);
                self.commits.push(commit);
                self.queue.clear();
                self.newly_parked = None;
                self.was_parked = false;
            }
            item if self.is_parked() => self.queue.push(item.sequence()),
            Item::Commit(commit) => self.commits.push(commit),
            Item::Unreadable { sequence, reason, .. } => {
                self.queue.push(*sequence);
                self.newly_parked = Some(ParkReason::Unreadable(reason.clone()));
            }
        }
    }
}

/// Groups the batches by conversation, in order of first appearance. Commits of `parked` conversations are queued.
pub(super) fn group<'b>(batches: &'b [Batch], parked: &HashSet<ConversationKey>) -> Vec<Group<'b>> {
    let mut groups: Vec<Group<'b>> = Vec::new();
    let mut indexes = HashMap::new();
    for batch in batches {
        for item in &batch.items {
            let (tenant, conversation) = item.key();
            let index = *indexes.entry((tenant, conversation)).or_insert(groups.len());
            if index == groups.len() {
                let was_parked = is_among(parked, tenant, conversation);
                let partition = batch.lease.partition;
                groups.push(Group { was_parked, ..Group::new(tenant, conversation, partition) });
            }
            if let Some(group) = groups.get_mut(index) {
                group.add(item);
            }
        }
    }
    groups
}

/// The waiting items of one conversation, for a retry.
pub(super) fn group_items<'b>(key: &'b ConversationKey, items: &'b [Item]) -> Group<'b> {
    // An existing row has its partition. A new row takes that of its commit.
    let partition = items.iter().find_map(Item::partition).unwrap_or(Partition(0));
    let mut group = Group::new(&key.tenant, &key.conversation, partition);
    for item in items {
        group.add(item);
    }
    group
}

fn is_among(parked: &HashSet<ConversationKey>, tenant: &TenantId, conversation: &ConversationId) -> bool {
    // Usually there are none; then no key is allocated.
    !parked.is_empty()
        && parked.contains(&ConversationKey { tenant: tenant.clone(), conversation: conversation.clone() })
}

pub(super) fn is_tombstone(commit: &StoredCommit) -> bool {
    commit.opened.commit.head.status == Status::Erased
}

//! The order in which the commits of a partition are published: alone, or several in one batch. Pure.
//!
//! A commit is published alone at once while few others are in flight. More commits wait. When a publish ends, as many as
//! make a batch pay are published together; fewer are published alone.

use std::collections::{HashSet, VecDeque};

/// Maximum commits of one batch. The server's own limit is 1,000 messages.
pub(super) const BATCH_COMMITS_MAX: usize = 256;
/// Maximum bytes of the messages of one batch.
pub(super) const BATCH_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// Larger commits are always published alone: their bytes cost more than the sync.
pub(super) const GROUPED_BYTES_MAX: usize = 64 * 1_024;

/// What the queue needs to know about a commit.
pub(super) trait Grouped {
    /// Only one commit of a subject is in a batch: the server rejects a second one.
    fn subject(&self) -> &str;
    fn bytes(&self) -> usize;
    /// Whether its caller no longer waits.
    fn is_abandoned(&self) -> bool;
}

/// What pays on a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Maximum commits that are in flight alone before others wait.
    pub(super) singles_max: usize,
    /// From this number of waiting commits on, a batch costs less than single publishes.
    pub(super) batch_commits_min: usize,
}

/// The commits of one partition.
#[derive(Debug)]
pub(super) struct Queue<T> {
    bounds: Bounds,
    singles: usize,
    is_batching: bool,
    waiting: VecDeque<(Ticket, T)>,
    next_ticket: u64,
}

/// Identifies a waiting commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// What to publish next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<T> {
    /// Publish each alone, and call [`Queue::single_ended`] after each.
    Alone(Vec<T>),
    /// Publish in one batch, and call [`Queue::batch_ended`] afterwards.
    Batch(Vec<T>),
}

impl<T: Grouped> Queue<T> {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self { bounds, singles: 0, is_batching: false, waiting: VecDeque::new(), next_ticket: 0 }
    }

    /// Whether a new commit is published alone at once; then call [`Queue::single_ended`] afterwards.
    pub(super) fn try_single(&mut self) -> bool {
        let is_single = !self.is_batching && self.waiting.is_empty() && self.singles < self.bounds.singles_max;
        self.singles += usize::from(is_single);
        is_single
    }

    pub(super) fn wait(&mut self, commit: T) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.waiting.push_back((ticket, commit));
        ticket
    }

    /// Removes a commit that has waited too long; `None`: it is being published.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<T> {
        let at = self.waiting.iter().position(|(other, _)| *other == ticket)?;
        self.waiting.remove(at).map(|(_, commit)| commit)
    }

    pub(super) fn single_ended(&mut self) -> Next<T> {
        self.singles = self.singles.saturating_sub(1);
        self.next()
    }

    pub(super) fn batch_ended(&mut self) -> Next<T> {
        self.is_batching = false;
        self.next()
    }

    fn next(&mut self) -> Next<T> {
        if self.is_batching {
            return Next::Alone(Vec::new());
        }
        self.waiting.retain(|(_, commit)| !commit.is_abandoned());
        if self.waiting.len() >= self.bounds.batch_commits_min {
            self.is_batching = true;
            return Next::Batch(self.take_batch());
        }
        let free = self.bounds.singles_max.saturating_sub(self.singles);
        let alone: Vec<T> = self.waiting.drain(..free.min(self.waiting.len())).map(|(_, commit)| commit).collect();
        self.singles += alone.len();
        Next::Alone(alone)
    }

    /// The longest-waiting commits of different subjects.
    fn take_batch(&mut self) -> Vec<T> {
        let mut subjects = HashSet::new();
        let mut batch = Vec::new();
        let mut left = VecDeque::new();
        let mut bytes = 0;
        for (ticket, commit) in self.waiting.drain(..) {
            let fits = batch.len() < BATCH_COMMITS_MAX && bytes + commit.bytes() <= BATCH_BYTES_MAX;
            if fits && subjects.insert(commit.subject().to_owned()) {
                bytes += commit.bytes();
                batch.push(commit);
            } else {
                left.push_back((ticket, commit));
            }
        }
        self.waiting = left;
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH_MIN: usize = 3;
    const SINGLES_MAX: usize = 8;

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Commit {
        subject: String,
        bytes: usize,
        is_abandoned: bool,
    }

    impl Grouped for Commit {
        fn subject(&self) -> &str {
            &self.subject
        }
        fn bytes(&self) -> usize {
            self.bytes
        }
        fn is_abandoned(&self) -> bool {
            self.is_abandoned
        }
    }

    fn commit(subject: &str) -> Commit {
        Commit { subject: subject.to_owned(), bytes: 1, is_abandoned: false }
    }

    /// A queue with as many singles in flight as there may be.
    fn busy() -> Queue<Commit> {
        let mut queue = Queue::new(Bounds { singles_max: SINGLES_MAX, batch_commits_min: BATCH_MIN });
        for _ in 0..SINGLES_MAX {
            assert!(queue.try_single());
        }
        assert!(!queue.try_single());
        queue
    }

    /// The subjects of the commits that a busy queue publishes next, after these arrived.
    fn check(arrived: Vec<Commit>, expected: &Next<&str>) -> Queue<Commit> {
        let mut queue = busy();
        for commit in arrived {
            queue.wait(commit);
        }
        let next = queue.single_ended();
        let subjects = match &next {
            Next::Alone(commits) => Next::Alone(commits.iter().map(Grouped::subject).collect()),
            Next::Batch(commits) => Next::Batch(commits.iter().map(Grouped::subject).collect()),
        };
        assert_eq!(subjects, *expected);
        queue
    }

    #[test]
    fn few_commits_are_published_alone_and_many_in_a_batch() {
        check(vec![], &Next::Alone(vec![]));
        check(vec![commit("a")], &Next::Alone(vec!["a"]));
        check(vec![commit("a"), commit("b")], &Next::Alone(vec!["a"]));
        let three = || vec![commit("a"), commit("b"), commit("c")];
        let mut queue = check(three(), &Next::Batch(vec!["a", "b", "c"]));
        // While a batch is in flight, everything waits.
        assert!(!queue.try_single());
        let late = queue.wait(commit("late"));
        assert_eq!(queue.single_ended(), Next::Alone(vec![]));
        assert_eq!(queue.leave(late), Some(commit("late")));
        assert_eq!(queue.leave(late), None);
        assert_eq!(queue.batch_ended(), Next::Alone(vec![]));
        assert!(queue.try_single());
    }

    #[test]
    fn a_batch_has_one_commit_of_a_subject() {
        let arrived = ["a", "b", "a", "c", "a"].map(commit).to_vec();
        let mut queue = check(arrived, &Next::Batch(vec!["a", "b", "c"]));
        for next in [queue.batch_ended(), queue.single_ended()] {
            assert_eq!(next, Next::Alone(vec![commit("a")]));
        }
    }

    #[test]
    fn a_batch_is_bounded_in_commits_and_bytes() {
        let of = |count: usize| (0..count).map(|n| commit(&n.to_string())).collect::<Vec<_>>();
        let taken = |arrived: Vec<Commit>| {
            let mut queue = busy();
            for commit in arrived {
                queue.wait(commit);
            }
            match queue.single_ended() {
                Next::Batch(commits) => commits.len(),
                Next::Alone(commits) => panic!("{commits:?}"),
            }
        };
        assert_eq!(taken(of(BATCH_COMMITS_MAX)), BATCH_COMMITS_MAX);
        assert_eq!(taken(of(BATCH_COMMITS_MAX + 1)), BATCH_COMMITS_MAX);
        let large = |bytes| {
            let large = Commit { bytes, ..commit("large") };
            [of(BATCH_MIN), vec![large]].concat()
        };
        assert_eq!(taken(large(BATCH_BYTES_MAX - BATCH_MIN)), BATCH_MIN + 1);
        assert_eq!(taken(large(BATCH_BYTES_MAX - BATCH_MIN + 1)), BATCH_MIN);
    }

    #[test]
    fn abandoned_commits_are_not_published() {
        let abandoned = |subject| Commit { is_abandoned: true, ..commit(subject) };
        let arrived = vec![abandoned("a"), commit("b"), abandoned("c"), commit("d")];
        check(arrived, &Next::Alone(vec!["b"]));
    }
}

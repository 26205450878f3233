//! The journal of the workload: settled calls, and counters to wait for.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use domain::{CommitId, ConversationKey, Version};
use tests::checker::{Answer, Call, Expectation, FreshRead, Outcome, StreamPlace};
use tokio::sync::watch;
use tokio::time::sleep_until;

/// A command that is not settled yet.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) key: CommitId,
    pub(crate) conversation: ConversationKey,
    pub(crate) asked: Expectation,
    pub(crate) invoked: Duration,
    pub(crate) tries: u32,
    pub(crate) stream_place: Option<StreamPlace>,
}

/// The journal of one test; shared by all of its clients.
#[derive(Debug)]
pub(crate) struct Journal {
    started: Instant,
    calls: Mutex<Vec<Call>>,
    /// The newest acknowledgement of each conversation.
    newest: Mutex<BTreeMap<ConversationKey, Answer>>,
    seen: Mutex<Vec<FreshRead>>,
    acknowledged: AtomicUsize,
    unanswered: AtomicUsize,
    unread: AtomicUsize,
    streams: AtomicU64,
    stopped: AtomicBool,
    paused: watch::Sender<bool>,
    pace: Mutex<Option<Pace>>,
}

/// Equal times between the requests of all clients.
#[derive(Debug)]
struct Pace {
    interval: Duration,
    next: Instant,
}

impl Journal {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            calls: Mutex::default(),
            newest: Mutex::default(),
            seen: Mutex::default(),
            acknowledged: AtomicUsize::default(),
            unanswered: AtomicUsize::default(),
            unread: AtomicUsize::default(),
            streams: AtomicU64::default(),
            stopped: AtomicBool::default(),
            paused: watch::Sender::new(false),
            pace: Mutex::default(),
        }
    }

    /// The time since the start of the test.
    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Adds a settled command.
    pub(crate) fn settle(&self, pending: Pending, outcome: Outcome) {
        if let Outcome::Committed(answer) = &outcome {
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
            let mut answers = self.newest.lock().unwrap();
            let newest = answers.entry(pending.conversation.clone()).or_insert(*answer);
            if newest.version < answer.version {
                *newest = *answer;
            }
        }
        self.calls.lock().unwrap().push(Call {
            key: pending.key,
            conversation: pending.conversation,
            asked: pending.asked,
            invoked: pending.invoked,
            settled: self.now(),
            tries: pending.tries,
            stream_place: pending.stream_place,
            outcome,
        });
    }

    /// The acknowledgement of a conversation's newest version.
    pub(crate) fn newest(&self, conversation: &ConversationKey) -> Option<Answer> {
        self.newest.lock().unwrap().get(conversation).copied()
    }

    /// Some acknowledged commands of conversations that are never erased, evenly from the first to the last.
    pub(crate) fn sample(&self, count: usize) -> Vec<Call> {
        let calls = self.calls.lock().unwrap();
        let mut acknowledged: Vec<&Call> = calls.iter().filter(|call| call.answer().is_some()).collect();
        acknowledged.retain(|call| !is_erased(&call.conversation));
        let step = acknowledged.len().div_ceil(count).max(1);
        acknowledged.into_iter().step_by(step).cloned().collect()
    }

    /// Counts a try without an answer that settles its command.
    pub(crate) fn note_unanswered(&self) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds an answered fresh read.
    pub(crate) fn note_read(&self, conversation: ConversationKey, invoked: Duration, version: u64) {
        let version = Version(version);
        self.seen.lock().unwrap().push(FreshRead { conversation, invoked, version });
    }

    /// Counts a failed fresh read.
    pub(crate) fn note_unread(&self) {
        self.unread.fetch_add(1, Ordering::Relaxed);
    }

    /// A number for a new stream of commands.
    pub(crate) fn next_stream(&self) -> u64 {
        self.streams.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of answered fresh reads.
    pub(crate) fn read(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// The number of acknowledged commands.
    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// The number of tries without an answer.
    pub(crate) fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// The number of failed fresh reads.
    pub(crate) fn unread(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }

    /// Stops every client after its current command is settled.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.resume();
    }

    /// Holds every client before its next request.
    pub(crate) fn pause(&self) {
        self.paused.send_replace(true);
    }

    /// Undoes [`Journal::pause`].
    pub(crate) fn resume(&self) {
        self.paused.send_replace(false);
    }

    /// Limits the requests of all clients together to one per `interval`.
    pub(crate) fn set_pace(&self, interval: Duration) {
        let next = Instant::now();
        *self.pace.lock().unwrap() = Some(Pace { interval, next });
    }

    /// Waits while the clients are held, and for the next turn if there is a pace. Missed turns are not made up for.
    pub(crate) async fn turn(&self) {
        let mut paused = self.paused.subscribe();
        let resumed = paused.wait_for(|is_paused| !is_paused).await;
        drop(resumed.expect("the sender is not dropped"));
        let turn = self.pace.lock().unwrap().as_mut().map(|pace| {
            let turn = pace.next.max(Instant::now());
            pace.next = turn + pace.interval;
            turn
        });
        if let Some(turn) = turn {
            sleep_until(turn.into()).await;
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// All calls, and all answers to fresh reads.
    pub(crate) fn take(&self) -> (Vec<Call>, Vec<FreshRead>) {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        (calls, std::mem::take(&mut *self.seen.lock().unwrap()))
    }
}

/// Whether the workload erases the conversation, by its name.
pub(crate) fn is_erased(conversation: &ConversationKey) -> bool {
    conversation.conversation.as_str().starts_with("erased")
}

//! What became of an append that was not simply stored: asked of the stream's leader, never guessed.
//!
//! Publishing again is always safe: the expected sequence lets at most one copy in. What needs care is when to say that
//! a commit is in the record, or never will be:
//! - The first commit of the conversation after the expected one is the only place where ours can stand. If another
//!   stands there, ours never will. The last commit's head names the latest commits, so one read mostly tells.
//! - A commit of our id need not be ours: another writer may have sealed the same request, or another one under the same
//!   id. Only our own bytes are `Committed`; the caller must read what else stands there.
//! - `duplicate` is said of an id in the whole stream. The same id in another conversation of the partition is another
//!   commit: then ours goes in under an id that names its conversation, too.

use std::time::Duration;

use domain::{Head, Sequence};
use metrics::counter;
use tokio::time::{Instant, sleep};

use crate::append::{Append, AppendOutcome, Place, publication};
use crate::error::Unavailable;
use crate::get::{NextOf, RawMessage, Which};
use crate::jitter::jittered;
use crate::last::stored;
use crate::publish::{
    Ack, DUPLICATE_IN_FLIGHT, WRONG_LAST_SEQUENCE, WRONG_LAST_SEQUENCE_IN_FLIGHT,
};
use crate::record::Record;

/// Most times that one append is published.
const PUBLISHES_MAX: u32 = 12;
/// Most times that the leader is asked before one of them.
const READS_MAX: u32 = 64;
/// The longest wait between two attempts.
const WAIT_MAX: Duration = Duration::from_millis(250);
const RETRIES: &str = "hansard_append_retries_total";

/// What is known of an append.
enum Finding {
    /// It is settled.
    Settled(AppendOutcome),
    /// The expected commit is still the last: publish again.
    Unchanged,
    /// The id stands for another conversation's commit: publish under an id of our own.
    IdTaken,
}

impl Record {
    /// Settles an append whose first publish got no plain answer.
    pub(crate) async fn resolve(
        &self,
        place: &Place,
        append: &Append,
        first: Result<Ack, Unavailable>,
        deadline: Instant,
    ) -> Result<AppendOutcome, Unavailable> {
        let mut id = append.commit.to_string();
        let mut answer = first;
        for attempt in 0..PUBLISHES_MAX {
            match self.look_into(place, append, answer, deadline).await? {
                Finding::Settled(outcome) => return Ok(outcome),
                Finding::Unchanged => wait(attempt, deadline).await?,
                Finding::IdTaken => id = format!("{}:{}", append.commit, place.subject),
            }
            let again = publication(place, append, &id);
            let ack_deadline = Self::ack_deadline(deadline);
            answer = self.connection().publish(again, ack_deadline).await;
        }
        match self.look_into(place, append, answer, deadline).await? {
            Finding::Settled(outcome) => Ok(outcome),
            Finding::Unchanged | Finding::IdTaken => {
                Err(Unavailable::new("the stream keeps refusing a commit"))
            }
        }
    }

    /// When a publish must be answered so that time is left to ask what became of it.
    pub(crate) fn ack_deadline(deadline: Instant) -> Instant {
        let now = Instant::now();
        now + deadline.saturating_duration_since(now) / 2
    }

    async fn look_into(
        &self,
        place: &Place,
        append: &Append,
        answer: Result<Ack, Unavailable>,
        deadline: Instant,
    ) -> Result<Finding, Unavailable> {
        if let Ok(Ack::Stored(sequence)) = answer {
            return Ok(Finding::Settled(AppendOutcome::Committed { sequence }));
        }
        counter!(RETRIES, "cause" => cause_of(&answer)).increment(1);
        for attempt in 0..READS_MAX {
            let found = match answer {
                Ok(Ack::Duplicate(of)) => self.find_duplicate(place, append, of, deadline).await,
                _ => self.find(place, append, deadline).await,
            };
            match found {
                Ok(finding) => return Ok(finding),
                // Without an answer, only a read can tell; a server that starts gives none for a while.
                Err(_) => wait(attempt, deadline).await?,
            }
        }
        Err(Unavailable::new("the leader cannot be asked"))
    }

    /// Looks for an append in what follows the expected commit.
    async fn find(
        &self,
        place: &Place,
        append: &Append,
        deadline: Instant,
    ) -> Result<Finding, Unavailable> {
        let connection = self.connection();
        let query = Which::LastOf(&place.subject);
        let last = connection.get_from_leader(&place.stream, &query, deadline);
        let Some(last) = last.await? else {
            return Ok(match append.expected {
                None => Finding::Unchanged,
                Some(_) => superseded(None),
            });
        };
        if let Some(sequence) = named_by(&last, append) {
            return self.settle_at(place, append, sequence, deadline).await;
        }
        let last = stored(place.partition, last);
        if append.expected == Some(last.position.sequence) {
            return Ok(Finding::Unchanged);
        }
        // A last commit that cannot be read is for the caller to report when it rebases.
        if last
            .open_head()
            .is_ok_and(|head| reaches(&head, append.expected))
        {
            return Ok(superseded(Some(last)));
        }
        let after = NextOf {
            seq: append
                .expected
                .map_or(0, |sequence| sequence.0)
                .saturating_add(1),
            next_by_subj: &place.subject,
        };
        let next = connection.get_from_leader(&place.stream, &after, deadline);
        match next.await?.and_then(|next| named_by(&next, append)) {
            Some(sequence) => self.settle_at(place, append, sequence, deadline).await,
            None => Ok(superseded(Some(last))),
        }
    }

    /// Looks at a commit of our id.
    async fn settle_at(
        &self,
        place: &Place,
        append: &Append,
        sequence: Sequence,
        deadline: Instant,
    ) -> Result<Finding, Unavailable> {
        let at = Which::At(sequence.0);
        let connection = self.connection();
        let there = connection.get_from_leader(&place.stream, &at, deadline);
        Ok(Finding::Settled(match there.await? {
            Some(message) => outcome_of(&message, append),
            None => AppendOutcome::Duplicate { sequence },
        }))
    }

    /// Looks at what the stream knows under the append's id.
    async fn find_duplicate(
        &self,
        place: &Place,
        append: &Append,
        sequence: Sequence,
        deadline: Instant,
    ) -> Result<Finding, Unavailable> {
        let at = Which::At(sequence.0);
        let known = self
            .connection()
            .get_from_leader(&place.stream, &at, deadline);
        match known.await? {
            Some(message) if message.subject == place.subject => {
                Ok(Finding::Settled(outcome_of(&message, append)))
            }
            Some(_) => Ok(Finding::IdTaken),
            // It was erased since. If it was ours, so was all that we were expected to follow.
            None => match self.find(place, append, deadline).await? {
                Finding::Settled(outcome) => Ok(Finding::Settled(outcome)),
                Finding::Unchanged | Finding::IdTaken => Ok(Finding::IdTaken),
            },
        }
    }
}

/// Waits before the next attempt.
pub(crate) async fn wait(attempt: u32, deadline: Instant) -> Result<(), Unavailable> {
    let wait = jittered(attempt, WAIT_MAX);
    if Instant::now() + wait >= deadline {
        return Err(Unavailable::new(
            "what became of a publish is not known in time",
        ));
    }
    sleep(wait).await;
    Ok(())
}

/// What became of an append, by the commit that stands under its id.
fn outcome_of(message: &RawMessage, append: &Append) -> AppendOutcome {
    let sequence = message.sequence;
    if message.payload == append.message {
        return AppendOutcome::Committed { sequence };
    }
    AppendOutcome::Duplicate { sequence }
}

/// The place of the commit with an append's id, by a commit that is or names it.
fn named_by(message: &RawMessage, append: &Append) -> Option<Sequence> {
    let head = wire::commit::open_head(message.payload.clone()).ok()?;
    let commit = head.recent_commit(append.commit)?;
    Some(commit.sequence.unwrap_or(message.sequence))
}

/// Whether a head names every commit after the expected one.
fn reaches(head: &Head, expected: Option<Sequence>) -> bool {
    match expected {
        None => head.names_every_commit(),
        expected => head.recent.iter().any(|commit| commit.sequence == expected),
    }
}

fn superseded(last: Option<crate::message::StoredMessage>) -> Finding {
    Finding::Settled(AppendOutcome::Superseded { last })
}

/// Why more than one publish is needed; a refusal that is nobody's race is for an operator to look at.
pub(crate) fn cause_of(answer: &Result<Ack, Unavailable>) -> &'static str {
    match answer {
        Ok(Ack::Stored(_)) => "stored",
        Ok(Ack::Duplicate(_)) => "duplicate",
        Ok(Ack::Refused { code }) => match *code {
            WRONG_LAST_SEQUENCE => "wrong_last_sequence",
            WRONG_LAST_SEQUENCE_IN_FLIGHT => "wrong_last_sequence_in_flight",
            DUPLICATE_IN_FLIGHT => "duplicate_in_flight",
            code => {
                tracing::warn!(code, "the stream refused a publish");
                "refused"
            }
        },
        Err(_) => "unanswered",
    }
}

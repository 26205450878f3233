//! Resolves the outcome of an append without a plain acknowledgement, by reads from the stream's leader.
//!
//! Publishing again is always safe: the expected sequence lets at most one copy in. These rules decide whether a commit is in
//! the record or never will be:
//! - Our commit can only be the first commit of the conversation after the expected one. If another commit is there, ours
//!   never will be. The last commit's head lists the latest commits, so one read usually suffices.
//! - A commit with our id may be another one: another writer may have sealed the same request, or another request with the same
//!   id. Only equal bytes are `Committed`; for others the caller must read the commit.
//! - `duplicate` refers to an id in the whole stream. The same id in another conversation of the partition is another
//!   commit: then ours is published under an id that also contains the conversation.

use std::time::Duration;

use domain::{Head, Sequence};
use metrics::counter;
use tokio::time::{Instant, sleep};

use crate::append::{Append, AppendOutcome};
use crate::append::{Route, commit};
use crate::connection::NO_RESPONDERS;
use crate::connection::RETRY_DELAY_BASE;
use crate::connection::get::{MessageQuery, NextOfSubject, RawMessage};
use crate::connection::publish::{Ack, DUPLICATE_IN_FLIGHT, WRONG_LAST_SEQUENCE, WRONG_LAST_SEQUENCE_IN_FLIGHT};
use crate::error::Unavailable;
use crate::group_commit::Commit;
use crate::message::StoredMessage;
use crate::record::Record;

/// Maximum publishes of one append, without those that were refused since an earlier one is in flight.
const PUBLISHES_MAX: u32 = 12;
/// Maximum reads of the leader before each of them.
const READS_MAX: u32 = 64;
/// Maximum delay between two attempts.
const WAIT_MAX: Duration = Duration::from_millis(250);
const RETRIES: &str = "hansard_append_retries_total";

/// The state of an append.
enum Finding {
    /// The outcome is final.
    Settled(AppendOutcome),
    /// The expected commit is still the last: publish again.
    Unchanged,
    /// Another conversation's commit has the id: publish under a longer id.
    IdTaken,
}

impl Record {
    /// Resolves an append whose first publish got no plain acknowledgement.
    pub(crate) async fn resolve(
        &self,
        route: &Route,
        append: &Append,
        first: Result<Ack, Unavailable>,
        deadline: Instant,
    ) -> Result<AppendOutcome, Unavailable> {
        let mut id = append.commit.to_string();
        let mut answer = first;
        let (mut attempt, mut publishes) = (0_u32, 0);
        loop {
            if answer == Err(NO_RESPONDERS) {
                let again = commit(route, append, id.clone());
                answer = self.publish_until_received(&again, deadline).await?;
            }
            publishes += u32::from(!answer.is_ok_and(Ack::is_in_flight));
            match self.read_outcome(route, append, answer, deadline).await? {
                Finding::Settled(outcome) => return Ok(outcome),
                Finding::Unchanged | Finding::IdTaken if publishes > PUBLISHES_MAX => {
                    return Err(Unavailable::new("the stream rejects every publish"));
                }
                Finding::Unchanged => wait(attempt, deadline).await?,
                Finding::IdTaken => id = format!("{}:{}", append.commit, route.subject),
            }
            let again = commit(route, append, id.clone());
            answer = self.publish_alone(&again, deadline).await;
            attempt = attempt.saturating_add(1);
        }
    }

    /// Publishes a commit again until a server receives it. While a stream elects its leader, nobody receives its messages, and reads
    /// from its leader have no answer.
    async fn publish_until_received(
        &self,
        commit: &Commit,
        deadline: Instant,
    ) -> Result<Result<Ack, Unavailable>, Unavailable> {
        let mut attempt = 0_u32;
        loop {
            counter!(RETRIES, "cause" => cause_of(&Err(NO_RESPONDERS))).increment(1);
            wait(attempt, deadline).await?;
            let answer = self.publish_alone(commit, deadline).await;
            if answer != Err(NO_RESPONDERS) {
                return Ok(answer);
            }
            attempt = attempt.saturating_add(1);
        }
    }

    async fn publish_alone(&self, commit: &Commit, deadline: Instant) -> Result<Ack, Unavailable> {
        let connection = self.connection();
        let ack_deadline = Self::ack_deadline(deadline);
        connection.publish(commit.publication(), ack_deadline).await
    }

    /// The deadline of an acknowledgement, which leaves time to read the outcome.
    pub(crate) fn ack_deadline(deadline: Instant) -> Instant {
        let now = Instant::now();
        now + deadline.saturating_duration_since(now) / 2
    }

    async fn read_outcome(
        &self,
        route: &Route,
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
                Ok(Ack::Duplicate(of)) => self.find_duplicate(route, append, of, deadline).await,
                _ => self.find(route, append, deadline).await,
            };
            match found {
                Ok(finding) => return Ok(finding),
                // Only a read gives the outcome; a starting server does not answer for a while.
                Err(_) => wait(attempt, deadline).await?,
            }
        }
        Err(Unavailable::new("the leader does not answer"))
    }

    /// Searches for an append after the expected commit.
    async fn find(&self, route: &Route, append: &Append, deadline: Instant) -> Result<Finding, Unavailable> {
        let connection = self.connection();
        let query = MessageQuery::LastOfSubject(&route.subject);
        let last = connection.get_from_leader(&route.stream, &query, deadline);
        let Some(last) = last.await? else {
            return Ok(match append.expected {
                None => Finding::Unchanged,
                Some(_) => superseded(None),
            });
        };
        if let Some(sequence) = sequence_in_head(&last, append) {
            return self.settle_at(route, append, sequence, deadline).await;
        }
        let last = StoredMessage::of(route.partition, last);
        if append.expected == Some(last.position.sequence) {
            return Ok(Finding::Unchanged);
        }
        // The caller reports a last commit that cannot be decoded when it rebases.
        if last.open_head().is_ok_and(|head| lists_all_after(&head, append.expected)) {
            return Ok(superseded(Some(last)));
        }
        let expected = append.expected.unwrap_or_default();
        let after = NextOfSubject::after(&route.subject, expected);
        let next = connection.get_from_leader(&route.stream, &after, deadline);
        match next.await?.and_then(|next| sequence_in_head(&next, append)) {
            Some(sequence) => self.settle_at(route, append, sequence, deadline).await,
            None => Ok(superseded(Some(last))),
        }
    }

    /// Reads the commit with our id.
    async fn settle_at(
        &self,
        route: &Route,
        append: &Append,
        sequence: Sequence,
        deadline: Instant,
    ) -> Result<Finding, Unavailable> {
        let at = MessageQuery::Sequence(sequence.0);
        let connection = self.connection();
        let found = connection.get_from_leader(&route.stream, &at, deadline);
        Ok(Finding::Settled(match found.await? {
            Some(message) => outcome_of(&message, append),
            None => AppendOutcome::Duplicate { sequence },
        }))
    }

    /// Reads the message that the stream returned for the append's id.
    async fn find_duplicate(
        &self,
        route: &Route,
        append: &Append,
        sequence: Sequence,
        deadline: Instant,
    ) -> Result<Finding, Unavailable> {
        let at = MessageQuery::Sequence(sequence.0);
        let connection = self.connection();
        let known = connection.get_from_leader(&route.stream, &at, deadline);
        match known.await? {
            Some(message) if message.subject == route.subject => Ok(Finding::Settled(outcome_of(&message, append))),
            Some(_) => Ok(Finding::IdTaken),
            // It was erased since. If it was ours, the expected commit was erased too.
            None => match self.find(route, append, deadline).await? {
                Finding::Settled(outcome) => Ok(Finding::Settled(outcome)),
                Finding::Unchanged | Finding::IdTaken => Ok(Finding::IdTaken),
            },
        }
    }
}

/// Waits before the next attempt; fails if the deadline is sooner.
pub(crate) async fn wait(attempt: u32, deadline: Instant) -> Result<(), Unavailable> {
    let wait = backoff::delay(attempt, RETRY_DELAY_BASE, WAIT_MAX);
    if Instant::now() + wait >= deadline {
        return Err(Unavailable::new("the outcome of a publish is unknown"));
    }
    sleep(wait).await;
    Ok(())
}

/// The outcome of an append, by the stored commit with its id.
fn outcome_of(message: &RawMessage, append: &Append) -> AppendOutcome {
    let sequence = message.sequence;
    if message.payload == append.message {
        return AppendOutcome::Committed { sequence };
    }
    AppendOutcome::Duplicate { sequence }
}

/// The sequence of the commit with an append's id, if the head of this commit lists it.
fn sequence_in_head(message: &RawMessage, append: &Append) -> Option<Sequence> {
    let head = wire::commit::open_head(message.payload.clone()).ok()?;
    let commit = head.recent_commit(append.commit)?;
    Some(commit.sequence.unwrap_or(message.sequence))
}

/// Whether a head lists every commit after the expected one.
fn lists_all_after(head: &Head, expected: Option<Sequence>) -> bool {
    match expected {
        None => head.lists_every_commit(),
        expected => head.recent.iter().any(|commit| commit.sequence == expected),
    }
}

fn superseded(last: Option<StoredMessage>) -> Finding {
    Finding::Settled(AppendOutcome::Superseded { last })
}

/// The cause of a retry, as a metric label; an unknown error code is logged for an operator.
pub(crate) fn cause_of(answer: &Result<Ack, Unavailable>) -> &'static str {
    match answer {
        Ok(Ack::Stored(_)) => "stored",
        Ok(Ack::Duplicate(_)) => "duplicate",
        Ok(Ack::Refused { code }) => match *code {
            WRONG_LAST_SEQUENCE => "wrong_last_sequence",
            WRONG_LAST_SEQUENCE_IN_FLIGHT => "wrong_last_sequence_in_flight",
            DUPLICATE_IN_FLIGHT => "duplicate_in_flight",
            code => {
                tracing::warn!(code, "the stream rejected a publish");
                "refused"
            }
        },
        Err(_) => "unanswered",
    }
}

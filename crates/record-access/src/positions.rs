//! Positions of a request: its reads include the caller's writes, on every replica.
//!
//! A surface runs each request within a [`RequestScope`], with the positions that the caller has sent. Commands and reads add
//! theirs to it, and every read takes its fence from it. The surface returns what was written, or read if nothing was written.
//! Outside a scope nothing is stored. Conversations that seem to be missing are read from the stream's leader.

pub mod catch_up;

use std::sync::{Arc, Mutex, PoisonError};

use domain::{AgentId, ConversationKey, Partition, Position};
use history::CommitPosition;
use wire::status::Problem;
use wire::token::{PositionToken, RecordId};

use crate::{Gateway, problem, request};

/// Maximum number of positions of a request: the newest, one per partition.
pub const POSITIONS_MAX: usize = 8;

/// Positions, at most one per partition; the last one added is at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions(Vec<PositionToken>);

/// The positions of a request. Clones share them.
#[derive(Debug, Clone)]
pub struct RequestScope(Arc<RequestPositions>);

/// The positions that a request sends, and those that it reads and writes.
#[derive(Debug)]
struct RequestPositions {
    record: RecordId,
    given: Result<Positions, Problem>,
    collected: Mutex<Collected>,
}

#[derive(Debug, Default)]
struct Collected {
    stored: Option<StoredPositions>,
    read: Positions,
    written: Positions,
}

/// The positions that a client stores for an agent, for example in a cookie.
#[derive(Debug, Clone)]
pub struct StoredPositions {
    /// The agent.
    pub agent: AgentId,
    /// What the client has stored.
    pub positions: Positions,
}

tokio::task_local! {
    static REQUEST: RequestScope;
}

impl RequestScope {
    /// The scope of a request that sends these positions, or invalid ones.
    #[must_use]
    pub fn new(record: RecordId, given: Result<Positions, Problem>) -> Self {
        Self(Arc::new(RequestPositions { record, given, collected: Mutex::default() }))
    }

    /// The scope of the request that this task serves.
    #[must_use]
    pub fn current() -> Option<Self> {
        REQUEST.try_with(Clone::clone).ok()
    }

    /// Runs work of the request: it reads and adds the request's positions.
    pub async fn within<F: Future>(self, work: F) -> F::Output {
        REQUEST.scope(self, work).await
    }

    /// What the request has written, or what it has read if it has written nothing.
    #[must_use]
    pub fn reached(&self) -> Positions {
        self.with(
            |collected| if collected.written.0.is_empty() { collected.read.clone() } else { collected.written.clone() },
        )
    }

    /// What the client stores after a write: the positions that the request sent and wrote; `None`: it stores none, or nothing was
    /// written.
    #[must_use]
    pub fn to_store(&self) -> Option<StoredPositions> {
        let mut positions = self.given();
        let (stored, written) = self.with(|collected| (collected.stored.clone(), collected.written.clone()));
        let stored = stored.filter(|_| !written.0.is_empty())?;
        written.0.into_iter().for_each(|token| positions.add(token));
        Some(StoredPositions { positions, ..stored })
    }

    /// The positions that the request sends, or else those that the client has stored.
    fn given(&self) -> Positions {
        match &self.0.given {
            Ok(given) if !given.0.is_empty() => given.clone(),
            Ok(_) | Err(_) => {
                let stored = self.with(|collected| collected.stored.clone());
                stored.map(|stored| stored.positions).unwrap_or_default()
            }
        }
    }

    fn with<T>(&self, read: impl FnOnce(&mut Collected) -> T) -> T {
        read(&mut self.0.collected.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds positions that the client has stored: they are used if the request sends none.
pub fn add_stored(agent: &AgentId, read: impl FnOnce(RecordId) -> Positions) {
    if let Some(request) = RequestScope::current() {
        let stored = StoredPositions { agent: agent.clone(), positions: read(request.0.record) };
        request.with(|collected| collected.stored = Some(stored));
    }
}

/// Checks the positions that the request sends.
///
/// # Errors
/// A token is malformed or of another record, or there are too many.
pub fn check() -> Result<(), Problem> {
    let invalid = RequestScope::current().and_then(|request| request.0.given.as_ref().err().cloned());
    invalid.map_or(Ok(()), Err)
}

/// The fence of a conversation: what the request has sent, read and written in its partition.
///
/// # Errors
/// The conversation's partition is not known, and the record does not answer.
pub async fn fence(gateway: &Gateway, key: &ConversationKey) -> Result<Option<Position>, Problem> {
    let Some(request) = RequestScope::current().filter(|request| !request.is_empty()) else {
        return Ok(None);
    };
    let partition = gateway.reader.archive.partition_of(key).await.map_err(|error| problem::of_record(&error))?;
    let given = request.given().in_partition(partition);
    Ok(request.with(|collected| {
        let read = collected.read.in_partition(partition);
        given.max(read).max(collected.written.in_partition(partition))
    }))
}

/// The fences of a listing: every position that the request has sent or written.
#[must_use]
pub fn fences() -> Vec<Position> {
    let Some(request) = RequestScope::current() else {
        return Vec::new();
    };
    let mut all = request.given();
    request.with(|collected| collected.written.0.iter().for_each(|token| all.add(*token)));
    all.0.iter().map(|token| token.position).collect()
}

/// Stores the position of a write.
pub fn record_write(token: &str) {
    if let Some(request) = RequestScope::current()
        && let Ok(token) = PositionToken::decode(token, request.0.record)
    {
        request.with(|collected| collected.written.add(token));
    }
}

/// Stores the position of a read.
///
/// # Errors
/// As [`fence`].
pub async fn record_read(gateway: &Gateway, key: &ConversationKey, position: CommitPosition) -> Result<(), Problem> {
    let token = position.token(&gateway.reader.archive, key).await.map_err(|error| problem::of_record(&error))?;
    if let Some(request) = RequestScope::current() {
        request.with(|collected| collected.read.add(token));
    }
    Ok(())
}

impl RequestScope {
    /// Whether the request has neither sent, read nor written a position.
    fn is_empty(&self) -> bool {
        self.given().0.is_empty()
            && self.with(|collected| collected.read.0.is_empty() && collected.written.0.is_empty())
    }
}

impl Positions {
    /// The positions of tokens.
    ///
    /// # Errors
    /// A token is malformed or of another record, or there are more than [`POSITIONS_MAX`].
    pub fn parse<'a>(tokens: impl Iterator<Item = &'a str>, record: RecordId) -> Result<Self, Problem> {
        let (mut given, mut count) = (Self::default(), 0);
        for token in tokens {
            count += 1;
            given.add(PositionToken::decode(token, record).map_err(problem::of_position_token)?);
        }
        if count > POSITIONS_MAX {
            let description = format!("has {count} tokens, at most {POSITIONS_MAX} are accepted");
            return Err(request::out_of_range(description).within("target.position_token").into());
        }
        Ok(given)
    }

    /// The positions of the valid tokens of this record, up to the bound: the client cannot remove the others.
    #[must_use]
    pub fn parse_valid<'a>(tokens: impl Iterator<Item = &'a str>, record: RecordId) -> Self {
        let mut given = Self::default();
        let valid = tokens.take(POSITIONS_MAX).filter_map(|token| PositionToken::decode(token, record).ok());
        valid.for_each(|token| given.add(token));
        given
    }

    /// The tokens, separated by `separator`; `None`: there is none.
    #[must_use]
    pub fn text(&self, separator: &str) -> Option<String> {
        let tokens: Vec<String> = self.0.iter().map(PositionToken::encode).collect();
        (!tokens.is_empty()).then(|| tokens.join(separator))
    }

    /// Adds a position. The later one of a partition is kept; above the bound the oldest is removed.
    fn add(&mut self, token: PositionToken) {
        let partition = token.position.partition;
        let is_same = |known: &PositionToken| known.position.partition == partition;
        let known = self.0.iter().position(is_same).map(|index| self.0.remove(index));
        let later = known.filter(|known| known.position > token.position);
        if self.0.len() == POSITIONS_MAX {
            self.0.remove(0);
        }
        self.0.push(later.unwrap_or(token));
    }

    fn in_partition(&self, partition: Partition) -> Option<Position> {
        let mut positions = self.0.iter().map(|token| token.position);
        positions.find(|position| position.partition == partition)
    }
}

#[cfg(test)]
mod tests {
    use domain::{Sequence, Version, ViolationReason};
    use wire::status::Reason;

    use super::*;

    const RECORD: RecordId = RecordId([7; 8]);

    fn token(partition: u16, sequence: u64) -> PositionToken {
        PositionToken {
            record: RECORD,
            position: Position { partition: Partition(partition), sequence: Sequence(sequence) },
            version: Version(1),
        }
    }

    fn given(tokens: &[String]) -> Result<Vec<PositionToken>, Reason> {
        let given = Positions::parse(tokens.iter().map(String::as_str), RECORD);
        given.map(|given| given.0).map_err(|problem| problem.reason())
    }

    #[test]
    fn a_request_has_tokens_of_this_record_up_to_the_bound() {
        let text = |tokens: &[PositionToken]| tokens.iter().map(PositionToken::encode).collect::<Vec<_>>();
        let eight: Vec<_> = (0..8).map(|partition| token(partition, 1)).collect();
        let nine: Vec<_> = (0..9).map(|partition| token(partition, 1)).collect();
        let foreign = PositionToken { record: RecordId([8; 8]), ..token(0, 1) };
        assert_eq!(given(&[]), Ok(vec![]));
        assert_eq!(given(&text(&eight)), Ok(eight.clone()));
        assert_eq!(given(&text(&nine)), Err(Reason::Field(ViolationReason::OutOfRange)));
        assert_eq!(given(&["x".to_owned()]), Err(Reason::PositionTokenMalformed));
        assert_eq!(given(&text(&[foreign])), Err(Reason::PositionTokenOfOtherRecord));
    }

    #[test]
    fn invalid_tokens_that_a_client_stores_are_ignored() {
        let join = |tokens: &[PositionToken]| {
            let tokens: Vec<String> = tokens.iter().map(PositionToken::encode).collect();
            tokens.join(".")
        };
        let check = |value: &str, expected: &[PositionToken]| {
            assert_eq!(Positions::parse_valid(value.split('.'), RECORD).0, expected, "{value}");
        };
        let nine: Vec<_> = (0..9).map(|partition| token(partition, 1)).collect();
        let foreign = PositionToken { record: RecordId([8; 8]), ..token(0, 1) };
        check("", &[]);
        check(&join(&nine[..8]), &nine[..8]);
        check(&join(&nine), &nine[..8]);
        check("x", &[]);
        check(&join(&[foreign]), &[]);
        check(&format!("x.{}", join(&[foreign, nine[1]])), &[nine[1]]);
        // The cookie is far below the 4,096 bytes that browsers accept.
        assert!(join(&nine[..8]).len() < 512);
    }

    #[test]
    fn of_each_partition_the_latest_position_is_kept() {
        let mut positions = Positions::default();
        for added in [token(1, 5), token(2, 1), token(1, 4), token(1, 6)] {
            positions.add(added);
        }
        assert_eq!(positions.0, [token(2, 1), token(1, 6)]);
        for partition in 3..12 {
            positions.add(token(partition, 1));
        }
        assert_eq!(positions.0.len(), POSITIONS_MAX);
        assert_eq!(positions.in_partition(Partition(1)), None);
        let latest = positions.in_partition(Partition(11)).map(|position| position.sequence);
        assert_eq!(latest, Some(Sequence(1)));
    }
}

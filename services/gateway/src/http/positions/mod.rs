//! Position tokens over HTTP: the reads of a caller include the caller's writes, on every replica.
//!
//! The response header `x-position-token` has the positions that the request wrote, or the ones that it read if it
//! wrote nothing. The next request sends them back in the same header. `layer` stores the positions of one request in a
//! task-local value: commands add to it, and every read of the request takes its fence from it. If the session is a
//! cookie, the positions are in a cookie too, see `cookies`; the header has precedence. Callers that send
//! neither get a fence within one request; conversations that seem to be missing are read from the stream's leader.

pub mod catch_up;

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use domain::{AgentId, ConversationKey, Partition, Position};
use event_log::Unavailable;
use history::CommitPosition;
use runtime::http::HttpProblem;
use wire::token::{PositionToken, RecordId, TokenError};

use crate::http::cookies::{self, SEPARATOR};
use conversations::Gateway;

/// The header of position tokens, separated by commas.
pub const POSITION_HEADER: HeaderName = HeaderName::from_static("x-position-token");
/// Maximum number of tokens in a header: the newest, one per partition.
pub const POSITIONS_MAX: usize = 8;

/// Positions, at most one per partition; the last one added is at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Positions(Vec<PositionToken>);

/// Why a header of tokens is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Token(TokenError),
    TooMany(usize),
}

/// The positions that a request sends, and those that it reads and writes.
#[derive(Debug)]
struct RequestPositions {
    record: RecordId,
    given: Result<Positions, Refusal>,
    collected: Mutex<Collected>,
}

#[derive(Debug, Default)]
struct Collected {
    cookie: Option<Cookie>,
    read: Positions,
    written: Positions,
}

/// The cookie of positions, if the session is a cookie.
#[derive(Debug, Clone)]
struct Cookie {
    agent: AgentId,
    given: Positions,
}

tokio::task_local! {
    static REQUEST: Arc<RequestPositions>;
}

/// Stores the positions of a request, and adds them to its response.
pub(in crate::http) async fn layer(State(record): State<RecordId>, request: Request, next: Next) -> Response {
    let positions = Arc::new(RequestPositions {
        record,
        given: Positions::from_headers(request.headers(), record),
        collected: Mutex::default(),
    });
    let running = next.run(request);
    let mut response = REQUEST.scope(Arc::clone(&positions), running).await;
    if let Some(value) = positions.with(Collected::header) {
        response.headers_mut().insert(POSITION_HEADER, value);
    }
    if let Some(cookie) = positions.cookie() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// The positions of a request, for work that another task does for it.
#[derive(Debug, Clone)]
pub(in crate::http) struct RequestScope(Arc<RequestPositions>);

impl RequestScope {
    /// Runs work of the request: it reads and adds the request's positions.
    pub(in crate::http) async fn within<F: Future>(self, work: F) -> F::Output {
        REQUEST.scope(self.0, work).await
    }
}

/// The positions of the request that this task serves.
pub(in crate::http) fn of_request() -> Option<RequestScope> {
    REQUEST.try_with(|request| RequestScope(Arc::clone(request))).ok()
}

/// Reads the positions in the agent's cookie. The response to a write sets the cookie.
pub(in crate::http) fn use_cookie(headers: &HeaderMap, agent: &AgentId) {
    // As in `record_write`.
    let _ = REQUEST.try_with(|request| {
        let value = cookies::positions(headers, agent).unwrap_or_default();
        let cookie = Cookie { agent: agent.clone(), given: Positions::from_cookie(&value, request.record) };
        request.with(|collected| collected.cookie = Some(cookie));
    });
}

/// Checks the tokens of the request.
///
/// # Errors
/// 400: a token is malformed or of another record, or there are too many.
pub fn check() -> Result<(), HttpProblem> {
    let given = REQUEST.try_with(|request| request.given.as_ref().err().copied());
    match given {
        Ok(Some(refusal)) => Err(problem_from(refusal)),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// The fence of a conversation: what the request has sent, read and written in its partition.
///
/// # Errors
/// 503: the conversation's partition is not known, and the record does not answer.
pub async fn fence(gateway: &Gateway, key: &ConversationKey) -> Result<Option<Position>, HttpProblem> {
    if is_empty() {
        return Ok(None);
    }
    let partition = gateway.reader.archive.partition_of(key).await.map_err(unlocated)?;
    let fence = REQUEST.try_with(|request| {
        let given = request.given().in_partition(partition);
        request.with(|collected| {
            let read = collected.read.in_partition(partition);
            given.max(read).max(collected.written.in_partition(partition))
        })
    });
    Ok(fence.ok().flatten())
}

/// Whether the request has neither sent, read nor written a position.
fn is_empty() -> bool {
    let is_empty = REQUEST.try_with(|request| {
        request.given().0.is_empty()
            && request.with(|collected| collected.read.0.is_empty() && collected.written.0.is_empty())
    });
    is_empty.unwrap_or(true)
}

/// The fences of a listing: every position that the request has sent or written.
#[must_use]
pub fn fences() -> Vec<Position> {
    let fences = REQUEST.try_with(|request| {
        let mut all = request.given();
        request.with(|collected| collected.written.0.iter().for_each(|token| all.add(*token)));
        all.0.iter().map(|token| token.position).collect()
    });
    fences.unwrap_or_default()
}

/// Stores the position of a write.
pub fn record_write(token: &str) {
    // Outside a request there is no response for it.
    let _ = REQUEST.try_with(|request| {
        if let Ok(token) = PositionToken::decode(token, request.record) {
            request.with(|collected| collected.written.add(token));
        }
    });
}

/// Stores the position of a read.
///
/// # Errors
/// As [`fence`].
pub async fn record_read(
    gateway: &Gateway,
    key: &ConversationKey,
    position: CommitPosition,
) -> Result<(), HttpProblem> {
    let token = position.token(&gateway.reader.archive, key).await.map_err(unlocated)?;
    // As in `record_write`.
    let _ = REQUEST.try_with(|request| request.with(|collected| collected.read.add(token)));
    Ok(())
}

fn unlocated(error: Unavailable) -> HttpProblem {
    HttpProblem::from(conversations::problem::of_record(&error))
}

fn problem_from(refusal: Refusal) -> HttpProblem {
    let problem = match refusal {
        Refusal::Token(error) => HttpProblem::from(conversations::problem::of_position_token(error)),
        Refusal::TooMany(count) => {
            let description = format!("has {count} tokens, at most {POSITIONS_MAX} are accepted");
            HttpProblem::from(conversations::request::out_of_range(description))
        }
    };
    problem.in_field(POSITION_HEADER.as_str())
}

impl RequestPositions {
    /// The positions in the header, or those in the cookie.
    fn given(&self) -> Positions {
        match &self.given {
            Ok(given) if !given.0.is_empty() => given.clone(),
            Ok(_) | Err(_) => {
                let cookie = self.with(|collected| collected.cookie.clone());
                cookie.map(|cookie| cookie.given).unwrap_or_default()
            }
        }
    }

    /// The cookie of the response to a write: the positions that the request sent and wrote.
    fn cookie(&self) -> Option<HeaderValue> {
        let mut positions = self.given();
        let (cookie, written) = self.with(|collected| (collected.cookie.clone(), collected.written.clone()));
        let cookie = cookie.filter(|_| !written.0.is_empty())?;
        written.0.into_iter().for_each(|token| positions.add(token));
        let tokens: Vec<String> = positions.0.iter().map(PositionToken::encode).collect();
        cookies::set_positions(&cookie.agent, &tokens.join(&SEPARATOR.to_string()))
    }

    fn with<T>(&self, read: impl FnOnce(&mut Collected) -> T) -> T {
        read(&mut self.collected.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Collected {
    fn header(&mut self) -> Option<HeaderValue> {
        let named = if self.written.0.is_empty() { &self.read } else { &self.written };
        let tokens: Vec<String> = named.0.iter().map(PositionToken::encode).collect();
        let text = (!tokens.is_empty()).then(|| tokens.join(","))?;
        HeaderValue::try_from(text).ok()
    }
}

impl Positions {
    fn from_headers(headers: &HeaderMap, record: RecordId) -> Result<Self, Refusal> {
        let mut given = Self::default();
        let mut count = 0;
        for value in headers.get_all(POSITION_HEADER) {
            let text = value.to_str().map_err(|_| Refusal::Token(TokenError::Malformed))?;
            for token in text.split(',').map(str::trim).filter(|token| !token.is_empty()) {
                count += 1;
                given.add(PositionToken::decode(token, record).map_err(Refusal::Token)?);
            }
        }
        if count > POSITIONS_MAX {
            return Err(Refusal::TooMany(count));
        }
        Ok(given)
    }

    /// The tokens of a cookie. Tokens of other records are ignored, and so are tokens above the bound.
    fn from_cookie(value: &str, record: RecordId) -> Self {
        let mut given = Self::default();
        let tokens = value.split(SEPARATOR).take(POSITIONS_MAX);
        tokens.filter_map(|token| PositionToken::decode(token, record).ok()).for_each(|token| given.add(token));
        given
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
    use domain::{Sequence, Version};

    use super::*;

    const RECORD: RecordId = RecordId([7; 8]);

    fn token(partition: u16, sequence: u64) -> PositionToken {
        PositionToken {
            record: RECORD,
            position: Position { partition: Partition(partition), sequence: Sequence(sequence) },
            version: Version(1),
        }
    }

    fn given(text: &str) -> Result<Vec<PositionToken>, Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert(POSITION_HEADER, text.parse().unwrap());
        Positions::from_headers(&headers, RECORD).map(|given| given.0)
    }

    #[test]
    fn a_header_holds_tokens_of_this_record_up_to_the_bound() {
        let text = |tokens: &[PositionToken]| {
            let tokens: Vec<String> = tokens.iter().map(PositionToken::encode).collect();
            tokens.join(", ")
        };
        let eight: Vec<_> = (0..8).map(|partition| token(partition, 1)).collect();
        let nine: Vec<_> = (0..9).map(|partition| token(partition, 1)).collect();
        let foreign = PositionToken { record: RecordId([8; 8]), ..token(0, 1) };
        assert_eq!(given(""), Ok(vec![]));
        assert_eq!(given(&text(&eight)), Ok(eight));
        assert_eq!(given(&text(&nine)), Err(Refusal::TooMany(9)));
        assert_eq!(given("x"), Err(Refusal::Token(TokenError::Malformed)));
        let other = Err(Refusal::Token(TokenError::OtherRecord));
        assert_eq!(given(&text(&[foreign])), other);
    }

    #[test]
    fn invalid_tokens_of_a_cookie_are_ignored() {
        let join = |tokens: &[PositionToken]| {
            let tokens: Vec<String> = tokens.iter().map(PositionToken::encode).collect();
            tokens.join(".")
        };
        let check = |value: &str, expected: &[PositionToken]| {
            assert_eq!(Positions::from_cookie(value, RECORD).0, expected, "{value}");
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

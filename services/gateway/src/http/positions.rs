//! Position tokens over HTTP: a caller's reads hold the caller's writes, whichever replica answers.
//!
//! An answer names in `x-position-token` the positions of what its request wrote, or read where it wrote nothing. A request
//! gives them back in the same header. `layer` keeps the positions of one request in a task-local value: commands add to it,
//! and every read of the request takes its fence from it. Where the session is a cookie, the positions are in a cookie too:
//! see `position_cookie`. A request's header counts before its cookie. Callers that keep neither are fenced within a request,
//! and for what does not seem to exist, which the stream's leader is asked about.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use domain::{AgentId, ConversationKey, Partition, Position};
use history::CommitPosition;
use runtime::http::HttpProblem;
use wire::status::Problem;
use wire::token::{PositionToken, RecordId, TokenError};

use super::position_cookie::{self, SEPARATOR};
use super::problem;
use crate::Gateway;

/// The header that names positions: tokens, separated by commas.
pub const POSITION_HEADER: HeaderName = HeaderName::from_static("x-position-token");
/// Most tokens of one header: the newest of as many partitions.
pub const POSITIONS_MAX: usize = 8;

/// Positions, at most one of a partition, the one that was added last at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Positions(Vec<PositionToken>);

/// Why a header of tokens is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Token(TokenError),
    TooMany(usize),
}

/// The positions of one request.
#[derive(Debug)]
struct OfRequest {
    record: RecordId,
    given: Result<Positions, Refusal>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    cookie: Option<Cookie>,
    read: Positions,
    written: Positions,
}

/// The cookie of a page whose session is one.
#[derive(Debug, Clone)]
struct Cookie {
    agent: AgentId,
    given: Positions,
}

tokio::task_local! {
    static REQUEST: Arc<OfRequest>;
}

/// Keeps the positions of a request, and names them in its answer.
pub(super) async fn layer(
    State(record): State<RecordId>,
    request: Request,
    next: Next,
) -> Response {
    let positions = Arc::new(OfRequest {
        record,
        given: Positions::given(request.headers(), record),
        kept: Mutex::default(),
    });
    let running = next.run(request);
    let mut response = REQUEST.scope(Arc::clone(&positions), running).await;
    if let Some(value) = positions.with(Kept::header) {
        response.headers_mut().insert(POSITION_HEADER, value);
    }
    if let Some(cookie) = positions.cookie() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Takes the positions in the agent's cookie, and has the answer to a write set it.
pub(super) fn use_cookie(headers: &HeaderMap, agent: &AgentId) {
    // As in `wrote`.
    let _ = REQUEST.try_with(|request| {
        let value = position_cookie::read(headers, agent).unwrap_or_default();
        let cookie = Cookie {
            agent: agent.clone(),
            given: Positions::in_cookie(&value, request.record),
        };
        request.with(|kept| kept.cookie = Some(cookie));
    });
}

/// Checks the tokens that the request gives.
///
/// # Errors
/// 400: a token is malformed, of another record, or one too many.
pub fn check() -> Result<(), HttpProblem> {
    let given = REQUEST.try_with(|request| request.given.as_ref().err().copied());
    match given {
        Ok(Some(refusal)) => Err(refused(refusal)),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// What a read of a conversation must hold: what the request gives, has read and has written of its partition.
#[must_use]
pub fn fence_of(gateway: &Gateway, key: &ConversationKey) -> Option<Position> {
    let partition = gateway.reader.record.partition_of(key);
    let fence = REQUEST.try_with(|request| {
        let given = request.given().of(partition);
        request.with(|kept| {
            let kept = kept.read.of(partition).max(kept.written.of(partition));
            given.max(kept)
        })
    });
    fence.ok().flatten()
}

/// What a listing must hold: every position that the request gives or has written.
#[must_use]
pub fn fences() -> Vec<Position> {
    let fences = REQUEST.try_with(|request| {
        let mut all = request.given();
        request.with(|kept| kept.written.0.iter().for_each(|token| all.add(*token)));
        all.0.iter().map(|token| token.position).collect()
    });
    fences.unwrap_or_default()
}

/// Keeps the position of what the request wrote.
pub fn wrote(token: &str) {
    // Outside a request there is no answer to name it.
    let _ = REQUEST.try_with(|request| {
        if let Ok(token) = PositionToken::decode(token, request.record) {
            request.with(|kept| kept.written.add(token));
        }
    });
}

/// Keeps the position that a read has reached.
pub fn read(gateway: &Gateway, key: &ConversationKey, position: CommitPosition) {
    let token = PositionToken {
        record: gateway.reader.record.id(),
        position: Position {
            partition: gateway.reader.record.partition_of(key),
            sequence: position.sequence,
        },
        version: position.version,
    };
    // As in `wrote`.
    let _ = REQUEST.try_with(|request| request.with(|kept| kept.read.add(token)));
}

fn refused(refusal: Refusal) -> HttpProblem {
    let problem = match refusal {
        Refusal::Token(error) => problem::of(crate::problem::of_position_token(error)),
        Refusal::TooMany(count) => {
            let description = format!("has {count} tokens, at most {POSITIONS_MAX} are taken");
            problem::of(Problem::from(crate::request::out_of_range(description)))
        }
    };
    HttpProblem {
        field: Some(POSITION_HEADER.as_str().to_owned()),
        ..problem
    }
}

impl OfRequest {
    /// The positions in the header, or else in the cookie.
    fn given(&self) -> Positions {
        match &self.given {
            Ok(given) if !given.0.is_empty() => given.clone(),
            Ok(_) | Err(_) => {
                let cookie = self.with(|kept| kept.cookie.clone());
                cookie.map(|cookie| cookie.given).unwrap_or_default()
            }
        }
    }

    /// The cookie of an answer to a write: what the request gave, and what it wrote.
    fn cookie(&self) -> Option<HeaderValue> {
        let mut positions = self.given();
        let (cookie, written) = self.with(|kept| (kept.cookie.clone(), kept.written.clone()));
        let cookie = cookie.filter(|_| !written.0.is_empty())?;
        written.0.into_iter().for_each(|token| positions.add(token));
        let tokens: Vec<String> = positions.0.iter().map(PositionToken::encode).collect();
        position_cookie::set(&cookie.agent, &tokens.join(&SEPARATOR.to_string()))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Kept) -> T) -> T {
        act(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Kept {
    fn header(&mut self) -> Option<HeaderValue> {
        let named = if self.written.0.is_empty() {
            &self.read
        } else {
            &self.written
        };
        let tokens: Vec<String> = named.0.iter().map(PositionToken::encode).collect();
        let text = (!tokens.is_empty()).then(|| tokens.join(","))?;
        HeaderValue::try_from(text).ok()
    }
}

impl Positions {
    fn given(headers: &HeaderMap, record: RecordId) -> Result<Self, Refusal> {
        let mut given = Self::default();
        let mut count = 0;
        for value in headers.get_all(POSITION_HEADER) {
            let text = value.to_str();
            let text = text.map_err(|_| Refusal::Token(TokenError::Malformed))?;
            for token in text
                .split(',')
                .map(str::trim)
                .filter(|token| !token.is_empty())
            {
                count += 1;
                given.add(PositionToken::decode(token, record).map_err(Refusal::Token)?);
            }
        }
        if count > POSITIONS_MAX {
            return Err(Refusal::TooMany(count));
        }
        Ok(given)
    }

    /// The tokens of a cookie. What is none of this record's is ignored, and what is past the bound.
    fn in_cookie(value: &str, record: RecordId) -> Self {
        let mut given = Self::default();
        let tokens = value.split(SEPARATOR).take(POSITIONS_MAX);
        tokens
            .filter_map(|token| PositionToken::decode(token, record).ok())
            .for_each(|token| given.add(token));
        given
    }

    /// Adds a position; of one partition the later one is kept, of too many the one that was added first goes.
    fn add(&mut self, token: PositionToken) {
        let partition = token.position.partition;
        let is_same = |known: &PositionToken| known.position.partition == partition;
        let known = self
            .0
            .iter()
            .position(is_same)
            .map(|place| self.0.remove(place));
        let later = known.filter(|known| known.position > token.position);
        if self.0.len() == POSITIONS_MAX {
            self.0.remove(0);
        }
        self.0.push(later.unwrap_or(token));
    }

    fn of(&self, partition: Partition) -> Option<Position> {
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
            position: Position {
                partition: Partition(partition),
                sequence: Sequence(sequence),
            },
            version: Version(1),
        }
    }

    fn given(text: &str) -> Result<Vec<PositionToken>, Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert(POSITION_HEADER, text.parse().unwrap());
        Positions::given(&headers, RECORD).map(|given| given.0)
    }

    #[test]
    fn a_header_holds_tokens_of_this_record_up_to_the_bound() {
        let text = |tokens: &[PositionToken]| {
            let tokens: Vec<String> = tokens.iter().map(PositionToken::encode).collect();
            tokens.join(", ")
        };
        let eight: Vec<_> = (0..8).map(|partition| token(partition, 1)).collect();
        let nine: Vec<_> = (0..9).map(|partition| token(partition, 1)).collect();
        let foreign = PositionToken {
            record: RecordId([8; 8]),
            ..token(0, 1)
        };
        assert_eq!(given(""), Ok(vec![]));
        assert_eq!(given(&text(&eight)), Ok(eight));
        assert_eq!(given(&text(&nine)), Err(Refusal::TooMany(9)));
        assert_eq!(given("x"), Err(Refusal::Token(TokenError::Malformed)));
        let other = Err(Refusal::Token(TokenError::OtherRecord));
        assert_eq!(given(&text(&[foreign])), other);
    }

    #[test]
    fn a_cookie_holds_what_it_can_and_nothing_fails() {
        let join = |tokens: &[PositionToken]| {
            let tokens: Vec<String> = tokens.iter().map(PositionToken::encode).collect();
            tokens.join(".")
        };
        let check = |value: &str, expected: &[PositionToken]| {
            assert_eq!(Positions::in_cookie(value, RECORD).0, expected, "{value}");
        };
        let nine: Vec<_> = (0..9).map(|partition| token(partition, 1)).collect();
        let foreign = PositionToken {
            record: RecordId([8; 8]),
            ..token(0, 1)
        };
        check("", &[]);
        check(&join(&nine[..8]), &nine[..8]);
        check(&join(&nine), &nine[..8]);
        check("x", &[]);
        check(&join(&[foreign]), &[]);
        check(&format!("x.{}", join(&[foreign, nine[1]])), &[nine[1]]);
        // What is set is far below what browsers keep of a cookie, 4,096 bytes.
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
        assert_eq!(positions.of(Partition(1)), None);
        let latest = positions
            .of(Partition(11))
            .map(|position| position.sequence);
        assert_eq!(latest, Some(Sequence(1)));
    }
}

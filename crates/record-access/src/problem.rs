//! Maps the gateway's errors to problems that callers receive. No other module does.

pub use history::problem::{
    RETRY_AFTER, not_found, of_contradiction, of_corrupt, of_read_model, of_record, position_not_reached,
    read_model_timed_out, record_timed_out,
};
pub use registry::{access_problem, unauthenticated};
use runtime::compute::{WAIT_MAX, WAITING_MAX};
use runtime::fair::Busy;
use wire::status::{Problem, Reason};
use wire::token::TokenError;

/// An invalid position token.
#[must_use]
pub fn of_position_token(error: TokenError) -> Problem {
    let reason = match error {
        TokenError::Malformed => Reason::PositionTokenMalformed,
        TokenError::OtherRecord => Reason::PositionTokenOfOtherRecord,
    };
    Problem::of_field(reason, "target.position_token", error.to_string())
}

/// A position token of another conversation.
#[must_use]
pub fn position_token_of_other_conversation() -> Problem {
    Problem::of_field(
        Reason::PositionTokenMalformed,
        "target.position_token",
        "is of another conversation: use a token from a write to this conversation",
    )
}

/// An invalid page token.
#[must_use]
pub fn page_token_invalid() -> Problem {
    Problem::of_field(Reason::PageTokenInvalid, "page_token", "is not a page token: send next_page_token unchanged")
}

/// A page token of another query.
#[must_use]
pub fn page_token_of_other_query() -> Problem {
    Problem::of_field(
        Reason::PageTokenOfOtherQuery,
        "page_token",
        "is of another query: change only page_token and page_size between pages",
    )
}

/// The maximum number of watchers is reached.
#[must_use]
pub fn too_many_watchers(watchers_max: usize) -> Problem {
    Problem::new(Reason::Overloaded, format!("this gateway has {watchers_max} watchers, its maximum: try again"))
        .retry_after(RETRY_AFTER)
}

/// The tenant computes too much at once: `map_err` passes the error.
#[must_use]
pub fn compute_busy(_: Busy) -> Problem {
    let message = format!(
        "more than {WAITING_MAX} contexts and searches of this tenant wait for a processor, or one waited for {} s: send fewer at once, or \
         make the patterns and templates of policies simpler",
        WAIT_MAX.as_secs()
    );
    Problem::new(Reason::Overloaded, message).retry_after(RETRY_AFTER)
}

/// The gateway shuts down.
#[must_use]
pub fn draining() -> Problem {
    Problem::new(Reason::Draining, "the gateway is shutting down: connect again and watch from the next version")
        .retry_after(RETRY_AFTER)
}

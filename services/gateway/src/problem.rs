//! The one place where the gateway's errors become what callers see.

pub use event_log::registry::{of_access, unauthenticated};
pub use history::problem::{
    RETRY_AFTER, not_found, of_contradiction, of_corrupt, of_read_model, of_record,
    position_not_reached, read_model_silent, record_silent,
};
use wire::status::{Problem, Reason};
use wire::token::TokenError;

/// A position token that cannot be taken.
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
pub fn position_token_elsewhere() -> Problem {
    Problem::of_field(
        Reason::PositionTokenMalformed,
        "target.position_token",
        "is of another conversation: use the token that a write to this one gave",
    )
}

/// Not a page token of ours.
#[must_use]
pub fn page_token_invalid() -> Problem {
    Problem::of_field(
        Reason::PageTokenInvalid,
        "page_token",
        "is not a page token: pass on next_page_token as it was given",
    )
}

/// A page token of another query.
#[must_use]
pub fn page_token_of_other_query() -> Problem {
    Problem::of_field(
        Reason::PageTokenOfOtherQuery,
        "page_token",
        "is of another query: change nothing but page_token and page_size from page to page",
    )
}

/// As many watchers as may be are there.
#[must_use]
pub fn too_many_watchers(watchers_max: usize) -> Problem {
    Problem::new(
        Reason::Overloaded,
        format!("{watchers_max} conversations are watched here, which is the most: try again"),
    )
    .retry_after(RETRY_AFTER)
}

/// The service ends.
#[must_use]
pub fn draining() -> Problem {
    Problem::new(
        Reason::Draining,
        "the service is ending: connect again and watch on from the next version",
    )
    .retry_after(RETRY_AFTER)
}

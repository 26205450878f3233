//! What callers see when the registry does not let them: the same words from every service.

use wire::status::{Problem, Reason};

use super::error::AccessError;

/// No bearer token, or one that is unknown or revoked.
#[must_use]
pub fn unauthenticated() -> Problem {
    Problem::new(
        Reason::Unauthenticated,
        "a valid service token is required: send it as `authorization: Bearer <token>`",
    )
}

/// The token does not reach what was asked for in this field.
#[must_use]
pub fn of_access(error: &AccessError, field: &str) -> Problem {
    match error {
        AccessError::MissingScope(scope) => Problem::new(
            Reason::MissingScope,
            format!("the token lacks the scope `{scope}`: use one that has it"),
        ),
        AccessError::UnknownAgent | AccessError::UnknownTenant => Problem::of_field(
            Reason::AgentNotFound,
            field,
            "is no agent of this token's: check the id and the token's tenant",
        ),
    }
}

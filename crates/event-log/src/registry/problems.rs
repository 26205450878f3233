//! Problems of rejected callers, equal for all services.

use wire::status::{Problem, Reason};

use super::error::AccessError;

/// The bearer token is missing, unknown or revoked.
#[must_use]
pub fn unauthenticated() -> Problem {
    Problem::new(
        Reason::Unauthenticated,
        "a valid service token is required: send it as `authorization: Bearer <token>`",
    )
}

/// The token may not access the value of this field.
#[must_use]
pub fn access_problem(error: &AccessError, field: &str) -> Problem {
    match error {
        AccessError::MissingScope(scope) => Problem::new(
            Reason::MissingScope,
            format!("the token lacks the scope `{scope}`: use one that has it"),
        ),
        AccessError::UnknownAgent | AccessError::UnknownTenant => Problem::of_field(
            Reason::AgentNotFound,
            field,
            "is not an agent that this token may access: check the id and the token's tenant",
        ),
    }
}

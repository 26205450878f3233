//! The signed-in person.

use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use domain::Actor;
use identity::{Role, VerifiedPerson};
use registry::PersonAccess;
use runtime::http::HttpProblem;

use http_listener::callers::admin::Admin;
use http_listener::state::HttpState;

/// A person with a valid session. An extractor for every page with a role; [`super::guard`] provides it. `Debug` hides secrets.
#[derive(Clone)]
pub struct Person {
    /// Reads of the person's tenant, and the name that commits and the audit log record.
    pub admin: Admin,
    /// What the person may do.
    pub role: Role,
    pub(super) session: VerifiedPerson,
    /// The token of the session: a secret.
    pub(super) token: String,
    /// The token of the session's forms.
    pub(super) form_token: String,
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Person({})", self.admin.tenant.tenant())
    }
}

impl Person {
    pub(super) fn new(access: PersonAccess, token: String, form_token: String) -> Self {
        Self {
            role: access.person.role(),
            admin: Admin { tenant: access.tenant, actor: Actor(access.person.subject().clone()) },
            session: access.person,
            token,
            form_token,
        }
    }

    /// The person as pages show them.
    #[must_use]
    pub fn layout(&self) -> pages::layout::Person<'_> {
        pages::layout::Person {
            name: self.session.subject().as_str(),
            tenant: self.session.tenant().as_str(),
            role: self.role,
            form_token: &self.form_token,
        }
    }
}

impl FromRequestParts<HttpState> for Person {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> Result<Self, Self::Rejection> {
        let person = parts.extensions.get::<Self>().cloned();
        person.ok_or_else(sign_in_required)
    }
}

/// The session is missing, has ended or was revoked.
pub(super) fn sign_in_required() -> HttpProblem {
    let detail = "the session has ended: sign in again";
    HttpProblem::new(StatusCode::UNAUTHORIZED, "SIGN_IN_REQUIRED", detail)
}

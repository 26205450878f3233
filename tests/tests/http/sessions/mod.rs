//! `/api/sessions`: issuing, claiming and releasing sessions.

mod claim;
mod issue;

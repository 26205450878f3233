//! `/api/sessions`: issuing, claiming, releasing and revoking sessions.

mod claim;
mod issue;
mod revoke;

//! `/api/sessions`: sessions are issued, claimed and released.

mod claim;
mod issue;

//! The codes of conversation statuses in rows.

use domain::Status;

/// The code in rows. It never changes.
pub(crate) fn status_code(status: Status) -> i16 {
    match status {
        Status::Active => 1,
        Status::Archived => 2,
        Status::Erased => 3,
    }
}

/// The code of an agent's or owner's document that is not erased: listings and retention do not find it.
pub(crate) const DOCUMENT_STATUS: i16 = 4;

/// The status with this code; a document counts as active.
pub(crate) fn status_of(code: i16) -> Option<Status> {
    if code == DOCUMENT_STATUS {
        return Some(Status::Active);
    }
    let all = [Status::Active, Status::Archived, Status::Erased];
    all.into_iter().find(|status| status_code(*status) == code)
}

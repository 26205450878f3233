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

/// The status with this code.
pub(crate) fn status_of(code: i16) -> Option<Status> {
    let all = [Status::Active, Status::Archived, Status::Erased];
    all.into_iter().find(|status| status_code(*status) == code)
}

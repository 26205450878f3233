//! The owner of a document in its column.

use domain::Owner;

/// Kind and id of an owner.
pub(crate) fn owner_text(owner: &Owner) -> String {
    match owner {
        Owner::User(user) => format!("user:{user}"),
        Owner::Session(session) => format!("session:{session}"),
        Owner::Channel(channel) => format!("channel:{channel}"),
    }
}

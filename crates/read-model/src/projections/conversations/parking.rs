//! Parked conversations: list them, retry their commits, and drop commits that can never be projected.
//!
//! A parked conversation keeps its rows. Only the sequences of its waiting commits are stored, so an erasure finds no content
//! here. An erasure unparks a conversation.

mod drop;
mod list;
mod park;
mod request;
mod retry;

pub use drop::drop_commit;
pub use list::{ParkedConversation, count, find, list, list_by_reader, waiting};
pub use request::{ParkedRequest, request, take_requests};
pub use retry::{RetryOutcome, retry};

pub(super) use park::{park, parked_among};

use domain::ConversationKey;
use sqlx::postgres::PgConnection;

use crate::arguments::{bind_key, execute};
use crate::error::ReadModelError;

/// Blocks the projector of a parked conversation's partition until the transaction ends.
async fn lock_partition(connection: &mut PgConnection, key: &ConversationKey) -> Result<(), ReadModelError> {
    execute(connection, include_str!("parking/lock_partition.sql"), bind_key(key)).await?;
    Ok(())
}

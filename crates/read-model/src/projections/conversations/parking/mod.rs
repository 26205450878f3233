//! Conversations that cannot be projected: listed, tried again, and freed of what never will be.
//!
//! A parked conversation keeps the rows that it has; its later commits wait by their places in the record alone, so that
//! nothing is kept here that an erasure would have to find. An erasure frees it by itself.

mod drop;
mod list;
mod park;
mod retry;

pub use drop::drop_commit;
pub use list::{ParkedConversation, count, find, list, waiting};
pub use retry::{Retried, retry};

pub(super) use park::{park, parked_among};

use domain::ConversationKey;
use sqlx::postgres::{PgArguments, PgConnection};

use crate::error::ReadModelError;
use crate::queries::bind;

fn bind_key(key: &ConversationKey) -> PgArguments {
    let arguments = bind(PgArguments::default(), key.tenant.as_str());
    bind(arguments, key.conversation.as_str())
}

/// Keeps the projector of a parked conversation's partition from writing until the transaction ends.
async fn lock_partition(
    connection: &mut PgConnection,
    key: &ConversationKey,
) -> Result<(), ReadModelError> {
    let sql = include_str!("lock_partition.sql");
    sqlx::query_with(sql, bind_key(key))
        .execute(connection)
        .await?;
    Ok(())
}

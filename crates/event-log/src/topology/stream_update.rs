//! Changes the configuration of an existing stream, which operators may.

use std::time::Duration;

use async_nats::jetstream::stream::Config;
use tokio::time::Instant;

use super::Answer;
use crate::connection::Connection;
use crate::error::Unavailable;

/// Timeout of a change: a user without the permission gets no reply.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(1);

/// Replaces the configuration of a stream.
pub(super) async fn update(connection: &Connection, stream: &Config, deadline: Instant) -> Result<(), Unavailable> {
    let request = format!("STREAM.UPDATE.{}", stream.name);
    let deadline = deadline.min(Instant::now() + CHANGE_TIMEOUT);
    let answer: Answer = connection.api(&request, stream, deadline).await?;
    match answer.error {
        None => Ok(()),
        Some(_) => Err(Unavailable::new("the server rejected the change of a stream")),
    }
}

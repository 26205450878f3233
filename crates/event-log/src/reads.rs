//! Reads are repeated: after a loss of the connection, and after an attempt without an answer.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::Unavailable;
use crate::connection::Connection;
use crate::read_limit::Source;

/// Timeout of the first attempt of a read of one message or of a stream's state; each later one has twice as long. A request to a stream
/// without a leader, or to a frozen replica, is never answered, and the reply to the first request of an account to another account can
/// be lost between servers.
const ATTEMPT: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct Names {
    streams: Option<Vec<String>>,
}

impl Connection {
    /// A read, repeated after each loss of the connection.
    pub(crate) async fn read<T, F>(
        &self,
        source: Source,
        deadline: Instant,
        read: impl Fn() -> F,
    ) -> Result<T, Unavailable>
    where
        F: Future<Output = Result<T, Unavailable>>,
    {
        let limit = self.read_limits.of(source);
        loop {
            let in_flight = limit.begin(deadline).await?;
            let sent_on = self.connects();
            let result = read().await;
            if result.is_ok() || !self.is_lost(sent_on) || Instant::now() >= deadline {
                return result;
            }
            limit.on_loss();
            drop(in_flight);
        }
    }

    /// A read of little, repeated after each attempt without an answer as well. `read` gets the deadline of its attempt.
    pub(crate) async fn read_in_attempts<T, F>(
        &self,
        source: Source,
        deadline: Instant,
        read: impl Fn(Instant) -> F,
    ) -> Result<T, Unavailable>
    where
        F: Future<Output = Result<T, Unavailable>>,
    {
        let mut timeout = ATTEMPT;
        loop {
            let attempt = deadline.min(Instant::now() + timeout);
            // Boxed, so that the futures of all readers stay small.
            let result = Box::pin(self.read(source, attempt, || read(attempt))).await;
            let is_unanswered = result.is_err() && Instant::now() >= attempt;
            if !is_unanswered || attempt == deadline {
                return result;
            }
            timeout *= 2;
        }
    }

    /// A request of the `JetStream` API to a stream's leader that changes nothing.
    pub(crate) async fn api_read<T: DeserializeOwned>(
        &self,
        request: &str,
        body: &(impl Serialize + ?Sized),
        deadline: Instant,
    ) -> Result<T, Unavailable> {
        let read = |attempt| self.api(request, body, attempt);
        self.read_in_attempts(Source::Leader, deadline, read).await
    }

    /// One of the streams that match a filter.
    pub(crate) async fn any_stream(
        &self,
        filter: &serde_json::Value,
        deadline: Instant,
    ) -> Result<Option<String>, Unavailable> {
        let names: Names = self.api_read("STREAM.NAMES", filter, deadline).await?;
        Ok(names.streams.into_iter().flatten().next())
    }
}

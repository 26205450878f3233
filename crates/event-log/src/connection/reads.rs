//! Reads are repeated: after a loss of the connection, and while there is no answer.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use crate::connection::read_limit::Source;
use crate::connection::{ApiFailure, Connection, NO_LEADER, RETRY_DELAY_BASE};
use crate::error::Unavailable;

/// How long a read of one message or of a stream's state waits before its request is sent again; each later time twice as long. A request
/// to a stream without a leader, or to a frozen replica, is never answered, and the reply to the first request of an account to another
/// account can be lost between servers.
const RESEND_AFTER: Duration = Duration::from_secs(1);

/// How long one attempt of a batch read waits. Its server may have ended without a loss of this connection.
pub(crate) const BATCH_TIMEOUT: Duration = Duration::from_secs(5);
/// A batch read that is repeated until its deadline.
pub(crate) const BATCH_TIMED_OUT: Unavailable = Unavailable::new("a batch read timed out");

/// Maximum wait for a leader before a read is repeated.
const ELECTION_WAIT_MAX: Duration = Duration::from_millis(250);

/// An answer of the `JetStream` API.
pub(crate) trait ApiAnswer: DeserializeOwned {
    /// Why the request failed; `None`: it did not.
    fn failure(&self) -> Option<&ApiFailure>;
}

#[derive(Deserialize)]
struct Names {
    streams: Option<Vec<String>>,
    error: Option<ApiFailure>,
}

impl ApiAnswer for Names {
    fn failure(&self) -> Option<&ApiFailure> {
        self.error.as_ref()
    }
}

impl Connection {
    /// A read, repeated after each loss of the connection, and after each batch that timed out before the deadline.
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
            let is_lost = self.is_lost(sent_on);
            let is_late = result.as_ref().is_err_and(|error| *error == BATCH_TIMED_OUT);
            if result.is_ok() || !(is_lost || is_late) || Instant::now() >= deadline {
                return result;
            }
            if is_lost {
                limit.on_loss();
            }
            drop(in_flight);
        }
    }

    /// A read of little: its request is sent again while there is no answer. The answer to any of them is the result, so that a slow
    /// network costs requests and no time.
    pub(crate) async fn read_with_resends<T, F>(
        &self,
        source: Source,
        deadline: Instant,
        send: impl Fn() -> F,
    ) -> Result<T, Unavailable>
    where
        F: Future<Output = Result<T, Unavailable>>,
    {
        let read = || first_result(&send);
        // Boxed, so that the futures of all readers stay small.
        Box::pin(self.read(source, deadline, read)).await
    }

    /// A request of the `JetStream` API to a stream's leader that changes nothing. It is sent again while the stream has no leader.
    pub(crate) async fn api_read<T: ApiAnswer>(
        &self,
        request: &str,
        body: &(impl Serialize + ?Sized),
        deadline: Instant,
    ) -> Result<T, Unavailable> {
        // Boxed, so that the futures of all readers stay small.
        Box::pin(async move {
            let mut attempt = 0_u32;
            loop {
                let send = || self.api::<T>(request, body, deadline);
                let answer = self.read_with_resends(Source::Leader, deadline, send).await?;
                let is_electing = answer.failure().is_some_and(|failure| failure.err_code == NO_LEADER);
                if !is_electing || Instant::now() >= deadline {
                    return Ok(answer);
                }
                sleep(backoff::delay(attempt, RETRY_DELAY_BASE, ELECTION_WAIT_MAX)).await;
                attempt = attempt.saturating_add(1);
            }
        })
        .await
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

/// The first result of a request that is sent again and again. Each ends by itself at its deadline.
async fn first_result<T, F>(send: impl Fn() -> F) -> Result<T, Unavailable>
where
    F: Future<Output = Result<T, Unavailable>>,
{
    let mut requests = FuturesUnordered::new();
    let mut wait = RESEND_AFTER;
    loop {
        requests.push(send());
        if let Ok(Some(result)) = timeout(wait, requests.next()).await {
            return result;
        }
        wait = wait.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;

    /// An answer that comes after the request was sent again is the result all the same, and so is that to a later request.
    #[tokio::test]
    async fn any_answer_is_the_result() {
        for answered in [0, 1] {
            let requests = Cell::new(0);
            let send = || {
                let number = requests.replace(requests.get() + 1);
                async move {
                    if number != answered {
                        return pending().await;
                    }
                    sleep(RESEND_AFTER + RESEND_AFTER / 10).await;
                    Ok(number)
                }
            };
            assert_eq!(first_result(send).await, Ok(answered));
            assert_eq!(requests.get(), 2);
        }
    }
}

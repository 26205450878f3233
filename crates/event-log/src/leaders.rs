//! Moves the leader of a stream to another server.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::connection::ApiFailure;
use crate::{Record, Unavailable, topology};

/// Interval of reads while an election is awaited.
const READ_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
struct Answer {
    error: Option<ApiFailure>,
}

impl Record {
    /// Asks the leader of a stream to step down for a server that has a replica, and waits until that one leads. Returns `false` if
    /// it does not within `election_max`.
    ///
    /// # Errors
    /// [`Unavailable`]: the leader does not answer, or rejects the request.
    pub async fn move_leader(
        &self,
        stream: &str,
        to: &str,
        election_max: Duration,
    ) -> Result<bool, Unavailable> {
        let request = format!("STREAM.LEADER.STEPDOWN.{stream}");
        let preferred = json!({"placement": {"preferred": to}});
        let answer = self.connection().api(&request, &preferred, self.deadline());
        let answer: Answer = answer.await?;
        if answer.error.is_some() {
            return Err(Unavailable::new(
                "the leader of a stream does not step down",
            ));
        }
        let deadline = Instant::now() + election_max;
        while Instant::now() < deadline {
            // Nobody answers during the election.
            let info = topology::info(self.connection(), stream, self.deadline()).await;
            let leader = info.ok().flatten().and_then(|info| info.cluster?.leader);
            if leader.as_deref() == Some(to) {
                return Ok(true);
            }
            sleep(READ_INTERVAL).await;
        }
        Ok(false)
    }
}

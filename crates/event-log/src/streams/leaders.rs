//! Moves the leader of a stream to another server.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::connection::ApiFailure;
use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

/// Interval of reads while an election is awaited.
const READ_INTERVAL: Duration = Duration::from_millis(100);
/// How long after a request to step down another leader is one that was elected since.
const ELECTION: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct Answer {
    error: Option<ApiFailure>,
}

impl Record {
    /// Asks the leader of a stream to step down for a server that has a replica, and waits until that one leads. Asks again if another
    /// server was elected, as when the replica lagged. Returns `false` if the server does not lead within `election_max`.
    ///
    /// # Errors
    /// [`Unavailable`]: the leader does not answer, or rejects the request.
    pub async fn move_leader(&self, stream: &str, to: &str, election_max: Duration) -> Result<bool, Unavailable> {
        self.step_down(stream, to).await?;
        let deadline = Instant::now() + election_max;
        let mut requested_at = Instant::now();
        while Instant::now() < deadline {
            // Nobody answers during the election.
            let info = topology::info(self.connection(), stream, self.deadline()).await;
            let leader = info.ok().flatten().and_then(|info| info.cluster?.leader);
            match leader.as_deref() {
                Some(leader) if leader == to => return Ok(true),
                Some(_) if requested_at.elapsed() >= ELECTION => {
                    self.step_down(stream, to).await?;
                    requested_at = Instant::now();
                }
                _ => {}
            }
            sleep(READ_INTERVAL).await;
        }
        Ok(false)
    }

    async fn step_down(&self, stream: &str, to: &str) -> Result<(), Unavailable> {
        let request = format!("STREAM.LEADER.STEPDOWN.{stream}");
        let preferred = json!({"placement": {"preferred": to}});
        let answer: Answer = self.connection().api(&request, &preferred, self.deadline()).await?;
        match answer.error {
            None => Ok(()),
            Some(_) => Err(Unavailable::new("the leader of a stream does not step down")),
        }
    }
}

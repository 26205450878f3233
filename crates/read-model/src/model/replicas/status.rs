//! The state of a replica, for operators.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::measure;
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Interval between two reads of the replica.
const POLL: Duration = Duration::from_millis(20);

/// The state of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplicaStatus {
    /// It has what the primary had at the start of the question.
    Complete {
        /// How long that took.
        lag: Duration,
    },
    /// It did not get that in time.
    Lagging,
    /// It is no replica of the primary.
    Unrelated,
    /// It does not answer.
    Unreachable {
        /// Why, for operators.
        reason: String,
    },
}

impl ReadModel {
    /// The replicas of the database in this process, each with its name and a handle for [`replica_status`].
    #[must_use]
    pub fn named_replicas(&self) -> Vec<(String, Self)> {
        let replicas = self.replicas.iter().flat_map(|replicas| &replicas.all);
        replicas.map(|replica| (replica.name.clone(), replica.probe.clone())).collect()
    }
}

/// Reads the state of a replica. Waits at most `wait_max` until it has what the primary has.
///
/// # Errors
/// [`ReadModelError::Unavailable`]: the primary does not answer.
pub async fn replica_status(
    primary: &ReadModel,
    replica: &ReadModel,
    wait_max: Duration,
) -> Result<ReplicaStatus, ReadModelError> {
    let start = Instant::now();
    let expected = measure::primary(primary).await?;
    loop {
        let reached = match measure::replica(replica).await {
            Ok(reached) => reached,
            Err(error) => {
                let reason = error.to_string();
                return Ok(ReplicaStatus::Unreachable { reason });
            }
        };
        if reached.position.is_none() || reached.id != expected.id {
            return Ok(ReplicaStatus::Unrelated);
        }
        let lag = start.elapsed();
        if reached.position >= expected.position {
            return Ok(ReplicaStatus::Complete { lag });
        }
        if lag >= wait_max {
            return Ok(ReplicaStatus::Lagging);
        }
        sleep(POLL).await;
    }
}

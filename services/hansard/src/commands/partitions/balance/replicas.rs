//! Moves replicas, one after the other, and plans again after each: the cluster chooses the server of a new replica.

use std::collections::BTreeSet;
use std::time::Duration;

use event_log::{Record, StreamReplicas};
use tokio::time::{Instant, sleep};

use super::plan::{self, Goal, Move, ReplicaPlanError};
use super::{Args, ELECTION_MAX};
use crate::exit::UsageError;
use crate::progress::{Length, Progress};

/// Moves per planned one, because a server that the cluster chose may not be the planned one.
const MOVES_PER_PLANNED: usize = 2;
const OTHER_SERVERS: &str = "the cluster chose other servers than planned: compare their disks, and run this again";
/// Maximum wait until all streams are complete.
const COMPLETE_MAX: Duration = Duration::from_secs(15);
/// Interval of reads meanwhile.
const READ_INTERVAL: Duration = Duration::from_millis(250);

/// Moves replicas until the goal is reached. Returns `false` if it was not; the reason is on standard error.
pub(super) async fn run(record: &Record, goal: Goal<'_>, args: &Args, moves: &mut Vec<Move>) -> anyhow::Result<bool> {
    let servers = record.server_names().await?;
    let planned = read_plan(record, &servers, goal).await?.map_err(|error| UsageError(error.to_string()))?;
    if let Goal::Drain(server) = goal
        && planned.is_empty()
    {
        let text = format!("no stream has a replica on the server {server}: see hansard partitions list");
        return Err(UsageError(text).into());
    }
    if args.dry_run {
        moves.extend(planned.into_iter().map(|(_, one)| one));
        return Ok(true);
    }
    let mut progress = Progress::begin("replicas", Length::Unknown);
    let moves_max = planned.len().saturating_mul(MOVES_PER_PLANNED);
    let mut next = planned.into_iter().next();
    while let Some((stream, one)) = next {
        let done = u64::try_from(moves.len()).unwrap_or(u64::MAX);
        progress.advance(done, || format!("{} from {}", one.stream, one.from));
        if moves.len() >= moves_max {
            progress.finish(OTHER_SERVERS);
            return Ok(false);
        }
        let copy_max = Duration::from_secs(args.copy_seconds);
        let Some(to) = move_one(record, &stream, &one.from, copy_max).await? else {
            let stream = &one.stream;
            progress.finish(&format!("{stream} is not complete in time: see hansard partitions list"));
            return Ok(false);
        };
        moves.push(Move { to, ..one });
        next = match read_plan(record, &servers, goal).await? {
            Ok(planned) => planned.into_iter().next(),
            Err(error) => {
                progress.finish(&error.to_string());
                return Ok(false);
            }
        };
    }
    progress.finish("done");
    Ok(true)
}

type Planned = Vec<(StreamReplicas, Move)>;

/// The planned moves with their streams. Waits a moment for complete streams: followers lag under load, and elections take seconds.
async fn read_plan(
    record: &Record,
    servers: &BTreeSet<String>,
    goal: Goal<'_>,
) -> anyhow::Result<Result<Planned, ReplicaPlanError>> {
    let deadline = Instant::now() + COMPLETE_MAX;
    loop {
        let streams = record.stream_replicas().await?;
        match plan::replicas(&streams, servers, goal) {
            Err(ReplicaPlanError::Incomplete { .. }) if Instant::now() < deadline => {
                sleep(READ_INTERVAL).await;
            }
            planned => return Ok(planned.map(|planned| with_streams(planned, &streams))),
        }
    }
}

fn with_streams(planned: Vec<Move>, streams: &[StreamReplicas]) -> Planned {
    let stream_of = |one: &Move| streams.iter().find(|stream| stream.stream == one.stream);
    planned.into_iter().filter_map(|one| Some((stream_of(&one)?.clone(), one))).collect()
}

/// Moves a replica. A leader is moved first, by an election that prefers a complete replica. Returns the new server; `None`: too late.
async fn move_one(
    record: &Record,
    stream: &StreamReplicas,
    from: &str,
    copy_max: Duration,
) -> anyhow::Result<Option<String>> {
    if stream.leader.as_deref() == Some(from) {
        let mut others = stream.servers.iter();
        let is_other = |server: &&String| *server != from && !stream.behind.contains(server);
        if let Some(other) = others.find(is_other) {
            record.move_leader(&stream.stream, other, ELECTION_MAX).await?;
        }
    }
    let deadline = Instant::now() + copy_max;
    Ok(record.move_replica(stream, from, deadline).await?)
}

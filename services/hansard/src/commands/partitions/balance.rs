//! `hansard partitions balance`: spreads the replicas and the leaders of the record's streams over the NATS servers.

mod plan;
mod replicas;

use std::time::Duration;

use event_log::Record;
use serde_json::{Value, json};

use self::plan::{Goal, Move};
use crate::commands::stores::RecordAddress;
use crate::exit::Exit;
use crate::progress::{Length, Progress};
use crate::table;

/// Maximum time until a stream has its new leader.
const ELECTION_MAX: Duration = Duration::from_secs(10);

/// Spread the leaders of the partitions evenly over the NATS servers that have a replica of them, and with `--replicas` the replicas, too.
///
/// The leader of a partition stores its commits, so a server with many leaders works more than others. Run it after servers were
/// restarted or partitions were added. A partition does not accept commits during its election, mostly less than a second; writers
/// retry.
///
/// `--replicas` also moves replicas, of all streams of the record, from servers with many to servers with few. Servers that have no replica yet must be in the URL of
/// NATS. `--drain` moves all replicas away from one server, which may be lost. One replica moves at a time; its
/// stream has one replica less until the new server has copied the stream.
///
/// Exit code 0: balanced; 2: nothing was moved, for the printed reason; 6: not balanced, for the printed reason, or an election did not
/// end in time.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    record: RecordAddress,
    /// Also move replicas.
    #[arg(long)]
    replicas: bool,
    /// Move all replicas away from this server instead.
    #[arg(long, value_name = "SERVER", conflicts_with = "replicas")]
    drain: Option<String>,
    /// How long one replica may take to be copied.
    #[arg(long, value_name = "N", default_value_t = 3_600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    copy_seconds: u64,
    /// Print what would be moved, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON Lines.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// What happens to replicas; `None`: they stay.
    fn goal(&self) -> Option<Goal<'_>> {
        let drain = self.drain.as_deref().map(Goal::Drain);
        drain.or_else(|| self.replicas.then_some(Goal::Even))
    }
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-partitions").await?;
    let mut moves = Vec::new();
    let is_balanced = balance(&record, &args, &mut moves).await;
    // After a failure, what was moved before it.
    if is_balanced.is_ok() || !moves.is_empty() {
        let header = ["STREAM", "MOVED", "FROM", "TO"];
        table::print_list(&moves, args.json.then_some(json_of), header, row)?;
    }
    Ok(Exit::NeedsOperator.when(!is_balanced?))
}

async fn balance(record: &Record, args: &Args, moves: &mut Vec<Move>) -> anyhow::Result<bool> {
    if let Some(goal) = args.goal()
        && !replicas::run(record, goal, args, moves).await?
    {
        return Ok(false);
    }
    match args.drain {
        // Its leaders have moved with its replicas.
        Some(_) => Ok(true),
        None => move_leaders(record, args, moves).await,
    }
}

/// Moves the leaders of the partitions.
async fn move_leaders(record: &Record, args: &Args, moves: &mut Vec<Move>) -> anyhow::Result<bool> {
    let streams = record.stream_replicas().await?;
    let planned = plan::leaders(&streams);
    if args.dry_run {
        moves.extend(planned);
        return Ok(true);
    }
    let count = u64::try_from(planned.len()).unwrap_or(u64::MAX);
    let mut progress = Progress::begin("leaders", Length::Items(count));
    let mut is_balanced = true;
    for (done, one) in (0..).zip(planned) {
        progress.advance(done, || one.stream.clone());
        let elected = record.move_leader(&one.stream, &one.to, ELECTION_MAX).await?;
        is_balanced &= elected;
        if elected {
            moves.push(one);
        }
    }
    progress.finish("done");
    Ok(is_balanced)
}

fn json_of(one: &Move) -> Value {
    json!({"stream": one.stream, "moved": one.moved.name(), "from": one.from, "to": one.to})
}

fn row(one: &Move) -> [String; 4] {
    let moved = one.moved.name().to_owned();
    [one.stream.clone(), moved, one.from.clone(), one.to.clone()]
}

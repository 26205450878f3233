//! `hansard partitions balance`: spreads the leaders of the partitions over the NATS servers.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Partition;
use serde_json::{Value, json};

use super::list::{self, Listed};
use crate::commands::stores::RecordAddress;
use crate::exit::Exit;
use crate::progress::{Length, Progress};
use crate::table;

/// Maximum time until a partition has its new leader.
const ELECTION_MAX: Duration = Duration::from_secs(10);

/// Spread the leaders of the partitions evenly over the NATS servers that have a replica of them.
///
/// The leader of a partition stores its commits, so a server with many leaders works more than others. Run it after servers were
/// restarted or partitions were added. A partition does not accept commits during its election, mostly less than a second; writers
/// retry. Exit code 0: balanced; 6: an election did not end.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    record: RecordAddress,
    /// Print what would be moved, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON Lines.
    #[arg(long)]
    json: bool,
}

/// A leader to move.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Move {
    partition: Partition,
    from: String,
    to: String,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-partitions").await?;
    let moves = plan(&list::read(&record).await?);
    let mut is_balanced = true;
    if !args.dry_run {
        let count = u64::try_from(moves.len()).unwrap_or(u64::MAX);
        let mut progress = Progress::begin("balance", Length::Items(count));
        for (done, one) in (0..).zip(&moves) {
            progress.advance(done, || format!("partition {}", one.partition));
            let elected = record.move_leader(one.partition, &one.to, ELECTION_MAX);
            is_balanced &= elected.await?;
        }
        progress.finish("done");
    }
    let header = ["PARTITION", "FROM", "TO"];
    table::print_list(&moves, args.json.then_some(json_of), header, row)?;
    Ok(Exit::NeedsOperator.when(!is_balanced))
}

/// The fewest moves after which no server leads two partitions more than another one that has a replica of one of them.
fn plan(partitions: &[Listed]) -> Vec<Move> {
    let mut led = BTreeMap::<&str, u32>::new();
    let mut leaders = BTreeMap::new();
    for listed in partitions {
        for server in &listed.status.servers {
            led.entry(server).or_default();
        }
        if let Some(leader) = listed.status.leader.as_deref() {
            *led.entry(leader).or_default() += 1;
            leaders.insert(listed.partition, leader);
        }
    }
    let mut moves = Vec::new();
    while let Some((partition, from, to)) = next(partitions, &led, &leaders) {
        *led.entry(from).or_default() -= 1;
        *led.entry(to).or_default() += 1;
        leaders.insert(partition, to);
        moves.push(Move {
            partition,
            from: from.to_owned(),
            to: to.to_owned(),
        });
    }
    moves
}

/// The move that reduces the largest difference.
fn next<'a>(
    partitions: &'a [Listed],
    led: &BTreeMap<&'a str, u32>,
    leaders: &BTreeMap<Partition, &'a str>,
) -> Option<(Partition, &'a str, &'a str)> {
    let count = |server: &str| led.get(server).copied().unwrap_or_default();
    let possible = partitions.iter().flat_map(|listed| {
        let from = leaders.get(&listed.partition).copied();
        let others = listed.status.servers.iter().map(String::as_str);
        others.filter_map(move |to| Some((listed.partition, from?, to)))
    });
    let reduces = possible.filter(|(_, from, to)| count(from) > count(to) + 1);
    reduces.max_by_key(|(partition, from, to)| {
        (
            count(from) - count(to),
            std::cmp::Reverse((*partition, *to)),
        )
    })
}

fn json_of(one: &Move) -> Value {
    json!({"partition": one.partition.0, "from": one.from, "to": one.to})
}

fn row(one: &Move) -> [String; 3] {
    [one.partition.to_string(), one.from.clone(), one.to.clone()]
}

#[cfg(test)]
mod tests {
    use domain::Sequence;
    use event_log::{PartitionBounds, PartitionStatus};

    use super::*;

    fn listed(number: u16, leader: Option<&str>, servers: &[&str]) -> Listed {
        Listed {
            partition: Partition(number),
            generation: 0,
            status: PartitionStatus {
                bounds: PartitionBounds {
                    first: Sequence(1),
                    last: Sequence(0),
                },
                messages: 0,
                size_bytes: 0,
                replicas: servers.len(),
                accepts_batches: true,
                leader: leader.map(str::to_owned),
                servers: servers.iter().map(|server| (*server).to_owned()).collect(),
                behind: Vec::new(),
            },
        }
    }

    fn check(partitions: &[(Option<&str>, &[&str])], expected: &[(u16, &str, &str)]) {
        let numbered = (0..).zip(partitions);
        let partitions: Vec<_> = numbered
            .map(|(number, (leader, servers))| listed(number, *leader, servers))
            .collect();
        let moves = plan(&partitions);
        let moves: Vec<_> = moves
            .iter()
            .map(|one| (one.partition.0, one.from.as_str(), one.to.as_str()))
            .collect();
        assert_eq!(moves, expected);
    }

    #[test]
    fn leaders_are_spread_over_the_servers_of_their_partitions() {
        const ALL: &[&str] = &["a", "b", "c"];
        check(&[], &[]);
        check(&[(None, ALL)], &[]);
        check(&[(Some("a"), ALL), (Some("a"), ALL)], &[(0, "a", "b")]);
        check(&[(Some("a"), ALL), (Some("b"), ALL)], &[]);
        let all_on_one = [(Some("a"), ALL); 6];
        check(
            &all_on_one,
            &[(0, "a", "b"), (1, "a", "c"), (2, "a", "b"), (3, "a", "c")],
        );
        // A server without a replica cannot lead.
        let pairs: [(Option<&str>, &[&str]); 3] = [
            (Some("a"), &["a", "b"]),
            (Some("a"), &["a", "b"]),
            (Some("c"), &["c"]),
        ];
        check(&pairs, &[(0, "a", "b")]);
    }
}

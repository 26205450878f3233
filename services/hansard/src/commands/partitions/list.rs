//! `hansard partitions list`: lists the partitions of the record.

use domain::{Layout, Partition};
use event_log::{PartitionStatus, Record};
use serde_json::{Value, json};

use crate::commands::stores::RecordAddress;
use crate::exit::Exit;
use crate::progress::grouped;
use crate::table;

/// List the partitions, with the generation that added them, their leaders and their contents.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    record: RecordAddress,
    /// Print JSON Lines.
    #[arg(long)]
    json: bool,
}

/// A partition, its generation from 0, and its status.
pub(super) struct Listed {
    pub(super) partition: Partition,
    pub(super) generation: usize,
    pub(super) status: PartitionStatus,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let record = args.record.open("hansard-partitions").await?;
    let all = read(&record).await?;
    let header = ["PARTITION", "GENERATION", "LEADER", "SERVERS", "BEHIND", "MESSAGES", "MB", "LAST"];
    table::print_list(&all, args.json.then_some(json_of), header, row)?;
    Ok(Exit::Done)
}

/// Reads the status of every partition, from its leader.
pub(super) async fn read(record: &Record) -> anyhow::Result<Vec<Listed>> {
    let layout = record.layout();
    let mut all = Vec::new();
    for partition in (0..layout.partitions()).map(Partition) {
        all.push(Listed {
            partition,
            generation: generation_of(&layout, partition),
            status: record.partition_status(partition).await?,
        });
    }
    Ok(all)
}

fn generation_of(layout: &Layout, partition: Partition) -> usize {
    let generations = layout.generations();
    let earlier = generations.iter().filter(|count| **count <= partition.0);
    earlier.count()
}

fn json_of(listed: &Listed) -> Value {
    let status = &listed.status;
    let replicas = &status.replicas;
    json!({
        "partition": listed.partition.0,
        "generation": listed.generation,
        "leader": replicas.leader,
        "servers": replicas.servers,
        "replicas": replicas.configured,
        "behind": replicas.behind,
        "messages": status.messages,
        "sizeBytes": status.size_bytes,
        "firstSequence": status.bounds.first.0,
        "lastSequence": status.bounds.last.0,
    })
}

fn row(listed: &Listed) -> [String; 8] {
    let status = &listed.status;
    [
        listed.partition.to_string(),
        listed.generation.to_string(),
        status.replicas.leader.clone().unwrap_or_else(|| "-".to_owned()),
        match &status.replicas.servers[..] {
            [] => "-".to_owned(),
            servers => servers.join(" "),
        },
        match &status.replicas.behind[..] {
            [] => "-".to_owned(),
            behind => behind.join(" "),
        },
        grouped(status.messages),
        grouped(status.size_bytes / 1_000_000),
        grouped(status.bounds.last.0),
    ]
}

#[cfg(test)]
mod tests {
    use domain::Stage;

    use super::*;

    #[test]
    fn generations_add_partitions() {
        let layout = Layout::from_parts(&[8, 24, 30], Stage::Open).unwrap();
        for (partition, generation) in [(0, 0), (7, 0), (8, 1), (23, 1), (24, 2), (29, 2)] {
            assert_eq!(generation_of(&layout, Partition(partition)), generation);
        }
    }
}

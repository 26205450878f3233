//! The quick check of a partition: compares the positions of all conversations in the digest that the projector maintains, in
//! the rows, and in the record up to the same checkpoint.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use domain::{ConversationKey, Partition, Sequence, SetDigest, Version};
use event_log::StoredMessage;
use futures::TryStreamExt as _;
use read_model::projections::conversations::verification::{
    KeyRange, ParkedPosition, PartitionDigest, digests, rewrite_digest,
};
use serde_json::json;

use super::report::Report;
use super::sampled::{each_row, verify_conversation};
use super::{Repair, VerifyJob};

/// How often a partition that differs is compared: the projector may not have applied an erasure yet.
const ATTEMPTS_MAX: u32 = 5;
const RETRY_INTERVAL: Duration = Duration::from_millis(300);

/// The positions in the record, up to a checkpoint.
#[derive(Debug, Default)]
struct RecordedPositions {
    digest: SetDigest,
    /// The sequence of the last commit of each conversation.
    sequences: BTreeMap<ConversationKey, Sequence>,
}

/// Verifies every partition.
pub(super) async fn run(job: &VerifyJob, report: &mut Report) -> anyhow::Result<()> {
    let (partitions, parked) = digests(&job.model).await?;
    let steps = u64::try_from(partitions.len()).unwrap_or(u64::MAX);
    for segment in job.archive.segments(None).await? {
        let of_partition = |one: &&PartitionDigest| one.partition == segment.partition();
        let checkpoint = partitions.iter().find(of_partition);
        // The last commits before an older checkpoint may be archived, and the archive is not read here.
        anyhow::ensure!(
            checkpoint.is_none_or(|one| one.checkpoint.0 >= segment.sealed.last_sequence),
            "the rows of partition {} do not contain all archived commits yet: wait for the projector",
            segment.partition()
        );
    }
    report.start_phase("verify: digests", steps);
    for (step, digest) in (1..).zip(partitions) {
        let parked = of_partition(&parked, digest.partition);
        check(job, digest, parked, report).await?;
        report.advance(step, steps);
    }
    Ok(())
}

async fn check(
    job: &VerifyJob,
    mut digest: PartitionDigest,
    mut parked: Vec<ParkedPosition>,
    report: &mut Report,
) -> anyhow::Result<()> {
    for attempt in 1.. {
        let recorded = recorded(job, &digest, &parked).await?;
        if digest.rows == recorded.digest && digest.kept == recorded.digest {
            report.correct(digest.conversations, 0);
            break;
        }
        if attempt == ATTEMPTS_MAX {
            return print(job, &digest, &recorded, report).await;
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
        (digest, parked) = current(job, digest.partition).await?;
    }
    Ok(())
}

fn of_partition(parked: &[ParkedPosition], partition: Partition) -> Vec<ParkedPosition> {
    let own = parked.iter().filter(|place| place.partition == partition);
    own.cloned().collect()
}

async fn current(job: &VerifyJob, partition: Partition) -> anyhow::Result<(PartitionDigest, Vec<ParkedPosition>)> {
    let (all, parked) = digests(&job.model).await?;
    let digest = all
        .into_iter()
        .find(|digest| digest.partition == partition)
        .context("the checkpoint of the partition was removed")?;
    Ok((digest, of_partition(&parked, partition)))
}

/// Reads the positions of the partition's conversations at its checkpoint; of parked ones before their waiting commits.
async fn recorded(
    job: &VerifyJob,
    digest: &PartitionDigest,
    parked: &[ParkedPosition],
) -> anyhow::Result<RecordedPositions> {
    let before = |place: &ParkedPosition| Sequence(place.sequence.0.saturating_sub(1));
    let parked: BTreeMap<&ConversationKey, Sequence> = parked.iter().map(|place| (&place.key, before(place))).collect();
    // Read first: a conversation that is woken meanwhile is found in the record, too.
    let partition = digest.partition;
    let hibernated = job.archive.hibernated_conversations(partition).await?;
    let mut recorded = RecordedPositions::default();
    let mut later = Vec::new();
    let mut commits = job.record.last_commits(digest.partition);
    while let Some((key, message)) = commits.try_next().await? {
        if !job.archive.tenants().contains(&key.tenant) {
            continue;
        }
        // A conversation with new commits is returned several times; the duplicates are removed below.
        let is_late = parked.contains_key(&key) || message.position.sequence > digest.checkpoint;
        if is_late {
            later.push(key);
        } else {
            recorded.add(key, &message)?;
        }
    }
    later.sort_unstable();
    later.dedup();
    later.retain(|key| !recorded.sequences.contains_key(key));
    for key in later {
        let through = parked.get(&key).copied().unwrap_or(digest.checkpoint).min(digest.checkpoint);
        if let Some(message) = job.record.last_up_to(&key, through).await? {
            recorded.add(key, &message)?;
        }
    }
    let is_here = |key: &ConversationKey| job.archive.tenants().contains(&key.tenant);
    for (key, range) in hibernated.into_iter().filter(|(key, _)| is_here(key)) {
        recorded.insert(key, range.last_version, range.last);
    }
    Ok(recorded)
}

impl RecordedPositions {
    fn add(&mut self, key: ConversationKey, message: &StoredMessage) -> anyhow::Result<()> {
        let sequence = message.position.sequence;
        let version = message.open_head()?.version;
        self.insert(key, version, sequence);
        Ok(())
    }

    /// Adds a conversation, unless it has a later commit.
    fn insert(&mut self, key: ConversationKey, version: Version, sequence: Sequence) {
        if self.sequences.contains_key(&key) {
            return;
        }
        let digest = SetDigest::of(&key.tenant, &key.conversation, version, sequence);
        self.digest.toggle(digest);
        self.sequences.insert(key, sequence);
    }
}

/// Reports the differences: conversations whose rows differ from the record, or the maintained digest itself.
async fn print(
    job: &VerifyJob,
    digest: &PartitionDigest,
    recorded: &RecordedPositions,
    report: &mut Report,
) -> anyhow::Result<()> {
    if digest.rows != recorded.digest {
        for key in differing(job, digest.partition, recorded).await? {
            verify_conversation(job, &key, report).await?;
        }
    }
    let mut outcome = "not repaired";
    if let Repair::Yes(_) = job.repair {
        rewrite_digest(&job.model, digest.partition).await?;
        let (again, parked) = current(job, digest.partition).await?;
        if self::recorded(job, &again, &parked).await?.digest == again.kept {
            outcome = "repaired";
        }
    }
    let partition = digest.partition.0;
    let line = json!({
        "kind": "digest_differs", "partition": partition, "checkpoint": digest.checkpoint.0,
        "kept": digest.kept.to_string(), "rows": digest.rows.to_string(),
        "record": recorded.digest.to_string(), "repaired": outcome == "repaired",
    });
    let what = if digest.kept == recorded.digest {
        "the positions of the rows differ from the record"
    } else if digest.rows == recorded.digest {
        "the maintained digest differs from rows and record: a commit was skipped once"
    } else {
        "the rows and the maintained digest differ from the record"
    };
    let name = format!("partition {partition}");
    report.finding(&line, [&name, "digest_differs", what, outcome])?;
    if outcome == "repaired" {
        report.repaired();
    }
    Ok(())
}

/// The conversations of a partition whose positions in rows and record differ, or that exist in only one of them.
async fn differing(
    job: &VerifyJob,
    partition: Partition,
    recorded: &RecordedPositions,
) -> anyhow::Result<Vec<ConversationKey>> {
    let mut unseen = recorded.sequences.clone();
    let mut differing = Vec::new();
    each_row(job, KeyRange::new(None), |row| {
        let is_own = row.position.partition == partition;
        if is_own && unseen.remove(&row.key) != Some(row.position.sequence) {
            differing.push(row.key);
        }
    })
    .await?;
    differing.extend(unseen.into_keys());
    Ok(differing)
}

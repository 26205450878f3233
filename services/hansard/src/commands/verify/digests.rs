//! The quick check: where every conversation of a partition stands, by the digest that the projector keeps, by the rows,
//! and by the record up to the same checkpoint.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use domain::{ConversationKey, Partition, Sequence, SetDigest};
use event_log::StoredMessage;
use futures::TryStreamExt as _;
use read_model::projections::conversations::verification::{
    KeyRange, ParkedPlace, PartitionDigest, digests, rewrite_digest, row_places,
};
use serde_json::json;

use super::report::Report;
use super::sampled::one;
use super::{Ground, Repair};

/// How often a partition is looked at that does not look right: an erasure may be on its way from the record to the rows.
const LOOKS_MAX: u32 = 5;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(300);
/// Rows' places that are read at a time.
const PLACES_PER_PAGE: u32 = 5_000;

/// What the record comes to, up to a checkpoint.
#[derive(Debug, Default)]
struct Recorded {
    digest: SetDigest,
    /// Where each conversation's last commit stands.
    places: BTreeMap<ConversationKey, Sequence>,
}

/// Compares every partition.
pub(super) async fn run(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let (partitions, parked) = digests(&ground.model).await?;
    let steps = u64::try_from(partitions.len()).unwrap_or(u64::MAX);
    for segment in ground.archive.segments(None).await? {
        let of_partition = |one: &&PartitionDigest| one.partition == segment.partition();
        let checkpoint = partitions.iter().find(of_partition);
        // The last commits of that time may be elsewhere, where this does not look.
        anyhow::ensure!(
            checkpoint.is_none_or(|one| one.checkpoint.0 >= segment.sealed.last_sequence),
            "the rows of partition {} have not come to what is archived of it: wait for the projector",
            segment.partition()
        );
    }
    report.start("verify: digests", steps);
    for (step, digest) in (1..).zip(partitions) {
        let parked = of_partition(&parked, digest.partition);
        check(ground, digest, parked, report).await?;
        report.advance(step, steps);
    }
    Ok(())
}

async fn check(
    ground: &Ground,
    mut digest: PartitionDigest,
    mut parked: Vec<ParkedPlace>,
    report: &mut Report,
) -> anyhow::Result<()> {
    for look in 1.. {
        let recorded = recorded(ground, &digest, &parked).await?;
        if digest.rows == recorded.digest && digest.kept == recorded.digest {
            report.whole(digest.conversations, 0);
            break;
        }
        if look == LOOKS_MAX {
            return tell(ground, &digest, &recorded, report).await;
        }
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        (digest, parked) = present(ground, digest.partition).await?;
    }
    Ok(())
}

fn of_partition(parked: &[ParkedPlace], partition: Partition) -> Vec<ParkedPlace> {
    let own = parked.iter().filter(|place| place.partition == partition);
    own.cloned().collect()
}

async fn present(
    ground: &Ground,
    partition: Partition,
) -> anyhow::Result<(PartitionDigest, Vec<ParkedPlace>)> {
    let (all, parked) = digests(&ground.model).await?;
    let digest = all.into_iter().find(|digest| digest.partition == partition);
    let parked = of_partition(&parked, partition);
    Ok((digest.context("a checkpoint is gone")?, parked))
}

/// Reads where the partition's conversations stood at its checkpoint, and the parked ones before what waits.
async fn recorded(
    ground: &Ground,
    digest: &PartitionDigest,
    parked: &[ParkedPlace],
) -> anyhow::Result<Recorded> {
    let parked: BTreeMap<&ConversationKey, Sequence> = parked
        .iter()
        .map(|place| (&place.key, Sequence(place.sequence.0.saturating_sub(1))))
        .collect();
    let mut recorded = Recorded::default();
    let mut later = Vec::new();
    let mut standings = ground.record.standings(digest.partition).await?;
    while let Some((key, message)) = standings.try_next().await? {
        // One that moves comes again: the first time said enough.
        let is_late = parked.contains_key(&key) || message.position.sequence > digest.checkpoint;
        if is_late {
            later.push(key);
        } else {
            recorded.add(key, &message)?;
        }
    }
    later.sort_unstable();
    later.dedup();
    later.retain(|key| !recorded.places.contains_key(key));
    for key in later {
        let through = parked.get(&key).copied().unwrap_or(digest.checkpoint);
        let through = through.min(digest.checkpoint);
        if let Some(message) = ground.record.last_up_to(&key, through).await? {
            recorded.add(key, &message)?;
        }
    }
    Ok(recorded)
}

impl Recorded {
    fn add(&mut self, key: ConversationKey, message: &StoredMessage) -> anyhow::Result<()> {
        let sequence = message.position.sequence;
        let version = message.open_head()?.version;
        let standing = SetDigest::of(&key.tenant, &key.conversation, version, sequence);
        if self.places.insert(key, sequence).is_none() {
            self.digest.toggle(standing);
        }
        Ok(())
    }
}

/// Names what differs: conversations whose rows stand elsewhere than the record, or else the kept digest itself.
async fn tell(
    ground: &Ground,
    digest: &PartitionDigest,
    recorded: &Recorded,
    report: &mut Report,
) -> anyhow::Result<()> {
    if digest.rows != recorded.digest {
        for key in astray(ground, digest.partition, recorded).await? {
            one(ground, &key, report).await?;
        }
    }
    let mut outcome = "left as it is";
    if let Repair::Yes(_) = ground.repair {
        rewrite_digest(&ground.model, digest.partition).await?;
        let (again, parked) = present(ground, digest.partition).await?;
        if self::recorded(ground, &again, &parked).await?.digest == again.kept {
            outcome = "repaired";
        }
    }
    let partition = digest.partition.0;
    let line = json!({
        "kind": "digest_differs", "partition": partition, "checkpoint": digest.checkpoint.0,
        "kept": digest.kept.to_string(), "rows": digest.rows.to_string(),
        "record": recorded.digest.to_string(), "repaired": outcome == "repaired",
    });
    let what = match (
        digest.kept == recorded.digest,
        digest.rows == recorded.digest,
    ) {
        (true, _) => "the rows are not where the record is",
        (false, true) => {
            "the digest kept is neither the rows' nor the record's: a commit was passed over once"
        }
        (false, false) => "neither the rows nor the digest kept are where the record is",
    };
    let name = format!("partition {partition}");
    let row = [
        name,
        "digest_differs".to_owned(),
        what.to_owned(),
        outcome.to_owned(),
    ];
    report.finding(&line, row)?;
    if outcome == "repaired" {
        report.mended();
    }
    Ok(())
}

/// The conversations of a partition whose rows stand elsewhere than the record, or that only one of them knows.
async fn astray(
    ground: &Ground,
    partition: Partition,
    recorded: &Recorded,
) -> anyhow::Result<Vec<ConversationKey>> {
    let mut unseen = recorded.places.clone();
    let mut astray = Vec::new();
    let mut left = KeyRange::of(None);
    loop {
        let page = row_places(&ground.model, &left, PLACES_PER_PAGE).await?;
        let Some(last) = page.last() else {
            break;
        };
        left = left.after(&last.key);
        let own = |key: &ConversationKey| ground.record.partition_of(key) == partition;
        for place in page.into_iter().filter(|place| own(&place.key)) {
            if unseen.remove(&place.key) != Some(place.position.sequence) {
                astray.push(place.key);
            }
        }
    }
    astray.extend(unseen.into_keys());
    Ok(astray)
}

//! Some conversations, each looked at by itself.

use domain::{ConversationKey, Partition};
use futures::TryStreamExt as _;
use read_model::projections::conversations::verification::{KeyRange, row_places};

use super::Ground;
use super::mend::settle;
use super::report::Report;
use super::sample::Chosen;

/// Conversations whose keys are read at a time.
const KEYS_PER_PAGE: u32 = 5_000;

/// Verifies the conversations of a range that are chosen, of those that the record or the rows know.
pub(super) async fn run(
    ground: &Ground,
    range: &KeyRange,
    mut chosen: Chosen,
    report: &mut Report,
) -> anyhow::Result<()> {
    for partition in (0..ground.record.partitions()).map(Partition) {
        let mut standings = ground.record.standings(partition).await?;
        while let Some((key, _)) = standings.try_next().await? {
            if range.contains(&key) {
                chosen.see(key);
            }
        }
    }
    let mut left = range.clone();
    loop {
        let page = row_places(&ground.model, &left, KEYS_PER_PAGE).await?;
        let Some(last) = page.last() else {
            break;
        };
        left = left.after(&last.key);
        for place in page {
            chosen.see(place.key);
        }
    }
    let keys = chosen.into_keys();
    let steps = u64::try_from(keys.len()).unwrap_or(u64::MAX);
    report.start("verify", steps);
    for (step, key) in (1..).zip(keys) {
        one(ground, &key, report).await?;
        report.advance(step, steps);
    }
    Ok(())
}

/// Verifies one conversation.
pub(super) async fn one(
    ground: &Ground,
    key: &ConversationKey,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (found, mended) = settle(ground, key).await?;
    report.examined(key, &found, &mended)
}

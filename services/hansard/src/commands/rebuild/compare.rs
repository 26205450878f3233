//! Compares a schema with the live one, while both are written.
//!
//! A conversation that differs may only be newer in one of them, so it is compared several times. The switch compares the few
//! that still differ while no projector writes.

use std::time::{Duration, Instant};

use domain::ConversationKey;
use read_model::ReadModel;
use read_model::schemas::compare::{differing_among, page};
use runtime::shutdown::Shutdown;

use super::report::{Form, Step};
use crate::progress::{Length, Progress, grouped, per_second};

/// The maximum number of differing conversations, which are kept in memory; with more, the comparison ends.
const DIFFERING_MAX: usize = 10_000;
/// The maximum number of conversations that are compared while the projectors are paused.
const FROZEN_MAX: usize = 200;
/// How often differing conversations are compared again, and the interval.
const RETRIES: (u32, Duration) = (20, Duration::from_millis(250));

/// The result of a comparison.
#[derive(Debug)]
pub(super) enum Compared {
    /// The schemas are equal except these few conversations, which must be compared while the projectors are paused.
    Same(Vec<ConversationKey>),
    /// These conversations differ.
    Differ(Vec<ConversationKey>),
}

/// Compares every conversation.
pub(super) async fn compare(
    live: &ReadModel,
    other: &ReadModel,
    shutdown: &Shutdown,
    form: Form,
) -> anyhow::Result<Compared> {
    let started = Instant::now();
    let mut progress = Progress::begin("compare", Length::Unknown);
    let (mut count, mut differing, mut after) = (0, Vec::new(), None);
    loop {
        let page = page(live, other, after.as_ref()).await?;
        count += page.conversations;
        differing.extend(page.differing);
        progress.advance(count, || progress_text(count, started.elapsed()));
        after = page.next;
        let is_running = !shutdown.has_begun();
        anyhow::ensure!(is_running, "stopped: run the same command again to resume");
        if after.is_none() || differing.len() > DIFFERING_MAX {
            break;
        }
    }
    progress.finish(&progress_text(count, started.elapsed()));
    let differing = compare_again(live, other, differing).await?;
    form.print(&Step::Compared { conversations: count, took: started.elapsed() })?;
    Ok(if differing.len() > FROZEN_MAX { Compared::Differ(differing) } else { Compared::Same(differing) })
}

async fn compare_again(
    live: &ReadModel,
    other: &ReadModel,
    mut differing: Vec<ConversationKey>,
) -> anyhow::Result<Vec<ConversationKey>> {
    for _ in 0..RETRIES.0 {
        if differing.is_empty() {
            break;
        }
        differing = differing_among(live, other, &differing).await?;
        if differing.len() <= FROZEN_MAX {
            break;
        }
        tokio::time::sleep(RETRIES.1).await;
    }
    Ok(differing)
}

fn progress_text(count: u64, took: Duration) -> String {
    let rate = per_second(count, took.as_secs_f64());
    format!("{} conversations, {}/s", grouped(count), grouped(rate))
}

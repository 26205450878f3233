//! Comparing a schema with the live one, while both move on.
//!
//! A conversation that differs may only be ahead in one of them, so it is looked at again and again. The few that still differ
//! are left to the switch, which looks at them while both stand still.

use std::time::{Duration, Instant};

use domain::ConversationKey;
use read_model::ReadModel;
use read_model::schemas::compare::{differing_among, page};
use runtime::shutdown::Shutdown;

use super::report::{Form, Step};
use crate::progress::{Length, Progress, grouped, per_second};

/// Conversations that may differ before it is given up: they are kept in memory.
const DIFFERING_MAX: usize = 10_000;
/// Conversations that are looked at while nobody projects.
const FROZEN_MAX: usize = 200;
/// How often what differs is looked at again, and how long it is from one look to the next.
const LOOKS: (u32, Duration) = (20, Duration::from_millis(250));

/// What a comparison came to.
#[derive(Debug)]
pub(super) enum Compared {
    /// The same, but for these few, which must be looked at while nothing moves.
    Same(Vec<ConversationKey>),
    /// These differ, or are more than can be looked at.
    Differ(Vec<ConversationKey>),
}

/// Compares every conversation.
pub(super) async fn compare(
    live: &ReadModel,
    other: &ReadModel,
    shutdown: &Shutdown,
    form: Form,
) -> anyhow::Result<Compared> {
    let began = Instant::now();
    let mut progress = Progress::begin("compare", Length::Unknown);
    let (mut count, mut differing, mut after) = (0, Vec::new(), None);
    loop {
        let page = page(live, other, after.as_ref()).await?;
        count += page.conversations;
        differing.extend(page.differing);
        progress.advance(count, || words(count, began.elapsed()));
        after = page.next;
        anyhow::ensure!(!shutdown.has_begun(), "stopped: run it again to go on");
        if after.is_none() || differing.len() > DIFFERING_MAX {
            break;
        }
    }
    progress.finish(&words(count, began.elapsed()));
    let differing = look_again(live, other, differing).await?;
    form.tell(&Step::Compared {
        conversations: count,
        took: began.elapsed(),
    })?;
    Ok(if differing.len() > FROZEN_MAX {
        Compared::Differ(differing)
    } else {
        Compared::Same(differing)
    })
}

async fn look_again(
    live: &ReadModel,
    other: &ReadModel,
    mut differing: Vec<ConversationKey>,
) -> anyhow::Result<Vec<ConversationKey>> {
    for _ in 0..LOOKS.0 {
        if differing.is_empty() {
            break;
        }
        differing = differing_among(live, other, &differing).await?;
        if differing.len() <= FROZEN_MAX {
            break;
        }
        tokio::time::sleep(LOOKS.1).await;
    }
    Ok(differing)
}

fn words(count: u64, took: Duration) -> String {
    let rate = per_second(count, took.as_secs_f64());
    format!("{} conversations, {}/s", grouped(count), grouped(rate))
}

//! Contexts of forks, compared with conversations of as many own messages.

use std::sync::Arc;

use anyhow::Context as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::context::contexts;
use crate::Plan;
use crate::report::{Comparison, Threshold};
use crate::rounds::{alternate, p50_verdict};
use crate::setup::{self, Fill, Fork};
use crate::target::Target;

/// Times conversations without ancestors.
const P50: Threshold = Threshold::AtMost(4.0);
/// Messages of a context: more than the nearest ancestors have.
const MESSAGES: usize = 48;
const DEPTH: usize = 8;
/// Messages per conversation of a lineage.
const MESSAGES_EACH: usize = 6;
/// Number of forks, and of the conversations for comparison.
const CONVERSATIONS: usize = 100;
/// Lineages that are created concurrently.
const IN_FLIGHT: usize = 16;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let unforked = Fill {
        name: "plain",
        conversations: CONVERSATIONS,
        messages: MESSAGES_EACH * (DEPTH + 1),
        per_commit: setup::IMPORT,
        event_bytes: plan.event_bytes,
    };
    let unforked = setup::conversations(target, unforked).await?;
    let forks: Vec<String> = stream::iter(0..CONVERSATIONS)
        .map(|number| fork(plan, target, number))
        .buffered(IN_FLIGHT)
        .try_collect()
        .await?;
    let forks: Arc<[String]> = forks.into();
    target.caught_up().await?;
    let closed = plan.closed_loop(plan.readers());
    let read = |ids: &Arc<[String]>| contexts(target, closed, MESSAGES, Arc::clone(ids));
    let rounds = alternate(plan.rounds, || read(&unforked), || read(&forks)).await?;
    Ok(Comparison {
        title: format!("contexts of forks of depth {DEPTH}"),
        load: format!("contexts of {MESSAGES} messages, {} readers", plan.readers()),
        unit: "contexts",
        base: "no fork",
        system: "fork",
        verdicts: p50_verdict(&rounds, "p50 / no fork", P50),
        rounds,
        ..Comparison::default()
    })
}

/// Creates a conversation and a chain of forks, each at the end of the previous one; returns the last one's id.
async fn fork(plan: &Plan, target: &Target, number: usize) -> anyhow::Result<String> {
    let mut parent: Option<Fork> = None;
    for depth in 0..=DEPTH {
        let id = format!("bench-{}-fork-{number}-{depth}", target.run);
        let messages = setup::messages(MESSAGES_EACH, plan.event_bytes);
        parent = Some(setup::fork(target, id, parent, messages).await?);
    }
    parent.map(|last| last.id).context("no conversation")
}

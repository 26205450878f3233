//! Contexts of forks, against those of conversations that hold as many messages themselves.

use std::sync::Arc;

use anyhow::Context as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::context::{closed, contexts};
use crate::Plan;
use crate::report::{Comparison, Threshold, Verdict};
use crate::rounds::{alternate, median_ratio};
use crate::setup::{self, Fill, Fork};
use crate::target::Target;
use crate::watch::caught_up;

/// Times those of conversations without ancestors.
const P50: Threshold = Threshold::AtMost(4.0);
/// Messages of a context: more than the nearest conversations of the lineage hold.
const MESSAGES: usize = 48;
/// Ancestors of each fork.
const DEPTH: usize = 8;
/// Messages of each conversation of a lineage.
const MESSAGES_EACH: usize = 6;
/// Forks that are read by turns, and conversations that they are compared with.
const CONVERSATIONS: usize = 100;
/// Lineages that are made at once.
const IN_FLIGHT: usize = 16;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let unforked = Fill {
        name: "plain",
        conversations: CONVERSATIONS,
        messages: MESSAGES_EACH * (DEPTH + 1),
        event_bytes: plan.event_bytes,
    };
    let unforked = setup::conversations(target, unforked).await?;
    let forks: Vec<String> = stream::iter(0..CONVERSATIONS)
        .map(|number| fork(plan, target, number))
        .buffered(IN_FLIGHT)
        .try_collect()
        .await?;
    let forks: Arc<[String]> = forks.into();
    if let Some(floors) = &target.floors {
        caught_up(floors).await?;
    }
    let read = |ids: &Arc<[String]>| contexts(target, closed(plan), MESSAGES, Arc::clone(ids));
    let rounds = alternate(plan.rounds, || read(&unforked), || read(&forks)).await?;
    let p50 = median_ratio(&rounds, |measure| measure.latency.p50_ms);
    let verdicts = p50.map(|ratio| Verdict::of("p50, times the others'", ratio, P50));
    Ok(Comparison {
        title: format!("contexts of forks of depth {DEPTH}"),
        load: format!("contexts of {MESSAGES} messages, {} readers", plan.readers),
        unit: "contexts",
        base: "no fork",
        beside: None,
        system: "fork",
        rounds,
        verdicts: verdicts.into_iter().collect(),
        notes: Vec::new(),
    })
}

/// Makes a conversation and forks of forks of it, each at the end of the one before; the last one's id.
async fn fork(plan: &Plan, target: &Target, number: usize) -> anyhow::Result<String> {
    let mut parent: Option<Fork> = None;
    for depth in 0..=DEPTH {
        let id = format!("bench-{}-fork-{number}-{depth}", target.run);
        let messages = setup::messages(MESSAGES_EACH, plan.event_bytes);
        parent = Some(setup::fork(target, id, parent, messages).await?);
    }
    parent.map(|last| last.id).context("no conversation")
}

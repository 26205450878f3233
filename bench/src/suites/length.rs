//! What a conversation's length costs: contexts and appends with 10,000 messages against 10.

use std::sync::Arc;

use anyhow::Context as _;

use super::context::{closed, contexts};
use crate::latency::Measure;
use crate::pace::{Closed, closed_loop};
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::rounds::{alternate, median_ratio};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::caught_up;
use crate::{Plan, WARM_UP};

/// Times the short conversations'.
const P50: Threshold = Threshold::AtMost(1.2);
const SHORT_MESSAGES: usize = 10;
const LONG_MESSAGES: usize = 10_000;
/// Enough that appends leave them short.
const SHORT_CONVERSATIONS: usize = 2_000;
const LONG_CONVERSATIONS: usize = 8;
/// One append at a time: two to one conversation would wait for each other.
const APPENDS_IN_FLIGHT: usize = 1;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let event_bytes = plan.event_bytes;
    let short = Fill {
        name: "short",
        conversations: SHORT_CONVERSATIONS,
        messages: SHORT_MESSAGES,
        event_bytes,
    };
    let long = Fill {
        name: "long",
        conversations: LONG_CONVERSATIONS,
        messages: LONG_MESSAGES,
        event_bytes,
    };
    let short = setup::conversations(target, short).await?;
    let long = setup::conversations(target, long).await?;
    if let Some(floors) = &target.floors {
        caught_up(floors).await?;
    }
    let read = |conversations: &Arc<[String]>| {
        contexts(
            target,
            closed(plan),
            SHORT_MESSAGES,
            Arc::clone(conversations),
        )
    };
    let reads = alternate(plan.rounds, || read(&short), || read(&long)).await?;
    let append = |conversations: &Arc<[String]>| appends(plan, target, Arc::clone(conversations));
    let appends = alternate(plan.rounds, || append(&short), || append(&long)).await?;
    let load = format!(
        "contexts of {SHORT_MESSAGES} messages, {} readers",
        plan.readers
    );
    Ok(vec![
        comparison("contexts of long conversations", load, "contexts", reads),
        comparison(
            "appends to long conversations",
            "one at a time".to_owned(),
            "commits",
            appends,
        ),
    ])
}

fn comparison(title: &str, load: String, unit: &'static str, rounds: Vec<Round>) -> Comparison {
    let p50 = median_ratio(&rounds, |measure| measure.latency.p50_ms);
    let verdicts = p50.map(|ratio| Verdict::of("p50, times the short ones'", ratio, P50));
    Comparison {
        title: title.to_owned(),
        load,
        unit,
        base: "10 messages",
        beside: None,
        system: "10,000 messages",
        rounds,
        verdicts: verdicts.into_iter().collect(),
        notes: Vec::new(),
    }
}

async fn appends(
    plan: &Plan,
    target: &Target,
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    let closed = Closed {
        in_flight: APPENDS_IN_FLIGHT,
        warm_up: WARM_UP,
        duration: plan.duration,
    };
    let writer = target.writers.first().context("no writer")?.writer();
    let template = Arc::new(setup::append(
        target,
        "",
        setup::messages(1, plan.event_bytes),
    ));
    closed_loop(closed, move |turn| {
        let (mut writer, template) = (writer.clone(), Arc::clone(&template));
        let conversations = Arc::clone(&conversations);
        async move {
            let conversation = conversations
                .get(turn.count % conversations.len())
                .context("no conversation")?;
            writer
                .append_events(setup::again(&template, conversation))
                .await?;
            Ok(())
        }
    })
    .await
}

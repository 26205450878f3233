//! What a conversation's length costs a budgeted context: 10,000 messages against 300.

use std::sync::Arc;

use anyhow::Context as _;
use wire::proto::read::v1::ContextFormat;

use crate::Plan;
use crate::latency::Measure;
use crate::pace::closed_loop;
use crate::report::{Comparison, Threshold, Verdict};
use crate::rounds::{alternate, median_ratio};
use crate::setup::{self, Fill};
use crate::suites::ask::{self, Ask};
use crate::suites::context::closed;
use crate::target::Target;
use crate::watch::caught_up;

/// Times the short conversations'.
const P50: Threshold = Threshold::AtMost(1.2);
/// About 70 messages' worth.
const BUDGET: Ask = Ask {
    form: ContextFormat::OpenaiChat,
    policy: r#"{"budget":{"context_tokens_max":16000,"reserved_tokens":0}}"#,
    messages_max: 0,
};
const SHORT: Fill = Fill {
    name: "budget-short",
    conversations: 64,
    messages: 300,
    event_bytes: 500,
};
const LONG: Fill = Fill {
    name: "budget-long",
    conversations: 8,
    messages: 10_000,
    event_bytes: 500,
};
/// Contexts are made at so many of the newest versions by turns: how much of its budget one fills changes with each, and
/// within fewer than these it has had every measure.
const VERSIONS: usize = 128;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let short = setup::conversations(target, SHORT).await?;
    let long = setup::conversations(target, LONG).await?;
    if let Some(floors) = &target.floors {
        caught_up(floors).await?;
    }
    let read = |fill: Fill, conversations: &Arc<[String]>| {
        budgeted(plan, target, fill.messages, Arc::clone(conversations))
    };
    let rounds = alternate(plan.rounds, || read(SHORT, &short), || read(LONG, &long)).await?;
    let p50 = median_ratio(&rounds, |measure| measure.latency.p50_ms);
    let verdict = p50.map(|ratio| Verdict::of("p50, times the short ones'", ratio, P50));
    Ok(Comparison {
        title: "contexts of 16,000 tokens of long conversations".to_owned(),
        load: format!(
            "{} readers, at each of the newest {VERSIONS} versions by turns",
            plan.readers
        ),
        unit: "contexts",
        base: "300 messages",
        beside: None,
        system: "10,000 messages",
        rounds,
        verdicts: verdict.into_iter().collect(),
        notes: Vec::new(),
    })
}

async fn budgeted(
    plan: &Plan,
    target: &Target,
    messages: usize,
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    let closed = closed(plan);
    let template = Arc::new(BUDGET.of(target, "", 0));
    let reader = target.gateway.reader();
    closed_loop(closed, move |turn| {
        let (mut reader, mut request) = (reader.clone(), template.as_ref().clone());
        let conversations = Arc::clone(&conversations);
        async move {
            let place = turn.worker + turn.count * closed.in_flight;
            let conversation = conversations
                .get(place % conversations.len())
                .context("no conversation")?;
            if let Some(target) = &mut request.target {
                conversation.clone_into(&mut target.conversation_id);
            }
            // The first version is that of the creation.
            let newest = messages + 1;
            request.at_version = u64::try_from(newest - place % VERSIONS)?;
            let answered = ask::answer(&mut reader, request).await?;
            anyhow::ensure!(
                answered.receipt.left_out.is_some(),
                "a context of another size"
            );
            Ok(())
        }
    })
    .await
}

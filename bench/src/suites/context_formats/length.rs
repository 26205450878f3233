//! The cost of a conversation's length for a budgeted context: 10,000 messages, compared with 300.

use std::sync::Arc;

use formats::Format;

use crate::Plan;
use crate::latency::Measure;
use crate::pace::pick;
use crate::report::{Comparison, Threshold};
use crate::rounds::{alternate, p50_verdict};
use crate::setup::{self, Fill};
use crate::suites::context_query::{self, ContextQuery};
use crate::target::Target;

/// Times the short conversations.
const P50: Threshold = Threshold::AtMost(1.2);
/// About 70 messages.
const BUDGET: ContextQuery = ContextQuery {
    format: Format::OpenAiChat,
    policy: r#"{"budget":{"context_tokens_max":16000,"reserved_tokens":0}}"#,
    messages_max: 0,
};
const SHORT: Fill<'_> =
    Fill { name: "budget-short", conversations: 64, messages: 300, per_commit: setup::IMPORT, event_bytes: 500 };
const LONG: Fill<'_> =
    Fill { name: "budget-long", conversations: 8, messages: 10_000, per_commit: setup::IMPORT, event_bytes: 500 };
/// Contexts are assembled at each of this many latest versions: the used part of the budget changes with each version, and
/// these versions cover its range.
const VERSIONS: usize = 128;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let short = setup::conversations(target, SHORT).await?;
    let long = setup::conversations(target, LONG).await?;
    target.caught_up().await?;
    let read = |fill: Fill<'_>, conversations: &Arc<[String]>| {
        budgeted(plan, target, fill.messages, Arc::clone(conversations))
    };
    let rounds = alternate(plan.rounds, || read(SHORT, &short), || read(LONG, &long)).await?;
    Ok(Comparison {
        title: "contexts of 16,000 tokens of long conversations".to_owned(),
        load: format!("{} readers, at each of the latest {VERSIONS} versions", plan.readers()),
        unit: "contexts",
        base: "300 messages",
        system: "10,000 messages",
        verdicts: p50_verdict(&rounds, "p50 / short", P50),
        rounds,
        ..Comparison::default()
    })
}

async fn budgeted(
    plan: &Plan,
    target: &Target,
    messages: usize,
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    let closed = plan.closed_loop(plan.readers());
    let shared = (target.gateway.reader(), target.agent.clone(), conversations);
    closed
        .measure(shared, move |(mut reader, agent, ids), call| async move {
            let index = call.worker + call.count * closed.in_flight;
            // Version 1 is the creation.
            let version = u64::try_from(messages + 1 - index % VERSIONS)?;
            let request = BUDGET.request(&agent, pick(&ids, index)?, version);
            let assembled = context_query::assemble(&mut reader, request).await?;
            let left_out = assembled.receipt.left_out;
            anyhow::ensure!(left_out.is_some(), "a context of another size");
            Ok(())
        })
        .await
}

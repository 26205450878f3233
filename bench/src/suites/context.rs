//! Fresh contexts, compared with a plain select of the same rows.

use std::sync::Arc;

use anyhow::Context as _;
use wire::proto::read::v1::{AssembleContextRequest, ReadTarget};

use crate::Plan;
use crate::baseline::VersionRange;
use crate::latency::Measure;
use crate::pace::pick;
use crate::report::{Comparison, Threshold, Verdict};
use crate::rounds::{alone, alternate, median_ratio};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::caught_up;

/// Times the plain select.
const P50: Threshold = Threshold::AtMost(2.2);
/// Times the plain select.
const P99: Threshold = Threshold::AtMost(3.0);
const SELECT: &str = "the select takes its connection from the client's pool with default settings, which pings the \
connection each time: two round trips";
const MESSAGES: usize = 20;
const CONVERSATION_MESSAGES: usize = 60;
const CONVERSATIONS: usize = 500;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let fill = Fill {
        name: "context",
        conversations: CONVERSATIONS,
        messages: CONVERSATION_MESSAGES,
        event_bytes: plan.event_bytes,
    };
    let conversations = setup::conversations(target, fill).await?;
    let closed = plan.closed_loop(plan.readers);
    let system = || contexts(target, plan, MESSAGES, Arc::clone(&conversations));
    let rounds = match &target.baselines {
        None => alone(plan.rounds, system).await?,
        Some(baselines) => {
            caught_up(baselines).await?;
            let first = conversations.first().context("no conversation")?;
            let tenant = baselines.rows.tenant_of(first).await?;
            let ranges = ranges(&conversations)?;
            let base = || baselines.rows.select(closed, &tenant, Arc::clone(&ranges));
            alternate(plan.rounds, base, system).await?
        }
    };
    let p50 = median_ratio(&rounds, |measure| measure.latency.p50_ms);
    let p99 = median_ratio(&rounds, |measure| measure.latency.p99_ms);
    let verdicts = [
        p50.map(|ratio| Verdict::of("p50 / select", ratio, P50)),
        p99.map(|ratio| Verdict::of("p99 / select", ratio, P99)),
    ];
    Ok(Comparison {
        title: "fresh contexts of 20 messages".to_owned(),
        load: format!(
            "{} readers, {CONVERSATIONS} conversations of {CONVERSATION_MESSAGES} messages of {} \
             bytes",
            plan.readers, plan.event_bytes
        ),
        unit: "contexts",
        base: "plain select",
        system: "gateway",
        rounds,
        verdicts: verdicts.into_iter().flatten().collect(),
        notes: vec![SELECT.to_owned()],
        ..Comparison::default()
    })
}

/// The version range of each conversation's context: its last messages.
fn ranges(conversations: &[String]) -> anyhow::Result<Arc<[VersionRange]>> {
    // Version 1 is the creation.
    let to = i64::try_from(CONVERSATION_MESSAGES)? + 1;
    let from = to - i64::try_from(MESSAGES)? + 1;
    let range = |conversation: &String| VersionRange {
        conversation: conversation.clone(),
        from,
        to,
    };
    Ok(conversations.iter().map(range).collect())
}

/// Assembles contexts, conversation by conversation.
pub(super) async fn contexts(
    target: &Target,
    plan: &Plan,
    messages: usize,
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    let shared = (target.gateway.reader(), target.agent.clone(), conversations);
    let messages_max = u32::try_from(messages)?;
    let closed = plan.closed_loop(plan.readers);
    closed
        .measure(
            shared,
            move |(mut reader, agent_id, ids), call| async move {
                let index = call.worker + call.count * closed.in_flight;
                let request = AssembleContextRequest {
                    target: Some(ReadTarget {
                        agent_id,
                        conversation_id: pick(&ids, index)?.clone(),
                        ..ReadTarget::default()
                    }),
                    messages_max,
                    ..AssembleContextRequest::default()
                };
                let answer = reader.assemble_context(request).await?.into_inner();
                let count = answer.messages.len();
                anyhow::ensure!(count == messages, "a context of another size");
                Ok(())
            },
        )
        .await
}

//! Fresh contexts, compared with a plain select of the same rows.

use std::sync::Arc;

use anyhow::Context as _;
use wire::proto::read::v1::{AssembleContextRequest, ReadTarget};

use crate::Plan;
use crate::baseline::VersionRange;
use crate::cpu::CpuTotals;
use crate::latency::Measure;
use crate::pace::{ClosedLoop, pick};
use crate::report::{Comparison, Threshold, Verdict};
use crate::rounds::{alone, alternate, median_ratio};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::caught_up;

pub(super) const TITLE: &str = "fresh contexts of 20 messages";
/// Of the rate of the plain select, with several readers.
const RATE: Threshold = Threshold::AtLeast(0.5);
/// Times the plain select, with one reader.
const P50: Threshold = Threshold::AtMost(2.2);
/// Times the plain select.
const P99: Threshold = Threshold::AtMost(3.0);
const SELECT: &str = "the select takes its connection from the client's pool with default settings, which pings the \
connection each time: two round trips";
const MESSAGES: usize = 20;
const CONVERSATION_MESSAGES: usize = 60;
const CONVERSATIONS: usize = 500;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let fill = Fill {
        name: "context",
        conversations: CONVERSATIONS,
        messages: CONVERSATION_MESSAGES,
        per_commit: setup::TURN,
        event_bytes: plan.event_bytes,
    };
    let conversations = setup::conversations(target, fill).await?;
    let mut comparisons = Vec::new();
    for readers in &plan.readers {
        let closed = plan.closed_loop(*readers);
        comparisons.push(measure_of(plan, target, closed, &conversations).await?);
    }
    Ok(comparisons)
}

async fn measure_of(
    plan: &Plan,
    target: &Target,
    closed: ClosedLoop,
    conversations: &Arc<[String]>,
) -> anyhow::Result<Comparison> {
    let mut cpu = CpuTotals::default();
    let system = async || {
        let round = contexts(target, closed, MESSAGES, Arc::clone(conversations));
        cpu.measure(target.cpu.as_ref(), round).await
    };
    let rounds = match &target.baselines {
        None => alone(plan.rounds, system).await?,
        Some(baselines) => {
            caught_up(baselines).await?;
            let first = conversations.first().context("no conversation")?;
            let tenant = baselines.rows.tenant_of(first).await?;
            let ranges = ranges(conversations)?;
            let base = || baselines.rows.select(closed, &tenant, Arc::clone(&ranges));
            alternate(plan.rounds, base, system).await?
        }
    };
    let rate = median_ratio(&rounds, |measure| measure.per_second);
    let p50 = median_ratio(&rounds, |measure| measure.latency.p50_ms);
    let p99 = median_ratio(&rounds, |measure| measure.latency.p99_ms);
    let verdicts = match closed.in_flight {
        1 => p50.map(|ratio| Verdict::of("p50 / select", ratio, P50)),
        _ => rate.map(|ratio| Verdict::of("throughput / select", ratio, RATE)),
    };
    let p99 = p99.map(|ratio| Verdict::of("p99 / select", ratio, P99));
    Ok(Comparison {
        title: TITLE.to_owned(),
        load: format!(
            "{} readers, {CONVERSATIONS} conversations of {CONVERSATION_MESSAGES} messages of {} \
             bytes",
            closed.in_flight, plan.event_bytes
        ),
        unit: "contexts",
        base: "plain select",
        system: "gateway",
        rounds,
        verdicts: verdicts.into_iter().chain(p99).collect(),
        cpu: cpu.per_call(),
        notes: vec![SELECT.to_owned()],
        ..Comparison::default()
    })
}

/// The version range of each conversation's context: its last messages.
fn ranges(conversations: &[String]) -> anyhow::Result<Arc<[VersionRange]>> {
    // Version 1 is the creation.
    let to = i64::try_from(CONVERSATION_MESSAGES)? + 1;
    let from = to - i64::try_from(MESSAGES)? + 1;
    let range = |conversation: &String| VersionRange { conversation: conversation.clone(), from, to };
    Ok(conversations.iter().map(range).collect())
}

/// Assembles contexts, conversation by conversation.
pub(super) async fn contexts(
    target: &Target,
    closed: ClosedLoop,
    messages: usize,
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    let shared = (target.gateway.reader(), target.agent.clone(), conversations);
    let messages_max = u32::try_from(messages)?;
    closed
        .measure(shared, move |(mut reader, agent_id, ids), call| async move {
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
        })
        .await
}

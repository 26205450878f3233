//! Fresh contexts, against a bare select of the same rows.

use std::sync::Arc;

use anyhow::Context as _;
use wire::proto::read::v1::{AssembleContextRequest, ReadTarget};

use crate::floor::Span;
use crate::latency::Measure;
use crate::pace::{Closed, closed_loop};
use crate::report::{Comparison, Threshold, Verdict};
use crate::rounds::{alone, alternate, median_ratio};
use crate::setup::{self, Fill};
use crate::target::Target;
use crate::watch::caught_up;
use crate::{Plan, WARM_UP};

/// Times the bare select's.
const P50: Threshold = Threshold::AtMost(2.2);
/// Times the bare select's.
const P99: Threshold = Threshold::AtMost(3.0);
/// What the bare select is, so that nobody takes it for less.
const SELECT: &str = "the select has its connection from the client's pool as it is by default, which asks it for a sign of \
                      life each time: two round trips";
/// Messages of a context.
const MESSAGES: usize = 20;
/// Messages of a conversation.
const CONVERSATION_MESSAGES: usize = 60;
/// Conversations that are read by turns.
const CONVERSATIONS: usize = 500;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let fill = Fill {
        name: "context",
        conversations: CONVERSATIONS,
        messages: CONVERSATION_MESSAGES,
        event_bytes: plan.event_bytes,
    };
    let conversations = setup::conversations(target, fill).await?;
    let closed = closed(plan);
    let system = || contexts(target, closed, MESSAGES, Arc::clone(&conversations));
    let rounds = match &target.floors {
        None => alone(plan.rounds, system).await?,
        Some(floors) => {
            caught_up(floors).await?;
            let first = conversations.first().context("no conversation")?;
            let tenant = floors.rows.tenant_of(first).await?;
            let spans = spans(&conversations)?;
            let base = || floors.rows.select(closed, &tenant, Arc::clone(&spans));
            alternate(plan.rounds, base, system).await?
        }
    };
    let p50 = median_ratio(&rounds, |measure| measure.latency.p50_ms);
    let p99 = median_ratio(&rounds, |measure| measure.latency.p99_ms);
    let verdicts = [
        p50.map(|ratio| Verdict::of("p50, times the select's", ratio, P50)),
        p99.map(|ratio| Verdict::of("p99, times the select's", ratio, P99)),
    ];
    Ok(Comparison {
        title: "fresh contexts of 20 messages".to_owned(),
        load: format!(
            "{} readers, {CONVERSATIONS} conversations of {CONVERSATION_MESSAGES} messages of {} \
             bytes",
            plan.readers, plan.event_bytes
        ),
        unit: "contexts",
        base: "bare select",
        beside: None,
        system: "gateway",
        rounds,
        verdicts: verdicts.into_iter().flatten().collect(),
        notes: vec![SELECT.to_owned()],
    })
}

pub(super) fn closed(plan: &Plan) -> Closed {
    Closed {
        in_flight: plan.readers,
        warm_up: WARM_UP,
        duration: plan.duration,
    }
}

/// The rows of each conversation's context: its last messages.
fn spans(conversations: &[String]) -> anyhow::Result<Arc<[Span]>> {
    // The first version is that of the creation.
    let to = i64::try_from(CONVERSATION_MESSAGES)? + 1;
    let from = to - i64::try_from(MESSAGES)? + 1;
    let span = |conversation: &String| Span {
        conversation: conversation.clone(),
        from,
        to,
    };
    Ok(conversations.iter().map(span).collect())
}

/// Assembles contexts, one conversation after the other by turns.
pub(super) async fn contexts(
    target: &Target,
    closed: Closed,
    messages: usize,
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    let (reader, agent) = (target.gateway.reader(), target.agent.clone());
    let messages_max = u32::try_from(messages)?;
    closed_loop(closed, move |turn| {
        let (mut reader, agent) = (reader.clone(), agent.clone());
        let conversations = Arc::clone(&conversations);
        async move {
            let place = turn.worker + turn.count * closed.in_flight;
            let conversation = conversations
                .get(place % conversations.len())
                .context("no conversation")?;
            let request = AssembleContextRequest {
                target: Some(ReadTarget {
                    agent_id: agent,
                    conversation_id: conversation.clone(),
                    ..ReadTarget::default()
                }),
                messages_max,
                ..AssembleContextRequest::default()
            };
            let answer = reader.assemble_context(request).await?.into_inner();
            anyhow::ensure!(
                answer.messages.len() == messages,
                "a context of another size"
            );
            Ok(())
        }
    })
    .await
}

//! Contexts of 200 messages in each format: over gRPC, compared with the stored messages, and the pure work on one core.
//! Also budgeted contexts of long conversations, compared with short ones.

mod length;
mod pure;

use std::sync::Arc;

use domain::Fact;

use super::context::contexts;
use super::context_query::{self, ContextQuery, FORMATS};
use super::histories;
use super::trace::{self, Shape};
use crate::Plan;
use crate::latency::Measure;
use crate::pace::pick;
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::rounds::{median, p50_verdict};
use crate::target::Target;

/// Times the stored messages.
const P50: Threshold = Threshold::AtMost(1.5);
/// Milliseconds on one core.
const PURE_P50_MS: Threshold = Threshold::AtMost(1.0);
/// Messages of a context and of its conversation.
const MESSAGES: usize = 200;
const CONVERSATIONS: usize = 50;
/// Five messages per question: question, two calls, two results, answer; about 500 bytes each.
const SHAPE: Shape = Shape {
    questions: MESSAGES / 5,
    calls: 2..=2,
    message_bytes: 500..=500,
    input_bytes: 230..=230,
    result_bytes: 480..=480,
};

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let mut comparisons = pure(plan, trace::facts(&SHAPE)?)?;
    comparisons.append(&mut served(plan, target).await?);
    comparisons.push(length::measure(plan, target).await?);
    Ok(comparisons)
}

fn pure(plan: &Plan, facts: Vec<Fact>) -> anyhow::Result<Vec<Comparison>> {
    let events = pure::recorded(facts);
    let policy = context::Policy::default();
    let mut comparisons = Vec::with_capacity(FORMATS.len());
    for (name, format) in FORMATS {
        let rounds: Vec<Round> =
            (0..plan.rounds).map(|_| pure::measure(&events, &policy, format)).collect::<Result<_, _>>()?;
        let p50 = median(rounds.iter().map(|round| round.system.latency.p50_ms).collect());
        let verdict = p50.map(|p50| Verdict::of("p50, ms", p50, PURE_P50_MS));
        comparisons.push(Comparison {
            title: format!("{MESSAGES} messages budgeted and rendered: {name}"),
            load: format!("{} events, one core, no server", events.len()),
            unit: "contexts",
            base: "without rendering",
            system: "rendered",
            rounds,
            verdicts: verdict.into_iter().collect(),
            ..Comparison::default()
        });
    }
    Ok(comparisons)
}

/// Over gRPC; all formats alternate with the stored messages.
async fn served(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let generated = histories::generated(target, "formats", CONVERSATIONS, &SHAPE).await?;
    let conversations: Arc<[String]> = generated.into_iter().map(|one| one.conversation).collect();
    target.caught_up().await?;
    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); FORMATS.len()];
    for _ in 0..plan.rounds {
        let stored = contexts(target, plan.closed_loop(plan.readers()), MESSAGES, Arc::clone(&conversations)).await?;
        for ((_, format), rounds) in FORMATS.into_iter().zip(&mut rounds) {
            let query = ContextQuery { format, policy: "{}", messages_max: 0 };
            let system = in_format(plan, target, query, Arc::clone(&conversations)).await?;
            rounds.push(Round::of(Some(stored), system));
        }
    }
    let named = FORMATS.into_iter().zip(rounds);
    let comparisons = named.map(|((name, _), rounds)| comparison(plan, name, rounds));
    Ok(comparisons.collect())
}

fn comparison(plan: &Plan, name: &str, rounds: Vec<Round>) -> Comparison {
    Comparison {
        title: format!("contexts of {MESSAGES} messages: {name}"),
        load: format!("{} readers, {CONVERSATIONS} conversations", plan.readers()),
        unit: "contexts",
        base: "stored messages",
        system: "in the format",
        verdicts: p50_verdict(&rounds, "p50 / stored messages", P50),
        rounds,
        ..Comparison::default()
    }
}

async fn in_format(
    plan: &Plan,
    target: &Target,
    query: ContextQuery,
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    let closed = plan.closed_loop(plan.readers());
    let shared = (target.gateway.reader(), target.agent.clone(), conversations);
    closed
        .measure(shared, move |(mut reader, agent, ids), call| async move {
            let index = call.worker + call.count * closed.in_flight;
            let request = query.request(&agent, pick(&ids, index)?, 0);
            let assembled = context_query::assemble(&mut reader, request).await?;
            let left_out = assembled.receipt.left_out;
            anyhow::ensure!(left_out.is_none(), "a context of another size");
            Ok(())
        })
        .await
}

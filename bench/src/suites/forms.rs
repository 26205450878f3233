//! Contexts of 200 messages in each form: over gRPC against the messages as they are kept, and what of it is pure work on
//! one core; and a budgeted context of a long conversation against one of a short conversation.

mod length;
mod pure;

use std::sync::Arc;

use anyhow::Context as _;
use domain::Fact;
use formats::Format;

use super::ask::{self, Ask, FORMS};
use super::context::{closed, contexts};
use super::histories;
use super::trace::{self, Shape};
use crate::Plan;
use crate::latency::Measure;
use crate::pace::closed_loop;
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::rounds::{median, median_ratio};
use crate::target::Target;
use crate::watch::caught_up;

/// Times the messages' as they are kept.
const P50: Threshold = Threshold::AtMost(1.5);
/// Milliseconds of one core.
const PURE_P50_MS: Threshold = Threshold::AtMost(1.0);
/// Messages of a context: all of its conversation.
const MESSAGES: usize = 200;
/// Conversations that are read by turns.
const CONVERSATIONS: usize = 50;
/// Five messages a question: it, the turn that calls, two results and the answer, about 500 bytes each.
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

/// Pure work, form by form.
fn pure(plan: &Plan, facts: Vec<Fact>) -> anyhow::Result<Vec<Comparison>> {
    let events = pure::recorded(facts);
    let policy = context::Policy::default();
    let forms = [
        Format::Canonical,
        Format::OpenAiChat,
        Format::OpenAiResponses,
        Format::Anthropic,
        Format::Gemini,
        Format::Ollama,
    ];
    let mut comparisons = Vec::with_capacity(forms.len());
    for ((name, _), form) in FORMS.into_iter().zip(forms) {
        let rounds = (0..plan.rounds).map(|_| pure::turn(&events, &policy, form));
        let rounds: Vec<Round> = rounds.collect::<Result<_, _>>()?;
        let p50 = rounds.iter().map(|round| round.system.latency.p50_ms);
        let p50 = median(p50.collect());
        let verdict = p50.map(|p50| Verdict::of("p50, ms", p50, PURE_P50_MS));
        comparisons.push(Comparison {
            title: format!("{MESSAGES} messages budgeted and rendered: {name}"),
            load: format!("{} events, one core, no server", events.len()),
            unit: "contexts",
            base: "without rendering",
            beside: None,
            system: "rendered",
            rounds,
            verdicts: verdict.into_iter().collect(),
            notes: Vec::new(),
        });
    }
    Ok(comparisons)
}

/// Over gRPC; all forms take turns with the messages as they are kept.
async fn served(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let made = histories::made(target, "forms", CONVERSATIONS, &SHAPE).await?;
    let conversations: Arc<[String]> = made.into_iter().map(|made| made.conversation).collect();
    if let Some(floors) = &target.floors {
        caught_up(floors).await?;
    }
    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); FORMS.len()];
    for _ in 0..plan.rounds {
        let kept = contexts(target, closed(plan), MESSAGES, Arc::clone(&conversations)).await?;
        for ((_, form), rounds) in FORMS.into_iter().zip(&mut rounds) {
            let ask = Ask {
                form,
                policy: "{}",
                messages_max: 0,
            };
            rounds.push(Round {
                base: Some(kept),
                beside: None,
                system: in_form(plan, target, ask, Arc::clone(&conversations)).await?,
            });
        }
    }
    let named = FORMS.into_iter().zip(rounds);
    Ok(named
        .map(|((name, _), rounds)| comparison(plan, name, rounds))
        .collect())
}

fn comparison(plan: &Plan, name: &str, rounds: Vec<Round>) -> Comparison {
    let p50 = median_ratio(&rounds, |measure| measure.latency.p50_ms);
    let verdict = p50.map(|ratio| Verdict::of("p50, times the messages' as kept", ratio, P50));
    Comparison {
        title: format!("contexts of {MESSAGES} messages: {name}"),
        load: format!("{} readers, {CONVERSATIONS} conversations", plan.readers),
        unit: "contexts",
        base: "as kept",
        beside: None,
        system: "in the form",
        rounds,
        verdicts: verdict.into_iter().collect(),
        notes: Vec::new(),
    }
}

async fn in_form(
    plan: &Plan,
    target: &Target,
    ask: Ask,
    conversations: Arc<[String]>,
) -> anyhow::Result<Measure> {
    let closed = closed(plan);
    let template = Arc::new(ask.of(target, "", 0));
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
            let answered = ask::answer(&mut reader, request).await?;
            anyhow::ensure!(
                answered.receipt.left_out.is_none(),
                "a context of another size"
            );
            Ok(())
        }
    })
    .await
}

//! What a prefix cache would serve of successive contexts: budgeted ones against the last 20 messages.
//!
//! A context is made at every version at which a model is called, and compared with the one before, byte for byte.

mod share;

use std::time::{Duration, Instant};

use domain::Fact;
use domain::event::Role;
use hansard::progress::grouped;

use self::share::{Share, Successive};
use super::ask::{self, Ask, FORMS};
use super::histories::{self, History};
use super::trace::Shape;
use crate::latency::{Latencies, Measure};
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::target::Target;
use crate::watch::caught_up;

/// Of the tokens of budgeted contexts.
const SERVED: Threshold = Threshold::AtLeast(0.95);
/// Of the tokens of the last 20 messages: where they are no better, a budget has something to win.
const WINDOW_SERVED: Threshold = Threshold::AtMost(0.3);
/// Messages of the base.
const WINDOW_MESSAGES: u32 = 20;
/// The forms whose providers cache prefixes by bytes or blocks.
const CACHED_FORMS: [&str; 2] = ["OpenAI chat", "Anthropic"];
/// Conversations of real people, the longest of their data set.
const REAL_CONVERSATIONS: usize = 60;
/// 400 turns of an assistant that calls tools.
const TRACE: Shape = Shape {
    questions: 200,
    calls: 1..=3,
    message_bytes: 40..=400,
    input_bytes: 20..=120,
    result_bytes: 50..=3_000,
};

/// A policy whose contexts are compared.
struct Case {
    name: &'static str,
    policy: &'static str,
    served: Option<Threshold>,
}

/// A budget of few turns has no threshold: what is new alone is near a twentieth of each context.
const TRACE_CASES: [Case; 5] = [
    Case {
        name: "the default policy",
        policy: "{}",
        served: Some(SERVED),
    },
    Case {
        name: "32,000 tokens",
        policy: r#"{"budget":{"context_tokens_max":32000,"reserved_tokens":0}}"#,
        served: Some(SERVED),
    },
    Case {
        name: "64,000 tokens, old results cleared",
        policy: r#"{"budget":{"context_tokens_max":64000,"reserved_tokens":0},"clear":{}}"#,
        served: Some(SERVED),
    },
    Case {
        name: "16,000 tokens",
        policy: r#"{"budget":{"context_tokens_max":16000,"reserved_tokens":0}}"#,
        served: None,
    },
    Case {
        name: "16,000 tokens, old results cleared",
        policy: r#"{"budget":{"context_tokens_max":16000,"reserved_tokens":0},"clear":{}}"#,
        served: None,
    },
];
/// Their longest conversations fit into the default budget whole.
const REAL_CASES: [Case; 3] = [
    Case {
        name: "the default policy",
        policy: "{}",
        served: Some(SERVED),
    },
    Case {
        name: "8,192 tokens",
        policy: r#"{"budget":{"context_tokens_max":8192,"reserved_tokens":0}}"#,
        served: None,
    },
    Case {
        name: "1,024 tokens",
        policy: r#"{"budget":{"context_tokens_max":1024,"reserved_tokens":0}}"#,
        served: None,
    },
];

pub(super) async fn measure(target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let trace = histories::made(target, "trace", 1, &TRACE).await?;
    let real = histories::real(target, REAL_CONVERSATIONS).await?;
    if let Some(floors) = &target.floors {
        caught_up(floors).await?;
    }
    let mut comparisons = Vec::new();
    for (form, _) in FORMS.iter().filter(|(name, _)| CACHED_FORMS.contains(name)) {
        let trace = compare(target, &trace, (form, "a trace with tools"), &TRACE_CASES);
        comparisons.append(&mut trace.await?);
        let real = compare(target, &real, (form, "people's talk"), &REAL_CASES);
        comparisons.append(&mut real.await?);
    }
    Ok(comparisons)
}

/// Each case against the last messages, in one form.
async fn compare(
    target: &Target,
    histories: &[History],
    (form, name): (&str, &str),
    cases: &[Case],
) -> anyhow::Result<Vec<Comparison>> {
    let of_name = FORMS.iter().find(|(known, _)| *known == form);
    let ask = Ask {
        form: of_name.map(|(_, form)| *form).unwrap_or_default(),
        policy: "{}",
        messages_max: WINDOW_MESSAGES,
    };
    let window = pass(target, histories, ask).await?;
    let mut comparisons = Vec::with_capacity(cases.len());
    for case in cases {
        let ask = Ask {
            policy: case.policy,
            messages_max: 0,
            ..ask
        };
        let budgeted = pass(target, histories, ask).await?;
        comparisons.push(Comparison {
            title: format!("prefixes of {name}, {form}, {}", case.name),
            load: format!(
                "{} conversations, {} contexts, one at a time",
                histories.len(),
                grouped(budgeted.measure.latency.count)
            ),
            unit: "contexts",
            base: "last 20 messages",
            beside: None,
            system: "budgeted context",
            rounds: vec![Round {
                base: Some(window.measure),
                beside: None,
                system: budgeted.measure,
            }],
            verdicts: verdicts(case, &window, &budgeted),
            notes: vec![
                note("last 20 messages", window.share),
                note("budgeted context", budgeted.share),
            ],
        });
    }
    Ok(comparisons)
}

fn verdicts(case: &Case, window: &Pass, budgeted: &Pass) -> Vec<Verdict> {
    let judged = |served| {
        [
            Verdict::of("share that a cache serves", budgeted.share.served(), served),
            Verdict::of(
                "share of the last 20 messages",
                window.share.served(),
                WINDOW_SERVED,
            ),
        ]
    };
    case.served.map(judged).into_iter().flatten().collect()
}

fn note(name: &str, share: Share) -> String {
    format!(
        "{name}: a cache serves {:.3} of {:.0} tokens a context, {:.3} are sent where an epoch begins; {} epochs of {:.1} \
         contexts",
        share.served(),
        share.tokens_per_context(),
        share.sent_at_breaks(),
        share.epochs(),
        share.contexts_per_epoch()
    )
}

/// Contexts at every call of a model, and how long they took.
struct Pass {
    measure: Measure,
    share: Share,
}

async fn pass(target: &Target, histories: &[History], ask: Ask) -> anyhow::Result<Pass> {
    let mut reader = target.gateway.reader();
    let (mut latencies, mut total) = (Latencies::new()?, Duration::ZERO);
    let mut share = Share::default();
    for history in histories {
        let mut successive = Successive::default();
        for version in calls(&history.facts) {
            let request = ask.of(target, &history.conversation, version);
            let begun = Instant::now();
            let answered = ask::answer(&mut reader, request).await?;
            let took = begun.elapsed();
            latencies.add(took);
            total += took;
            let epoch = answered.receipt.epoch.unwrap_or_default();
            successive.add(std::str::from_utf8(&answered.body)?, epoch);
        }
        share.join(successive.share());
    }
    Ok(Pass {
        measure: latencies.measure(total),
        share,
    })
}

/// The versions at which a model is called: the assistant is next, and something new was said or has come back.
fn calls(facts: &[Fact]) -> Vec<u64> {
    let next = facts.iter().skip(1).map(Some).chain([None]);
    // The first version is that of the creation.
    let calls = (2..).zip(facts.iter().zip(next));
    let calls = calls.filter(|(_, (fact, next))| !answers(fact) && next.is_none_or(answers));
    calls.map(|(version, _)| version).collect()
}

/// Whether it is the assistant's.
fn answers(fact: &Fact) -> bool {
    match fact {
        Fact::MessageAppended(message) => message.role == Role::Assistant,
        Fact::ToolCalled(_) => true,
        Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::trace;

    #[test]
    fn a_model_is_called_for_each_turn_of_the_trace() {
        let facts = trace::facts(&TRACE).unwrap();
        let calls = calls(&facts);
        assert_eq!(calls.len(), 2 * TRACE.questions);
        // After the first question, and after the last result of the first calls.
        let results = facts
            .iter()
            .position(|fact| matches!(fact, Fact::ToolReturned(_)));
        let first_calls = results.unwrap() - 1;
        let after_results = u64::try_from(2 + 2 * first_calls).unwrap();
        assert_eq!(calls[..2], [2, after_results]);
        assert!(self::calls(&[]).is_empty());
    }

    #[test]
    fn the_policies_are_policies() {
        for case in TRACE_CASES.iter().chain(&REAL_CASES) {
            context::Policy::parse(case.policy).unwrap();
        }
    }
}

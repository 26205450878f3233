//! Hit rates of a prefix cache for successive contexts: budgeted contexts, compared with the last 20 messages.
//!
//! A context is assembled at every version at which a model is called, and compared byte by byte with the previous one.

mod share;

use std::time::Instant;

use domain::Fact;
use domain::event::Role;
use hansard::progress::grouped;

use self::share::{PrefixTracker, Share};
use super::context_query::{self, ContextQuery, FORMATS};
use super::histories::{self, History};
use super::trace::Shape;
use crate::latency::{Latencies, Measure};
use crate::report::{Comparison, Round, Threshold, Verdict};
use crate::target::Target;

/// Cached share of the tokens of budgeted contexts.
const SERVED: Option<Threshold> = Some(Threshold::AtLeast(0.95));
/// Cached share of the tokens of the last 20 messages: only if it is low, a budget can improve it.
const WINDOW_SERVED: Threshold = Threshold::AtMost(0.3);
/// Messages of the base.
const WINDOW_MESSAGES: u32 = 20;
/// The formats whose providers cache prefixes.
const CACHED_FORMATS: [&str; 2] = ["OpenAI chat", "Anthropic"];
/// The longest conversations of a data set of real people.
const REAL_CONVERSATIONS: usize = 60;
/// 400 turns of an assistant with tools.
const TRACE: Shape =
    Shape { questions: 200, calls: 1..=3, message_bytes: 40..=400, input_bytes: 20..=120, result_bytes: 50..=3_000 };

/// A policy and the threshold of its hit rate.
struct Case {
    name: &'static str,
    policy: &'static str,
    served: Option<Threshold>,
}

const fn case(name: &'static str, policy: &'static str, served: Option<Threshold>) -> Case {
    Case { name, policy, served }
}

const TOKENS_1K: &str = r#"{"budget":{"context_tokens_max":1024,"reserved_tokens":0}}"#;
const TOKENS_8K: &str = r#"{"budget":{"context_tokens_max":8192,"reserved_tokens":0}}"#;
const TOKENS_16K: &str = r#"{"budget":{"context_tokens_max":16000,"reserved_tokens":0}}"#;
const TOKENS_32K: &str = r#"{"budget":{"context_tokens_max":32000,"reserved_tokens":0}}"#;
const CLEARED_16K: &str = r#"{"budget":{"context_tokens_max":16000,"reserved_tokens":0},"clear":{}}"#;
const CLEARED_64K: &str = r#"{"budget":{"context_tokens_max":64000,"reserved_tokens":0},"clear":{}}"#;

/// Budgets of few turns have no threshold: the new part alone is almost 5% of each context.
const TRACE_CASES: [Case; 5] = [
    case("the default policy", "{}", SERVED),
    case("32,000 tokens", TOKENS_32K, SERVED),
    case("64,000 tokens, old results cleared", CLEARED_64K, SERVED),
    case("16,000 tokens", TOKENS_16K, None),
    case("16,000 tokens, old results cleared", CLEARED_16K, None),
];
/// The longest conversations fit completely into the default budget.
const REAL_CASES: [Case; 3] = [
    case("the default policy", "{}", SERVED),
    case("8,192 tokens", TOKENS_8K, None),
    case("1,024 tokens", TOKENS_1K, None),
];

pub(super) async fn measure(target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let trace = histories::generated(target, "trace", 1, &TRACE).await?;
    let real = histories::dataset(target, REAL_CONVERSATIONS).await?;
    target.caught_up().await?;
    let mut comparisons = Vec::new();
    let is_cached = |(name, _): &(&str, _)| CACHED_FORMATS.contains(name);
    for (name, format) in FORMATS.into_iter().filter(is_cached) {
        let window = ContextQuery { format, policy: "{}", messages_max: WINDOW_MESSAGES };
        let title = format!("prefixes of a trace with tools, {name}");
        comparisons.append(&mut compare(target, &title, &trace, window, &TRACE_CASES).await?);
        let title = format!("prefixes of real conversations, {name}");
        comparisons.append(&mut compare(target, &title, &real, window, &REAL_CASES).await?);
    }
    Ok(comparisons)
}

/// Compares each case with the last messages in the same format.
async fn compare(
    target: &Target,
    title: &str,
    histories: &[History],
    last_messages: ContextQuery,
    cases: &[Case],
) -> anyhow::Result<Vec<Comparison>> {
    let window = pass(target, histories, last_messages).await?;
    let mut comparisons = Vec::with_capacity(cases.len());
    for case in cases {
        let query = ContextQuery { policy: case.policy, messages_max: 0, ..last_messages };
        let budgeted = pass(target, histories, query).await?;
        comparisons.push(Comparison {
            title: format!("{title}, {}", case.name),
            load: format!(
                "{} conversations, {} contexts, one at a time",
                histories.len(),
                grouped(budgeted.measure.latency.count)
            ),
            unit: "contexts",
            base: "last 20 messages",
            system: "budgeted context",
            rounds: vec![Round::of(Some(window.measure), budgeted.measure)],
            verdicts: verdicts(case, &window, &budgeted),
            notes: vec![note("last 20 messages", window.share), note("budgeted context", budgeted.share)],
            ..Comparison::default()
        });
    }
    Ok(comparisons)
}

fn verdicts(case: &Case, window: &Pass, budgeted: &Pass) -> Vec<Verdict> {
    let figure = "cached share of the last 20 messages";
    let judged = |served| {
        [
            Verdict::of("cached share", budgeted.share.served(), served),
            Verdict::of(figure, window.share.served(), WINDOW_SERVED),
        ]
    };
    case.served.map(judged).into_iter().flatten().collect()
}

fn note(name: &str, share: Share) -> String {
    format!(
        "{name}: a cache serves {:.3} of {:.0} tokens per context, {:.3} are new at the start of an epoch; {} epochs of {:.1} \
        contexts",
        share.served(),
        share.tokens_per_context(),
        share.sent_at_breaks(),
        share.epochs,
        share.contexts_per_epoch()
    )
}

/// The contexts at every call of a model, and their latency.
struct Pass {
    measure: Measure,
    share: Share,
}

async fn pass(target: &Target, histories: &[History], query: ContextQuery) -> anyhow::Result<Pass> {
    let mut reader = target.gateway.reader();
    let mut latencies = Latencies::new()?;
    let mut share = Share::default();
    for history in histories {
        let mut successive = PrefixTracker::default();
        for version in calls(&history.facts) {
            let request = query.request(&target.agent, &history.conversation, version);
            let start = Instant::now();
            let assembled = context_query::assemble(&mut reader, request).await?;
            latencies.add(start.elapsed());
            let epoch = assembled.receipt.epoch.unwrap_or_default();
            successive.add(std::str::from_utf8(&assembled.body)?, epoch);
        }
        share.join(successive.share);
    }
    Ok(Pass { measure: latencies.measure_serial(), share })
}

/// The versions at which a model is called: after a new message or result, before the assistant's next event.
fn calls(facts: &[Fact]) -> Vec<u64> {
    let next = facts.iter().skip(1).map(Some).chain([None]);
    // Version 1 is the creation.
    let calls =
        (2..).zip(facts.iter().zip(next)).filter(|(_, (fact, next))| !answers(fact) && next.is_none_or(answers));
    calls.map(|(version, _)| version).collect()
}

/// Whether the assistant created it.
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
        let mut all = facts.iter();
        let results = all.position(|fact| matches!(fact, Fact::ToolReturned(_)));
        let first_calls = results.unwrap() - 1;
        let after_results = u64::try_from(2 + 2 * first_calls).unwrap();
        assert_eq!(calls[..2], [2, after_results]);
        assert!(self::calls(&[]).is_empty());
    }

    #[test]
    fn the_policies_are_valid() {
        for case in TRACE_CASES.iter().chain(&REAL_CASES) {
            context::Policy::parse(case.policy).unwrap();
        }
    }
}

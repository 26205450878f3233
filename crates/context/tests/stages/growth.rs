//! Contexts of conversations that grow: within their budget, whole, and alike at their beginning.

use std::convert::Infallible;
use std::sync::LazyLock;

use context::stages::budget::cost;
use context::stages::summarise::Summary;
use context::{AnswerOrigin, Assembled, MessageCount, Plan, Policy, Reach, Selection, Settings, Turn, select};
use domain::event::{Role, ToolOutput};
use domain::{ClientContext, Fact, JsonText, Part, RecordedEvent, Version};
use proptest::prelude::*;
use redact::Rules;

use crate::notation::{history, weighed};
use crate::plan::written;
use crate::select_properties::{histories, units_after};

pub(crate) static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::compile(&redact::Settings::default()).unwrap());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_context_exceeds_its_budget_or_splits_a_unit(
        events in secret_histories(150), policy in policies(), through in summaries(150),
    ) {
        let Some(assembled) = summarised(&events, &policy, through) else {
            return Ok(());
        };
        let report = &assembled.report;
        prop_assert!(report.sections.turns <= report.room);
        let units = units_after(&events, through);
        let kept: Vec<_> = units.iter().filter(|unit| unit.version >= report.epoch.first).collect();
        prop_assert_eq!(kept.len(), assembled.transcript.turns.len());
        let weight: u64 = kept.iter().map(|unit| cost(unit, report.epoch.threshold, &policy)).sum();
        if report.redactions.total() == 0 {
            prop_assert_eq!(weight, report.sections.turns);
        }
        for (unit, turn) in kept.iter().zip(&assembled.transcript.turns) {
            prop_assert_eq!(unit.version, turn.version);
            prop_assert_eq!(unit.calls.len(), turn.calls.len());
        }
        prop_assert_eq!(report.left_out.is_some(), kept.len() < units.len());
    }

    #[test]
    fn within_an_epoch_contexts_begin_alike(
        events in secret_histories(120), policy in policies(), through in summaries(120),
    ) {
        let mut earlier: Option<Assembled> = None;
        for until in 1..=events.len() {
            // It is written when the history has reached it.
            let through = Some(through).filter(|through| through.0 < Version::ZERO.plus(until).0);
            let Some(later) = summarised(&events[..until], &policy, through.unwrap_or_default()) else {
                earlier = None;
                continue;
            };
            if let Some(earlier) = &earlier
                && earlier.report.epoch == later.report.epoch
            {
                let (earlier, later) = (&earlier.transcript.turns, &later.transcript.turns);
                prop_assert!(
                    begins_alike(earlier, later),
                    "{} / {}",
                    written(earlier),
                    written(later)
                );
            }
            earlier = Some(later);
        }
    }

    #[test]
    fn a_window_is_enough_or_asks_for_more(
        events in weighed_histories(120), policy in policies(), newest in 0_usize..120,
        through in summaries(120),
    ) {
        let windowed = selected(&events, &policy, newest, through);
        if windowed != Selection::NeedsOlder {
            prop_assert_eq!(windowed, selected(&events, &policy, events.len(), through));
        }
    }
}

#[test]
fn stubs_repeat_nothing() {
    let events = distinct(weighed(history("u c1 r1 c1 r1 u a"), |_| 100));
    let json = r#"{"budget":{"context_tokens_max":690,"reserved_tokens":0},"clear":{"fresh_percent":20}}"#;
    let assembled = assembled(&events, &Policy::parse(json).unwrap()).unwrap();
    let calls = assembled.transcript.turns.iter().flat_map(|turn| &turn.calls);
    let origins: Vec<_> = calls.map(|call| call.answer.origin).collect();
    let cleared = [3, 5].map(|version| AnswerOrigin::Cleared(Version(version)));
    assert_eq!(origins, cleared);
}

/// Whether the later turns are the earlier ones and more; the newest earlier turn may have waited for answers, or gone on.
fn begins_alike(earlier: &[Turn], later: &[Turn]) -> bool {
    let Some((newest, before)) = earlier.split_last() else {
        return true;
    };
    let settled = before.iter().zip(later).all(|(earlier, later)| {
        earlier == later || earlier.calls.iter().any(|call| call.answer.origin == AnswerOrigin::Pending)
    });
    let same_place = later.get(before.len()).is_some_and(|turn| turn.version == newest.version);
    settled && same_place
}

/// Up to where a summary stands for a history of so many events; often there is none.
fn summaries(events_max: u64) -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::ZERO), (0..events_max).prop_map(Version)]
}

fn policies() -> impl Strategy<Value = Policy> {
    (256_u32..4_000, 1_u8..=95, prop::option::of(1_u8..=99)).prop_map(|(context, low, fresh)| {
        let clear = fresh.map_or(String::new(), |fresh| format!(r#","clear":{{"fresh_percent":{fresh}}}"#));
        let json = format!(
            r#"{{"budget":{{"context_tokens_max":{context},"reserved_tokens":0,"low_water_percent":{low}}}{clear}}}"#
        );
        Policy::parse(&json).unwrap()
    })
}

fn weighed_histories(events_max: usize) -> impl Strategy<Value = Vec<RecordedEvent>> {
    (histories(events_max), prop::collection::vec(8_u32..400, events_max))
        .prop_map(|(events, tokens)| distinct(weighed(events, |index| tokens.get(index).copied().unwrap_or(1))))
}

/// Histories whose assistant thinks, and some of whose results have secrets.
fn secret_histories(events_max: usize) -> impl Strategy<Value = Vec<RecordedEvent>> {
    let secrets = prop::collection::vec(prop::option::weighted(0.2, 1_usize..6), events_max);
    let histories = (weighed_histories(events_max), secrets);
    histories.prop_map(|(mut events, secrets)| {
        for (event, secrets) in events.iter_mut().zip(secrets) {
            if let Fact::MessageAppended(message) = &mut event.event.fact
                && message.role == Role::Assistant
            {
                message.parts =
                    vec![Part::Thinking { text: "What next?".to_owned(), signature: Some("c2ln".to_owned()) }];
            }
            if let (Fact::ToolReturned(returned), Some(count)) = (&mut event.event.fact, secrets) {
                let pins = r#"{"pin":7}"#;
                let output = format!("[{},{}]", event.version, vec![pins; count].join(","));
                returned.output = ToolOutput::Json(JsonText::parse(output).unwrap());
            }
        }
        events
    })
}

/// The same events with an output of its own for each result, so that none repeats another.
pub(crate) fn distinct(mut events: Vec<RecordedEvent>) -> Vec<RecordedEvent> {
    for event in &mut events {
        if let Fact::ToolReturned(returned) = &mut event.event.fact {
            let output = JsonText::parse(event.version.to_string()).unwrap();
            returned.output = ToolOutput::Json(output);
        }
    }
    events
}

pub(crate) fn assembled(events: &[RecordedEvent], policy: &Policy) -> Option<Assembled> {
    summarised(events, policy, Version::ZERO)
}

/// The context with a summary up to a version.
fn summarised(events: &[RecordedEvent], policy: &Policy, through: Version) -> Option<Assembled> {
    made(events, policy, (&RULES, through), None)
}

/// The context with at most this many messages.
pub(crate) fn counted(events: &[RecordedEvent], policy: &Policy, messages_max: usize) -> Option<Assembled> {
    made(events, policy, (&RULES, Version::ZERO), Some(MessageCount(messages_max)))
}

/// The context with these rules of redaction.
pub(crate) fn assembled_by(events: &[RecordedEvent], policy: &Policy, rules: &Rules) -> Option<Assembled> {
    made(events, policy, (rules, Version::ZERO), None)
}

fn made(
    events: &[RecordedEvent],
    policy: &Policy,
    (rules, through): (&Rules, Version),
    messages_max: Option<MessageCount>,
) -> Option<Assembled> {
    let client = ClientContext::default();
    let plan = plan(policy, &client, (rules, through))?;
    let newest_first = events.iter().rev().cloned().map(Ok::<_, Infallible>);
    let Ok(Selection::Selected(selected)) = select(newest_first, plan.extent(messages_max), Reach::Beginning) else {
        panic!("the whole history is enough");
    };
    plan.complete(selected).ok()
}

fn selected(events: &[RecordedEvent], policy: &Policy, newest: usize, through: Version) -> Selection {
    let client = ClientContext::default();
    let Some(plan) = plan(policy, &client, (&RULES, through)) else {
        return Selection::NeedsOlder;
    };
    let reach = if newest < events.len() { Reach::Window } else { Reach::Beginning };
    let newest_first = events.iter().rev().take(newest).cloned().map(Ok::<_, Infallible>);
    let Ok(selection) = select(newest_first, plan.extent(None), reach);
    selection
}

fn plan<'a>(policy: &'a Policy, client: &'a ClientContext, (rules, through): (&'a Rules, Version)) -> Option<Plan<'a>> {
    let settings = Settings {
        policy,
        rules,
        client,
        instructions: None,
        summary: (through > Version::ZERO).then(|| Summary {
            version: through.next(),
            through,
            text: "What was.".to_owned(),
            model: None,
        }),
        shared: Version::ZERO,
        rewound: Version::ZERO,
        own: None,
    };
    Plan::new(settings).ok()
}

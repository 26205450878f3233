//! Contexts of conversations that grow: within their budget, whole, and alike at their beginning.

use std::convert::Infallible;
use std::sync::LazyLock;

use context::policy::Redact;
use context::stages::budget::cost;
use context::stages::redact::Rules;
use context::{AnswerOrigin, Assembled, Plan, Policy, Reach, Selection, Settings, Turn, select};
use domain::event::ToolOutput;
use domain::{ClientContext, Fact, JsonText, RecordedEvent, Version};
use proptest::prelude::*;

use crate::notation::{history, weighed};
use crate::plan::written;
use crate::select_properties::{histories, units_of};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_context_exceeds_its_budget_or_splits_a_unit(
        events in weighed_histories(150), policy in policies(),
    ) {
        let Some(assembled) = assembled(&events, &policy) else {
            return Ok(());
        };
        let account = &assembled.account;
        prop_assert!(account.sections.turns <= account.room);
        let units = units_of(&events);
        let kept: Vec<_> = units.iter().filter(|unit| unit.version >= account.epoch.first).collect();
        prop_assert_eq!(kept.len(), assembled.transcript.turns.len());
        let weight: u64 = kept.iter().map(|unit| cost(unit, account.epoch.line, &policy)).sum();
        prop_assert_eq!(weight, account.sections.turns);
        for (unit, turn) in kept.iter().zip(&assembled.transcript.turns) {
            prop_assert_eq!(unit.version, turn.version);
            prop_assert_eq!(unit.calls.len(), turn.calls.len());
        }
        prop_assert_eq!(account.left_out.is_some(), kept.len() < units.len());
    }

    #[test]
    fn within_an_epoch_contexts_begin_alike(
        events in weighed_histories(120), policy in policies(),
    ) {
        let mut earlier: Option<Assembled> = None;
        for until in 1..=events.len() {
            let Some(later) = assembled(&events[..until], &policy) else {
                earlier = None;
                continue;
            };
            if let Some(earlier) = &earlier
                && earlier.account.epoch == later.account.epoch
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
    ) {
        let windowed = selected(&events, &policy, newest);
        if windowed != Selection::NeedsOlder {
            prop_assert_eq!(windowed, selected(&events, &policy, events.len()));
        }
    }
}

#[test]
fn stubs_repeat_nothing() {
    let events = distinct(weighed(history("u c1 r1 c1 r1 u a"), |_| 100));
    let json =
        r#"{"budget":{"context_tokens_max":690,"reserved_tokens":0},"clear":{"fresh_percent":20}}"#;
    let assembled = assembled(&events, &Policy::parse(json).unwrap()).unwrap();
    let calls = assembled
        .transcript
        .turns
        .iter()
        .flat_map(|turn| &turn.calls);
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
        earlier == later
            || earlier
                .calls
                .iter()
                .any(|call| call.answer.origin == AnswerOrigin::Pending)
    });
    let same_place = later
        .get(before.len())
        .is_some_and(|turn| turn.version == newest.version);
    settled && same_place
}

fn policies() -> impl Strategy<Value = Policy> {
    (256_u32..4_000, 1_u8..=95, prop::option::of(1_u8..=99)).prop_map(|(context, low, fresh)| {
        let clear = fresh.map_or(String::new(), |fresh| {
            format!(r#","clear":{{"fresh_percent":{fresh}}}"#)
        });
        let json = format!(
            r#"{{"budget":{{"context_tokens_max":{context},"reserved_tokens":0,"low_water_percent":{low}}}{clear}}}"#
        );
        Policy::parse(&json).unwrap()
    })
}

fn weighed_histories(events_max: usize) -> impl Strategy<Value = Vec<RecordedEvent>> {
    (
        histories(events_max),
        prop::collection::vec(8_u32..400, events_max),
    )
        .prop_map(|(events, tokens)| {
            distinct(weighed(events, |index| {
                tokens.get(index).copied().unwrap_or(1)
            }))
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
    let client = ClientContext::default();
    let plan = plan(policy, &client)?;
    let newest_first = events.iter().rev().cloned().map(Ok::<_, Infallible>);
    let Ok(Selection::Selected(selected)) =
        select(newest_first, plan.extent(None), Reach::Beginning)
    else {
        panic!("the whole history is enough");
    };
    plan.complete(selected).ok()
}

fn selected(events: &[RecordedEvent], policy: &Policy, newest: usize) -> Selection {
    let client = ClientContext::default();
    let Some(plan) = plan(policy, &client) else {
        return Selection::NeedsOlder;
    };
    let reach = if newest < events.len() {
        Reach::Window
    } else {
        Reach::Beginning
    };
    let newest_first = events
        .iter()
        .rev()
        .take(newest)
        .cloned()
        .map(Ok::<_, Infallible>);
    let Ok(selection) = select(newest_first, plan.extent(None), reach);
    selection
}

fn plan<'a>(policy: &'a Policy, client: &'a ClientContext) -> Option<Plan<'a>> {
    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::compile(&Redact::default()).unwrap());
    let settings = Settings {
        policy,
        rules: &RULES,
        client,
        summary: None,
        shared: Version::ZERO,
    };
    Plan::new(settings).ok()
}

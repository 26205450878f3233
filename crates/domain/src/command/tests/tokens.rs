//! Tokens of each event, and the sum through it.

use proptest::prelude::*;

use super::*;
use crate::event::{EventTokens, HistorySummarised, SystemNoted};

fn noted() -> Fact {
    Fact::from(SystemNoted { topic: None, text: "n".to_owned() })
}

fn summarised() -> Fact {
    Fact::from(HistorySummarised { through: Version(1), text: "s".to_owned(), model: None, previous: None })
}

fn events_of(head: Option<&Head>, action: Action) -> Vec<Event> {
    match decide(head, &command(99, action)) {
        Ok(Decision::Commit(events)) => events,
        other => panic!("{other:?}"),
    }
}

fn tokens(own: u32, through: u64) -> EventTokens {
    EventTokens { own, through }
}

#[test]
fn messages_calls_and_results_add_to_the_sum() {
    let facts = [said("a"), called("1"), returned("1", None), noted(), summarised(), said("b")];
    let head = head_after(vec![created(), append([said("x")])]);
    let events = events_of(head.as_ref(), append(facts));
    let weights: Vec<EventTokens> = events.iter().map(|event| event.tokens).collect();
    assert_eq!(weights, [14, 21, 28, 28, 28, 35].map(|through| tokens(TOKENS, through)));
    let archived = events_of(head.as_ref(), Action::Archive);
    assert_eq!(archived[0].tokens, tokens(0, 7));
    assert_eq!(events_of(None, created())[0].tokens, tokens(0, 0));
}

/// In a record whose older events were not counted, the sum starts at 0.
#[test]
fn a_sum_without_the_older_events() {
    let mut head = head_after(vec![created(), append([said("x")])]).unwrap();
    head.totals.context_tokens = 0;
    let events = events_of(Some(&head), append([said("a")]));
    assert_eq!(events[0].tokens, tokens(TOKENS, 7));
}

fn any_facts() -> impl Strategy<Value = Vec<Vec<(u8, u32)>>> {
    let event = (0..3_u8, any::<u32>());
    prop::collection::vec(prop::collection::vec(event, 1..5), 1..8)
}

fn new_event((kind, tokens): (u8, u32)) -> NewEvent {
    let fact = match kind {
        0 => said("a"),
        1 => noted(),
        _ => called("replaced"),
    };
    NewEvent { id: None, occurred_at: None, metadata: None, tokens, fact }
}

/// Calls get ids of their own, so that no id is open.
fn with_own_call(event: NewEvent, number: usize) -> NewEvent {
    let Fact::ToolCalled(call) = event.fact else {
        return event;
    };
    NewEvent {
        fact: Fact::ToolCalled(ToolCalled { call_id: CallId::parse(format!("c{number}")).unwrap(), ..call }),
        ..event
    }
}

proptest! {
    #[test]
    fn the_sum_never_falls_and_is_the_sum(commits in any_facts()) {
        let mut head = head_after(vec![created()]).unwrap();
        let mut sum = 0;
        let mut numbers = 0..;
        for (n, commit) in (1_u32..).zip(commits) {
            let events = commit.into_iter().map(new_event);
            let events = events.zip(&mut numbers).map(|(event, number)| with_own_call(event, number));
            let action = Action::Append { events: events.collect(), expected: None };
            let events = events_of(Some(&head), action);
            for event in &events {
                let before = sum;
                sum += event.context_tokens();
                prop_assert!(event.tokens.through >= before);
                prop_assert_eq!(event.tokens.through, sum);
            }
            let facts = CommitFacts {
                id: CommitId(Uuid::from_u128(n.into())),
                request_digest: RequestDigest([0; 16]),
                recorded_at: Timestamp(n.into()),
                events: &events,
                body: &[],
                previous_sequence: Some(Sequence(n.into())),
            };
            head = Head::after(Some(&head), &facts).unwrap();
            prop_assert_eq!(head.totals.context_tokens, sum);
        }
    }
}

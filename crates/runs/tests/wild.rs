//! For any parts in any order: no client throws, and every text ends.

#![expect(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::event::{Fact, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{CallId, JsonText, RunEnd, RunOutcome, RunPartKind, ToolName};
use proptest::prelude::*;
use runs::UiStream;
use support::case::{approvals, fold_of};
use support::client::Client;
use support::record::{said, started};
use support::script::{GUARDED, numbered};

fn call_id() -> impl Strategy<Value = CallId> {
    (0..4_u8).prop_map(|id| CallId::parse(format!("c{id}")).unwrap())
}

fn called() -> impl Strategy<Value = Fact> {
    call_id().prop_map(|call_id| {
        Fact::ToolCalled(ToolCalled {
            call_id,
            tool_name: ToolName::parse(GUARDED).unwrap(),
            input: JsonText::parse("{}").unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        })
    })
}

fn kind() -> impl Strategy<Value = RunPartKind> {
    let fact = prop_oneof![Just(said(Role::Assistant, "x")), called()];
    prop_oneof![
        4 => "[a-z]{0,2}".prop_map(RunPartKind::TextDelta),
        2 => "[a-z]{1,2}".prop_map(RunPartKind::ThinkingDelta),
        1 => "[a-z]{1,2}".prop_map(RunPartKind::RefusalDelta),
        2 => (0..3_u32, call_id()).prop_map(|(index, call_id)| RunPartKind::CallBegan {
            index,
            call_id,
            tool_name: ToolName::parse(GUARDED).unwrap(),
        }),
        2 => (0..3_u32).prop_map(|index| RunPartKind::CallInput {
            index,
            fragment: "{".to_owned(),
        }),
        2 => prop::collection::vec(fact, 0..3).prop_map(RunPartKind::StepFinished),
        2 => call_id().prop_map(|call_id| RunPartKind::ToolReturned(ToolReturned {
            call_id,
            tool_name: None,
            output: ToolOutput::Parts(Vec::new()),
            outcome: ToolOutcome::Succeeded,
        })),
        1 => Just(RunPartKind::KeptAlive),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_client_throws(mut kinds in prop::collection::vec(kind(), 0..40)) {
        kinds.push(RunPartKind::RunEnded(RunEnd { outcome: RunOutcome::Stopped, error: None }));
        let parts = numbered(kinds);
        let mut stream = UiStream::new(started(2).run, None, approvals());
        let mut client = Client::new(None);
        client.apply(&serde_json::to_value(stream.start_chunk()).unwrap());
        for part in &parts {
            for chunk in stream.push(part) {
                client.apply(&serde_json::to_value(&chunk).unwrap());
            }
        }
        prop_assert!(stream.is_over());
        let left_open = client.message["parts"].as_array().unwrap().iter().any(|part| {
            part["state"] == "streaming"
        });
        prop_assert!(!left_open);
    }
}

/// The texts of an unfinished step fit into one event, with any number of pieces.
#[test]
fn the_longest_texts_of_a_step_fit_into_an_event() {
    use domain::RunPart;
    use domain::bounds::EVENT_BYTES_MAX;
    use runs::fold::{STEP_PIECES_MAX, STEP_WORDS_BYTES_MAX};

    let size = STEP_WORDS_BYTES_MAX / STEP_PIECES_MAX;
    let words = |index: usize| match index % 2 {
        0 => RunPartKind::ThinkingDelta("x".repeat(size)),
        _ => RunPartKind::TextDelta("x".repeat(size)),
    };
    let parts: Vec<RunPart> = numbered((0..STEP_PIECES_MAX).map(words).collect());
    let facts = fold_of(&parts).facts();
    assert_eq!(facts.len(), 1);
    for fact in &facts {
        let encoded = wire::event::fact_to_proto(fact);
        assert!(prost::Message::encoded_len(&encoded) <= EVENT_BYTES_MAX);
    }
}

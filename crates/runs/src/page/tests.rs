//! Examples of pages.

use domain::event::{EventTokens, RunFinished, RunStarted, ToolCalled, ToolOutcome, ToolOutput};
use domain::{CommitId, Event, JsonText, Part, RunPart, RunPartKind, Timestamp, ToolName, Version};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

const RUN: u128 = 0xA;

fn run() -> RunId {
    RunId(Uuid::from_u128(RUN))
}

fn id(number: u128) -> String {
    Uuid::from_u128(number).to_string()
}

fn said(role: Role, text: &str) -> Fact {
    Fact::MessageAppended(MessageAppended::new(role, vec![Part::Text(text.to_owned())]))
}

fn called(call: &str) -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse(call).unwrap(),
        tool_name: ToolName::parse("t").unwrap(),
        input: JsonText::parse("{}").unwrap(),
        model: None,
        provider: None,
        provider_response_id: None,
        signature: None,
    })
}

fn returned(call: &str, outcome: ToolOutcome) -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse(call).unwrap(),
        tool_name: None,
        output: ToolOutput::Json(JsonText::parse("\"noon\"").unwrap()),
        outcome,
    })
}

fn started() -> RunStarted {
    RunStarted { run: run(), model: None, provider: None }
}

fn finished() -> Fact {
    Fact::from(RunFinished { run: run(), outcome: RunOutcome::Completed })
}

/// Events of these commits; their ids count from 1.
fn events(commits: Vec<Vec<Fact>>) -> Vec<RecordedEvent> {
    let facts = commits
        .into_iter()
        .zip(100_u128..)
        .flat_map(|(facts, commit)| facts.into_iter().map(move |fact| (fact, commit)));
    facts
        .zip(1_u128..)
        .map(|((fact, commit), number)| RecordedEvent {
            version: Version(u64::try_from(number).unwrap()),
            commit: CommitId(Uuid::from_u128(commit)),
            recorded_at: Timestamp(0),
            event: Event {
                id: EventId(Uuid::from_u128(number)),
                occurred_at: None,
                metadata: None,
                tokens: EventTokens::default(),
                fact,
            },
        })
        .collect()
}

fn check(commits: Vec<Vec<Fact>>, live: Option<&RunFold>, expected: &Value) {
    let shown = page(&events(commits), live, &Approvals::default());
    assert_eq!(&serde_json::to_value(shown).unwrap(), expected);
}

fn user(event: u128, text: &str) -> Value {
    json!({"id": id(event), "role": "user", "parts": [{"type": "text", "text": text}]})
}

fn done(text: &str) -> Value {
    json!({"type": "text", "text": text, "state": "done"})
}

fn step() -> Value {
    json!({"type": "step-start"})
}

#[test]
fn everything_up_to_the_next_user_message_is_one_message() {
    let tool = |call: &str, rest: Value| {
        let mut part = json!({"type": "tool-t", "toolCallId": call, "input": {}});
        part.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        part
    };
    check(
        vec![
            vec![said(Role::System, "be kind"), said(Role::User, "when?")],
            vec![said(Role::Assistant, "see"), called("a"), called("b")],
            vec![returned("a", ToolOutcome::Succeeded)],
            vec![returned("b", ToolOutcome::Failed)],
            vec![said(Role::Assistant, "noon"), called("c")],
            vec![said(Role::User, "thanks")],
        ],
        None,
        &json!([
            user(2, "when?"),
            {"id": id(3), "role": "assistant", "parts": [
                step(),
                done("see"),
                tool("a", json!({"state": "output-available", "output": "noon"})),
                tool("b", json!({"state": "output-error", "errorText": "noon"})),
                step(),
                done("noon"),
                tool("c", json!({"state": "input-available"})),
            ]},
            user(10, "thanks"),
        ]),
    );
}

#[test]
fn a_message_that_a_run_opened_has_the_id_of_the_run() {
    let completed = json!({"outcome": "completed", "errorText": null});
    check(
        vec![vec![said(Role::User, "a"), Fact::from(started())], vec![said(Role::Assistant, "b"), finished()]],
        None,
        &json!([
            user(1, "a"),
            {"id": run().to_string(), "role": "assistant", "metadata": completed, "parts": [step(), done("b")]},
        ]),
    );
}

fn ended(outcome: RunOutcome) -> Fact {
    Fact::from(RunFinished { run: run(), outcome })
}

fn failed_with(error_type: &str) -> Fact {
    Fact::from(ErrorOccurred {
        error_type: domain::Label::parse(error_type).unwrap(),
        message: "what the server said".to_owned(),
    })
}

#[test]
fn a_run_without_output_is_shown() {
    let unavailable = "The model cannot be reached at the moment.";
    let cut_off = "The answer was cut off. Please try again.";
    for (facts, metadata) in [
        (
            vec![failed_with("model_unavailable"), ended(RunOutcome::Failed)],
            json!({"outcome": "failed", "errorText": unavailable}),
        ),
        (vec![ended(RunOutcome::Failed)], json!({"outcome": "failed", "errorText": "An error occurred."})),
        (vec![ended(RunOutcome::Abandoned)], json!({"outcome": "abandoned", "errorText": cut_off})),
        (vec![ended(RunOutcome::Stopped)], json!({"outcome": "stopped", "errorText": null})),
        (vec![ended(RunOutcome::Completed)], json!({"outcome": "completed", "errorText": null})),
        (
            vec![said(Role::Assistant, ""), ended(RunOutcome::Completed)],
            json!({"outcome": "completed", "errorText": null}),
        ),
    ] {
        let commits = vec![vec![said(Role::User, "a"), Fact::from(started())], facts, vec![said(Role::User, "b")]];
        let shown = serde_json::to_value(&page(&events(commits), None, &Approvals::default())[1]).unwrap();
        let id = run().to_string();
        let expected = json!({"id": id, "role": "assistant", "metadata": metadata, "parts": []});
        assert_eq!(shown, expected);
    }
    // An error outside of the end of a run belongs to no run.
    let completed = json!({"outcome": "completed", "errorText": null});
    check(
        vec![
            vec![said(Role::User, "a"), Fact::from(started())],
            vec![failed_with("model_unavailable")],
            vec![said(Role::Assistant, "b"), finished()],
        ],
        None,
        &json!([
            user(1, "a"),
            {"id": run().to_string(), "role": "assistant", "metadata": completed, "parts": [step(), done("b")]},
        ]),
    );
}

#[test]
fn ids_of_messages_are_unique() {
    let answers = vec![said(Role::Assistant, "a"), said(Role::User, "b"), said(Role::Assistant, "c"), finished()];
    let shown = page(&events(vec![answers]), None, &Approvals::default());
    let ids: Vec<&str> = shown.iter().map(|message| message.id.as_str()).collect();
    assert_eq!(ids, [&run().to_string(), &id(2), &id(3)]);
}

#[test]
fn appends_during_a_run_precede_its_output() {
    let mut fold = RunFold::new(started());
    let kind = RunPartKind::TextDelta("so".to_owned());
    fold.absorb(&RunPart { number: 1, kind }).unwrap();
    let streaming = json!({"type": "text", "text": "so", "state": "streaming"});
    check(
        vec![vec![said(Role::User, "a"), Fact::from(started())], vec![said(Role::Assistant, "b")]],
        Some(&fold),
        &json!([
            user(1, "a"),
            {"id": id(3), "role": "assistant", "parts": [step(), done("b"), step(), streaming]},
        ]),
    );
}

#[test]
fn a_page_may_start_anywhere_and_be_empty() {
    check(vec![], None, &json!([]));
    check(vec![vec![Fact::from(started())]], Some(&RunFold::new(started())), &json!([]));
    check(vec![vec![returned("gone", ToolOutcome::Succeeded), said(Role::User, "a")]], None, &json!([user(2, "a")]));
}

#[test]
fn rewound_events_are_not_shown() {
    let rewound = |to| Fact::from(domain::event::HistoryRewound { to: Version(to) });
    let asked = || vec![vec![said(Role::User, "when?")], vec![said(Role::Assistant, "see"), called("a")]];
    let again = |to| vec![rewound(to), said(Role::User, "where?")];
    let answered = vec![said(Role::Assistant, "here")];
    check(
        [asked(), vec![again(1), answered.clone()]].concat(),
        None,
        &json!([
            user(1, "when?"),
            user(5, "where?"),
            {"id": id(6), "role": "assistant", "parts": [step(), done("here")]},
        ]),
    );
    // The result of a rewound call is not shown.
    let result = vec![returned("a", ToolOutcome::Succeeded)];
    check(
        [asked(), vec![again(0), result, answered]].concat(),
        None,
        &json!([
            user(5, "where?"),
            {"id": id(7), "role": "assistant", "parts": [step(), done("here")]},
        ]),
    );
}

//! `AssembleContext`: the last messages up to a count, with complete tool units, oldest first.

use tests::agent::Agent;
use tests::events::{assistant, call, error, message, note, result, text_of_parts, user};
use tests::stack::{Setup, Stack};
use wire::proto::event::v1::tool_returned::Output;
use wire::proto::event::v1::{Event, Role};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::context_message::Kind;

/// A short form of a context: `user:text`, `assistant:text+call+call`, `call=output`.
fn sketch(context: &proto::AssembleContextResponse) -> Vec<String> {
    context.messages.iter().map(|message| sketch_of(message.kind.as_ref())).collect()
}

fn sketch_of(kind: Option<&Kind>) -> String {
    match kind {
        Some(Kind::Turn(turn)) => {
            let role = turn.role().as_str_name().trim_start_matches("ROLE_");
            let calls = turn.tool_calls.iter().map(|call| call.call_id.as_str());
            let message = [format!("{}:{}", role.to_lowercase(), text_of_parts(&turn.parts))];
            let words: Vec<&str> = message.iter().map(String::as_str).chain(calls).collect();
            words.join("+")
        }
        Some(Kind::ToolResult(result)) => match &result.output {
            Some(Output::OutputJson(json)) => format!("{}={json}", result.call_id),
            output => panic!("{output:?}"),
        },
        None => panic!("a message of no kind"),
    }
}

/// Several commits of one conversation, with events that models do not see.
fn conversation() -> Vec<Vec<Event>> {
    vec![
        vec![message(Role::System, "be brief"), user("hi")],
        vec![note("unseen"), assistant("hello"), error("unseen")],
        vec![user("find"), assistant("both"), call("a", "{}"), call("b", "{}")],
        vec![result("b", "2"), note("unseen")],
        vec![result("a", "1")],
        vec![assistant("found"), user("more"), call("c", "{}")],
    ]
}

/// The expected context for a count, oldest first, and whether messages are omitted.
const EXPECTED: [(u32, &[&str], bool); 10] = [
    (1, &["assistant:+c"], true),
    (2, &["user:more", "assistant:+c"], true),
    (3, &["assistant:found", "user:more", "assistant:+c"], true),
    // The turn with two calls and their results is three messages, which are included together or not at all.
    (4, &["assistant:found", "user:more", "assistant:+c"], true),
    (5, &["assistant:found", "user:more", "assistant:+c"], true),
    (6, &["assistant:both+a+b", "a=1", "b=2", "assistant:found", "user:more", "assistant:+c"], true),
    (7, &["user:find", "assistant:both+a+b", "a=1", "b=2", "assistant:found", "user:more", "assistant:+c"], true),
    (
        8,
        &[
            "assistant:hello",
            "user:find",
            "assistant:both+a+b",
            "a=1",
            "b=2",
            "assistant:found",
            "user:more",
            "assistant:+c",
        ],
        true,
    ),
    (
        10,
        &[
            "system:be brief",
            "user:hi",
            "assistant:hello",
            "user:find",
            "assistant:both+a+b",
            "a=1",
            "b=2",
            "assistant:found",
            "user:more",
            "assistant:+c",
        ],
        false,
    ),
    (
        1_000,
        &[
            "system:be brief",
            "user:hi",
            "assistant:hello",
            "user:find",
            "assistant:both+a+b",
            "a=1",
            "b=2",
            "assistant:found",
            "user:more",
            "assistant:+c",
        ],
        false,
    ),
];

async fn check_all(agent: &Agent) {
    for (messages_max, expected, truncated) in EXPECTED {
        let context = agent.context("c", messages_max).await;
        assert_eq!(sketch(&context), expected, "{messages_max}");
        let report = context.report.expect("a report");
        assert_eq!(report.truncated, truncated, "{messages_max}");
        assert_eq!(report.pending_call_ids, ["c"], "{messages_max}");
        assert_eq!(report.first_version, context.messages[0].version, "{messages_max}");
        let turns = context.messages.iter().filter(|message| is_turn(message));
        let sorted = turns.is_sorted_by_key(|turn| turn.version);
        assert!(sorted, "{messages_max}");
    }
}

/// Turns are ordered by version; results follow their turn, in the order of the calls.
fn is_turn(message: &proto::ContextMessage) -> bool {
    matches!(message.kind, Some(Kind::Turn(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_units_are_never_split() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    stack.projector.stop().await;
    agent.create("c").await;
    for events in conversation() {
        agent.append("c", events).await;
    }
    check_all(&agent).await;
    stack.projector.start().await;
    agent.wait_for_rows("c", agent.version("c").await).await;
    check_all(&agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_without_messages_has_an_empty_context() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![note("unseen")]).await;
    let context = agent.context("c", 10).await;
    let report = context.report.expect("a report");
    assert_eq!((context.messages.len(), context.version), (0, 2));
    assert_eq!((report.first_version, report.truncated), (0, false));
}

/// 50 by default; the bound itself, with a conversation that is longer than a page of rows.
#[tokio::test(flavor = "multi_thread")]
async fn counts_over_a_long_conversation() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    for hundred in 0..12 {
        let events = (0..100).map(|number| user((hundred * 100 + number).to_string()));
        agent.append("c", events.collect()).await;
    }
    agent.wait_for_rows("c", 1_201).await;
    for (asked, got) in [(0, 50), (1, 1), (999, 999), (1_000, 1_000)] {
        let context = agent.context("c", asked).await;
        assert_eq!(context.messages.len(), got);
        let first = 1_200 - got;
        let expected: Vec<String> = (first..1_200).map(|number| format!("user:{number}")).collect();
        assert_eq!(sketch(&context), expected);
        assert!(context.report.expect("a report").truncated);
    }
}

//! Contexts.

use std::fmt::Write as _;

use domain::Fact;
use domain::event::Role;
use wire::proto::event::v1 as event;
use wire::proto::event::v1::part::Kind as PartKind;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::context_message::Kind;

use crate::author::Author;
use crate::client::{context_request, eventual, target};
use crate::facts::{assistant, call, message, note, result, titled, user};
use crate::stack::{run, shared};

#[test]
fn a_context_is_the_last_messages_in_canonical_form() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        author.append(vec![message(Role::System, "be kind")]).await;
        author.append(vec![user("what is it?"), note()]).await;
        author.append(vec![assistant("let me look"), call("a"), call("b")]).await;
        author.append(vec![result("b")]).await;
        author.append(vec![titled("another title"), result("a")]).await;
        author.append(vec![assistant("this"), call("c")]).await;

        let whole = "2 system be kind|3 user what is it?|5 assistant let me look[a b]|10 =a|8 =b|11 assistant this[c]";
        check(&author, 50, whole, "2 whole, c waits").await;
        check(&author, 6, whole, "2 whole, c waits").await;
        let newest = "5 assistant let me look[a b]|10 =a|8 =b|11 assistant this[c]";
        check(&author, 4, newest, "5 truncated, c waits").await;
        check(&author, 3, "11 assistant this[c]", "11 truncated, c waits").await;
        author.append(vec![result("c")]).await;
        check(&author, 1, "", "0 truncated").await;
        check(&author, 2, "11 assistant this[c]|13 =c", "11 truncated").await;

        author.project(3).await;
        let response = author.stack.client.context(context_request(target(&author), 0)).await;
        let report = response.unwrap().report.unwrap();
        assert_eq!((report.events_from_rows, report.events_from_tail), (2, 8));
    });
}

#[test]
fn an_empty_conversation_has_an_empty_context() {
    run(async {
        let author = Author::begin(shared().await).await;
        check(&author, 5, "", "0 whole").await;
    });
}

#[test]
fn a_context_of_many_tool_calls_needs_more_than_one_read() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        author.append(vec![user("first"), user("second")]).await;
        let ids: Vec<String> = (0..60).map(|id| id.to_string()).collect();
        let mut calls = vec![assistant("many")];
        calls.extend(ids.iter().map(|id| call(id)));
        author.append(calls).await;
        let notes: Vec<Fact> = (0..50).map(|_| note()).collect();
        author.append(notes).await;
        author.append(ids.iter().map(|id| result(id)).collect()).await;
        author.project_all().await;
        for messages_max in [60, 61, 62, 63, 64] {
            let request = context_request(eventual(&author), messages_max);
            let response = author.stack.client.context(request).await.unwrap();
            let expected = if messages_max < 61 { 0 } else { messages_max.min(63) };
            assert_eq!(response.messages.len(), usize::try_from(expected).unwrap());
            assert_eq!(response.report.unwrap().truncated, messages_max < 63, "{messages_max}");
        }
    });
}

#[test]
fn a_context_is_bounded_in_bytes_in_rows_and_tail() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        let large = "x".repeat(500 * 1024);
        for _ in 0..40 {
            author.append(vec![user(&large)]).await;
        }
        // Each message is a little over 500 KiB: the newest 32 are less than 16 MiB.
        let expected = 33;
        for projected in [0, 20, author.commits.len()] {
            author.project(projected).await;
            let request = context_request(target(&author), 50);
            let response = author.stack.client.context(request).await.unwrap();
            assert_eq!(response.messages.len(), expected, "{projected} projected");
            assert!(response.report.unwrap().truncated);
        }
    });
}

/// Checks the context and its report, both in short notation.
async fn check(author: &Author<'_>, messages_max: u32, expected: &str, report: &str) {
    let request = context_request(target(author), messages_max);
    let response = author.stack.client.context(request).await.unwrap();
    assert_eq!(written(&response.messages), expected);
    assert_eq!(response.version, author.version());
    assert_eq!(response.position_token, author.token());
    assert_eq!(written_report(&response.report.unwrap()), report);
}

fn written(messages: &[proto::ContextMessage]) -> String {
    let messages: Vec<String> = messages.iter().map(written_message).collect();
    messages.join("|")
}

fn written_message(message: &proto::ContextMessage) -> String {
    match message.kind.as_ref().unwrap() {
        Kind::Turn(turn) => {
            let role = turn.role().as_str_name().trim_start_matches("ROLE_").to_lowercase();
            let mut written = format!("{} {role} ", message.version);
            turn.parts.iter().for_each(|part| written.push_str(text(part)));
            let calls: Vec<&str> = turn.tool_calls.iter().map(|call| call.call_id.as_str()).collect();
            if !calls.is_empty() {
                write!(written, "[{}]", calls.join(" ")).unwrap();
            }
            written
        }
        Kind::ToolResult(result) => format!("{} ={}", message.version, result.call_id),
    }
}

fn text(part: &event::Part) -> &str {
    match part.kind.as_ref().unwrap() {
        PartKind::Text(text) => text,
        other => panic!("only texts are sent: {other:?}"),
    }
}

fn written_report(report: &proto::ContextReport) -> String {
    let extent = if report.truncated { "truncated" } else { "whole" };
    let mut written = format!("{} {extent}", report.first_version);
    for id in &report.pending_call_ids {
        write!(written, ", {id} waits").unwrap();
    }
    written
}

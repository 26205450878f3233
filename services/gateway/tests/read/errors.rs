//! Errors: code, reason and field of each.

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

use crate::author::Author;
use crate::client::{context_request, events_request, get_request, target, watch_request};
use crate::stack::{AGENT, run, shared};

/// The error has this code and reason, and names this field; empty: none.
#[track_caller]
pub(crate) fn check<T>(
    outcome: Result<T, Status>,
    code: Code,
    reason: &str,
    field: &str,
) -> Status {
    let Err(status) = outcome else {
        panic!("{reason} {field}: there is no error");
    };
    let details = status.get_error_details();
    let info = details.error_info().expect("error info");
    let fields: Vec<&str> = details
        .bad_request()
        .map(|request| request.field_violations.iter())
        .into_iter()
        .flatten()
        .map(|violation| violation.field.as_str())
        .collect();
    let expected: Vec<&str> = if field.is_empty() {
        vec![]
    } else {
        vec![field]
    };
    assert_eq!(
        (info.reason.as_str(), fields),
        (reason, expected),
        "{status}"
    );
    assert_eq!(status.code(), code, "{status}");
    assert_eq!(
        details.retry_info().is_some(),
        code == Code::Unavailable,
        "{status}"
    );
    status
}

#[track_caller]
pub(crate) fn invalid<T>(outcome: Result<T, Status>, reason: &str, field: &str) {
    check(outcome, Code::InvalidArgument, reason, field);
}

#[test]
fn a_target_out_of_form() {
    run(async {
        let stack = shared().await;
        let author = Author::begin(stack).await;
        let client = &stack.client;
        let good = target(&author);
        let cases = [
            (
                "",
                &*good.conversation_id,
                0,
                "FIELD_MISSING",
                "target.agent_id",
            ),
            (
                "a b",
                &good.conversation_id,
                0,
                "FIELD_MALFORMED",
                "target.agent_id",
            ),
            (AGENT, "", 0, "FIELD_MISSING", "target.conversation_id"),
            (AGENT, "a/b", 0, "FIELD_MALFORMED", "target.conversation_id"),
            (
                AGENT,
                &"x".repeat(129),
                0,
                "FIELD_TOO_LONG",
                "target.conversation_id",
            ),
            (
                AGENT,
                &good.conversation_id,
                9,
                "FIELD_OUT_OF_RANGE",
                "target.consistency",
            ),
        ];
        for (agent_id, conversation_id, consistency, reason, field) in cases {
            let target = proto::ReadTarget {
                agent_id: agent_id.to_owned(),
                conversation_id: conversation_id.to_owned(),
                consistency,
                position_token: String::new(),
            };
            invalid(client.get(get_request(target.clone())).await, reason, field);
            invalid(
                client.events(events_request(target.clone())).await,
                reason,
                field,
            );
            invalid(
                client.context(context_request(target, 0)).await,
                reason,
                field,
            );
        }
        let none = proto::GetConversationRequest { target: None };
        invalid(client.get(none).await, "FIELD_MISSING", "target");
    });
}

#[test]
fn contexts_out_of_range() {
    run(async {
        let author = Author::begin(shared().await).await;
        let client = &author.stack.client;
        let outcome = client
            .context(context_request(target(&author), 1_001))
            .await;
        let status = check(
            outcome,
            Code::InvalidArgument,
            "FIELD_OUT_OF_RANGE",
            "messages_max",
        );
        assert_eq!(
            status.message(),
            "messages_max is 1001, at most 1000 is taken"
        );
        client
            .context(context_request(target(&author), 1_000))
            .await
            .unwrap();
        let watch = client.watch(watch_request(&author, 3)).await;
        invalid(watch, "FIELD_OUT_OF_RANGE", "from_version");
    });
}

#[test]
fn pages_of_events_out_of_range() {
    type Change = fn(&mut proto::ListEventsRequest);
    let cases: [(Change, &str, &str); 6] = [
        (
            |asked| asked.page_size = 1_001,
            "FIELD_OUT_OF_RANGE",
            "page_size",
        ),
        (
            |asked| asked.direction = 7,
            "FIELD_OUT_OF_RANGE",
            "direction",
        ),
        (
            |asked| asked.kinds = vec![1, 99],
            "FIELD_OUT_OF_RANGE",
            "kinds[1]",
        ),
        (|asked| asked.kinds = vec![0], "FIELD_MISSING", "kinds[0]"),
        (
            |asked| (asked.from_version, asked.to_version) = (3, 2),
            "FIELD_OUT_OF_RANGE",
            "to_version",
        ),
        (
            |asked| asked.page_token = "?".to_owned(),
            "PAGE_TOKEN_INVALID",
            "page_token",
        ),
    ];
    run(async move {
        let author = Author::begin(shared().await).await;
        for (change, reason, field) in cases {
            let mut asked = events_request(target(&author));
            change(&mut asked);
            invalid(author.stack.client.events(asked).await, reason, field);
        }
        let mut most = events_request(target(&author));
        most.page_size = 1_000;
        author.stack.client.events(most).await.unwrap();
    });
}

#[test]
fn listings_out_of_form() {
    type Change = fn(&mut proto::ListConversationsRequest);
    fn session(asked: &mut proto::ListConversationsRequest, id: &str) {
        asked.filter = Some(Filter::SessionId(id.to_owned()));
    }
    let cases: [(Change, &str, &str); 8] = [
        (
            |asked| asked.agent_id = String::new(),
            "FIELD_MISSING",
            "agent_id",
        ),
        (|asked| asked.filter = None, "FIELD_MISSING", "filter"),
        (|asked| session(asked, ""), "FIELD_MISSING", "session_id"),
        (
            |asked| session(asked, "\n"),
            "FIELD_MALFORMED",
            "session_id",
        ),
        (
            |asked| session(asked, &"x".repeat(257)),
            "FIELD_TOO_LONG",
            "session_id",
        ),
        (|asked| asked.status = 44, "FIELD_OUT_OF_RANGE", "status"),
        (
            |asked| asked.page_size = 201,
            "FIELD_OUT_OF_RANGE",
            "page_size",
        ),
        (
            |asked| asked.page_token = "AAAA".to_owned(),
            "PAGE_TOKEN_INVALID",
            "page_token",
        ),
    ];
    run(async move {
        let stack = shared().await;
        for (change, reason, field) in cases {
            let mut asked = whole_agent();
            change(&mut asked);
            invalid(stack.client.list(asked).await, reason, field);
        }
        let mut most = whole_agent();
        most.page_size = 200;
        stack.client.list(most).await.unwrap();
    });
}

pub(crate) fn whole_agent() -> proto::ListConversationsRequest {
    proto::ListConversationsRequest {
        agent_id: AGENT.to_owned(),
        filter: Some(Filter::WholeAgent(proto::WholeAgent {})),
        ..proto::ListConversationsRequest::default()
    }
}

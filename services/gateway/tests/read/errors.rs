//! Errors: their codes, reasons and fields.

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

use crate::author::Author;
use crate::client::{context_request, events_request, get_request, target, watch_request};
use crate::stack::{AGENT, run, shared};

/// Checks the code, the reason and the field of an error; empty: no field.
#[track_caller]
pub(crate) fn check<T>(outcome: Result<T, Status>, code: Code, reason: &str, field: &str) -> Status {
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
    let expected: Vec<&str> = if field.is_empty() { vec![] } else { vec![field] };
    assert_eq!((info.reason.as_str(), fields), (reason, expected), "{status}");
    assert_eq!(status.code(), code, "{status}");
    assert_eq!(details.retry_info().is_some(), code == Code::Unavailable, "{status}");
    status
}

#[track_caller]
pub(crate) fn invalid<T>(outcome: Result<T, Status>, reason: &str, field: &str) {
    check(outcome, Code::InvalidArgument, reason, field);
}

#[test]
fn invalid_targets() {
    run(async {
        let stack = shared().await;
        let author = Author::begin(stack).await;
        let client = &stack.client;
        let good = target(&author);
        let (id, long) = (good.conversation_id.as_str(), "x".repeat(129));
        for (agent_id, conversation_id, consistency, reason, field) in [
            ("", id, 0, "MISSING", "agent_id"),
            ("a b", id, 0, "MALFORMED", "agent_id"),
            (AGENT, "", 0, "MISSING", "conversation_id"),
            (AGENT, "a/b", 0, "MALFORMED", "conversation_id"),
            (AGENT, &long, 0, "TOO_LONG", "conversation_id"),
            (AGENT, id, 9, "OUT_OF_RANGE", "consistency"),
        ] {
            let target = proto::ReadTarget {
                agent_id: agent_id.to_owned(),
                conversation_id: conversation_id.to_owned(),
                consistency,
                position_token: String::new(),
            };
            let (reason, field) = (&format!("FIELD_{reason}"), &format!("target.{field}"));
            invalid(client.get(get_request(target.clone())).await, reason, field);
            let events = client.events(events_request(target.clone())).await;
            invalid(events, reason, field);
            let context = client.context(context_request(target, 0)).await;
            invalid(context, reason, field);
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
        let request = context_request(target(&author), 1_001);
        let (code, reason) = (Code::InvalidArgument, "FIELD_OUT_OF_RANGE");
        let status = check(client.context(request).await, code, reason, "messages_max");
        assert_eq!(status.message(), "messages_max is 1001, the maximum is 1000");
        client.context(context_request(target(&author), 1_000)).await.unwrap();
        let watch = client.watch(watch_request(&author, 3)).await;
        invalid(watch, "FIELD_OUT_OF_RANGE", "from_version");
    });
}

#[test]
fn pages_of_events_out_of_range() {
    type Change = fn(&mut proto::ListEventsRequest);
    let out_of_range = "FIELD_OUT_OF_RANGE";
    let cases: [(Change, &str, &str); 6] = [
        (|it| it.page_size = 1_001, out_of_range, "page_size"),
        (|it| it.direction = 7, out_of_range, "direction"),
        (|it| it.kinds = vec![1, 99], out_of_range, "kinds[1]"),
        (|it| it.kinds = vec![0], "FIELD_MISSING", "kinds[0]"),
        (|it| (it.from_version, it.to_version) = (3, 2), out_of_range, "to_version"),
        (|it| it.page_token = "?".to_owned(), "PAGE_TOKEN_INVALID", "page_token"),
    ];
    run(async move {
        let author = Author::begin(shared().await).await;
        for (change, reason, field) in cases {
            let mut request = events_request(target(&author));
            change(&mut request);
            invalid(author.stack.client.events(request).await, reason, field);
        }
        let mut most = events_request(target(&author));
        most.page_size = 1_000;
        author.stack.client.events(most).await.unwrap();
    });
}

#[test]
fn invalid_listings() {
    type Change = fn(&mut proto::ListConversationsRequest);
    fn session(request: &mut proto::ListConversationsRequest, id: &str) {
        request.filter = Some(Filter::SessionId(id.to_owned()));
    }
    let cases: [(Change, &str, &str); 8] = [
        (|it| it.agent_id.clear(), "FIELD_MISSING", "agent_id"),
        (|it| it.filter = None, "FIELD_MISSING", "filter"),
        (|it| session(it, ""), "FIELD_MISSING", "session_id"),
        (|it| session(it, "\n"), "FIELD_MALFORMED", "session_id"),
        (|it| session(it, &"x".repeat(257)), "FIELD_TOO_LONG", "session_id"),
        (|it| it.status = 44, "FIELD_OUT_OF_RANGE", "status"),
        (|it| it.page_size = 201, "FIELD_OUT_OF_RANGE", "page_size"),
        (|it| it.page_token = "AAAA".to_owned(), "PAGE_TOKEN_INVALID", "page_token"),
    ];
    run(async move {
        let stack = shared().await;
        for (change, reason, field) in cases {
            let mut request = whole_agent();
            change(&mut request);
            invalid(stack.client.list(request).await, reason, field);
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

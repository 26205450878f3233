//! Invalid fields of reads, at the edge of every bound: code, reason and path.

use tests::errors::check_failure;
use tests::stack::Stack;
use tonic::{Code, Status};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

use crate::write::with;

/// The expected result of a case: success, or code, reason and field.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Pass,
    Fail(&'static str, &'static str),
    NotFound,
}

use Expected::{Fail, NotFound, Pass};

/// Checks one outcome.
fn check<T: std::fmt::Debug>(case: &str, outcome: Result<T, Status>, must: Expected) {
    match must {
        Pass => drop(outcome.unwrap_or_else(|status| panic!("{case}: {status:?}"))),
        Fail(reason, field) => {
            check_failure(case, outcome, (Code::InvalidArgument, reason, field));
        }
        NotFound => {
            let expected = (Code::NotFound, "CONVERSATION_NOT_FOUND", "");
            check_failure(case, outcome, expected);
        }
    }
}

type Target = (&'static str, Expected, fn(&mut proto::ReadTarget));

#[rustfmt::skip]
const TARGETS: [Target; 9] = [
    ("as it is", Pass, |_| ()),
    ("no agent", Fail("FIELD_MISSING", "target.agent_id"), |t| t.agent_id.clear()),
    ("an agent with a colon", Fail("FIELD_MALFORMED", "target.agent_id"), |t| t.agent_id.push(':')),
    ("an agent of 65", Fail("FIELD_TOO_LONG", "target.agent_id"), |t| t.agent_id = "a".repeat(65)),
    ("a wildcard", Fail("FIELD_MALFORMED", "target.conversation_id"), |t| t.conversation_id.push('*')),
    ("129", Fail("FIELD_TOO_LONG", "target.conversation_id"), |t| t.conversation_id = "c".repeat(129)),
    ("no conversation", Fail("FIELD_MISSING", "target.conversation_id"), |t| t.conversation_id.clear()),
    ("an unknown consistency", Fail("FIELD_OUT_OF_RANGE", "target.consistency"), |t| t.consistency = 4),
    ("a missing conversation", NotFound, |t| t.conversation_id = "none".to_owned()),
];

#[tokio::test(flavor = "multi_thread")]
async fn of_targets() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let get = async |case, target: Option<proto::ReadTarget>, must| {
        let mut reader = agent.caller().read();
        let request = proto::GetConversationRequest { target: target.clone() };
        check(case, reader.get_conversation(request).await, must);
        let (messages_max, target) = (5, target.clone());
        let request =
            proto::AssembleContextRequest { target, messages_max, ..proto::AssembleContextRequest::default() };
        let target = request.target.clone();
        check(case, reader.assemble_context(request).await, must);
        let request = proto::ListEventsRequest { target, ..Default::default() };
        check(case, reader.list_events(request).await, must);
    };
    for (case, must, change) in TARGETS {
        get(case, Some(with(agent.read_target("c"), change)), must).await;
    }
    get("no target", None, Fail("FIELD_MISSING", "target")).await;
    let eventual = agent.eventual_target("none");
    get("missing in the rows", Some(eventual), NotFound).await;
}

type Events = (&'static str, Expected, fn(&mut proto::ListEventsRequest));

#[rustfmt::skip]
const EVENTS: [Events; 9] = [
    ("1,000 of a page", Pass, |r| r.page_size = 1_000),
    ("1,001 of a page", Fail("FIELD_OUT_OF_RANGE", "page_size"), |r| r.page_size = 1_001),
    ("an end before the beginning", Fail("FIELD_OUT_OF_RANGE", "to_version"), |r| (r.from_version, r.to_version) = (3, 2)),
    ("an end past the last", Pass, |r| (r.from_version, r.to_version) = (3, 9)),
    ("an unknown direction", Fail("FIELD_OUT_OF_RANGE", "direction"), |r| r.direction = 9),
    ("an unknown kind", Fail("FIELD_OUT_OF_RANGE", "kinds[1]"), |r| r.kinds = vec![1, 99]),
    ("no kind", Fail("FIELD_MISSING", "kinds[0]"), |r| r.kinds = vec![0]),
    ("a page token of nobody's", Fail("PAGE_TOKEN_INVALID", "page_token"), |r| r.page_token.push('x')),
    ("a page token that is no text of ours", Fail("PAGE_TOKEN_INVALID", "page_token"), |r| r.page_token.push('%')),
];

#[tokio::test(flavor = "multi_thread")]
async fn of_events_and_contexts() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    for (case, must, change) in EVENTS {
        let request = with(agent.list_request("c"), change);
        check(case, agent.try_events(request).await, must);
    }
    let too_many = Fail("FIELD_OUT_OF_RANGE", "messages_max");
    for (messages_max, must) in [(0, Pass), (1_000, Pass), (1_001, too_many)] {
        let outcome = agent.try_context(agent.read_target("c"), messages_max).await;
        check("messages_max", outcome, must);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_watches() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let watch = async |case, agent_id: &str, conversation: &str, from_version, must| {
        let request = proto::WatchConversationRequest {
            agent_id: agent_id.to_owned(),
            conversation_id: conversation.to_owned(),
            from_version,
        };
        check(case, agent.caller().read().watch_conversation(request).await, must);
    };
    let too_late = Fail("FIELD_OUT_OF_RANGE", "from_version");
    let malformed = Fail("FIELD_MALFORMED", "conversation_id");
    watch("no agent", "", "c", 0, Fail("FIELD_MISSING", "agent_id")).await;
    watch("a wildcard", agent.id(), "*", 0, malformed).await;
    watch("a missing one", agent.id(), "none", 0, NotFound).await;
    watch("from what comes next", agent.id(), "c", 2, Pass).await;
    watch("from after that", agent.id(), "c", 3, too_late).await;
}

type Listing = (&'static str, Expected, fn(&mut proto::ListConversationsRequest));

#[rustfmt::skip]
const LISTINGS: [Listing; 11] = [
    ("as it is", Pass, |_| ()),
    ("one of a page", Pass, |r| r.page_size = 1),
    ("200 of a page", Pass, |r| r.page_size = 200),
    ("201 of a page", Fail("FIELD_OUT_OF_RANGE", "page_size"), |r| r.page_size = 201),
    ("no agent", Fail("FIELD_MISSING", "agent_id"), |r| r.agent_id.clear()),
    ("no filter", Fail("FIELD_MISSING", "filter"), |r| r.filter = None),
    ("an empty session", Fail("FIELD_MISSING", "session_id"), |r| r.filter = Some(Filter::SessionId(String::new()))),
    ("U+0000", Fail("FIELD_MALFORMED", "session_id"), |r| r.filter = Some(Filter::SessionId("\0".to_owned()))),
    ("a user of 257", Fail("FIELD_TOO_LONG", "user_id"), |r| r.filter = Some(Filter::UserId("u".repeat(257)))),
    ("an unknown status", Fail("FIELD_OUT_OF_RANGE", "status"), |r| r.status = 7),
    ("a page token of nobody's", Fail("PAGE_TOKEN_INVALID", "page_token"), |r| r.page_token.push('%')),
];

#[tokio::test(flavor = "multi_thread")]
async fn of_listings() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for (case, must, change) in LISTINGS {
        let request = agent.conversations_request(Filter::WholeAgent(proto::WholeAgent {}));
        check(case, agent.try_conversations(with(request, change)).await, must);
    }
}

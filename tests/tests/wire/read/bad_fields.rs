//! Fields of reads that break a rule, at the edge of every bound: code, reason and path.

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::stack::Setup;
use tonic::{Code, Status};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

/// A read of any rpc.
#[derive(Debug)]
enum Ask {
    Get(Option<proto::ReadTarget>),
    Context(Option<proto::ReadTarget>, u32),
    Events(proto::ListEventsRequest),
    Conversations(proto::ListConversationsRequest),
    Watch(proto::WatchConversationRequest),
}

impl Ask {
    async fn send(self, agent: &Agent) -> Result<(), Status> {
        let mut reader = agent.caller().read();
        match self {
            Self::Get(target) => reader
                .get_conversation(proto::GetConversationRequest { target })
                .await
                .map(drop),
            Self::Context(target, messages_max) => {
                let request = proto::AssembleContextRequest {
                    target,
                    messages_max,
                };
                reader.assemble_context(request).await.map(drop)
            }
            Self::Events(request) => reader.list_events(request).await.map(drop),
            Self::Conversations(request) => reader.list_conversations(request).await.map(drop),
            Self::Watch(request) => reader.watch_conversation(request).await.map(drop),
        }
    }
}

type Case = (&'static str, Ask, Option<Expected>);

async fn check(agent: &Agent, (case, ask, expected): Case) {
    let outcome = ask.send(agent).await;
    match expected {
        None => outcome.unwrap_or_else(|status| panic!("{case}: {status:?}")),
        Some(expected) => drop(check_failure(case, outcome, expected)),
    }
}

fn invalid(reason: &'static str, field: &'static str) -> Option<Expected> {
    Some((Code::InvalidArgument, reason, field))
}

#[tokio::test(flavor = "multi_thread")]
async fn of_targets() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let target = |change: fn(&mut proto::ReadTarget)| {
        let mut target = agent.read_target("c");
        change(&mut target);
        Some(target)
    };
    let events = |target| {
        Ask::Events(proto::ListEventsRequest {
            target,
            ..Default::default()
        })
    };
    let missing = Some((Code::NotFound, "CONVERSATION_NOT_FOUND", ""));
    let cases: [Case; 11] = [
        (
            "no target",
            Ask::Get(None),
            invalid("FIELD_MISSING", "target"),
        ),
        (
            "no target of a context",
            Ask::Context(None, 1),
            invalid("FIELD_MISSING", "target"),
        ),
        (
            "no target of events",
            events(None),
            invalid("FIELD_MISSING", "target"),
        ),
        (
            "no agent",
            Ask::Get(target(|target| target.agent_id.clear())),
            invalid("FIELD_MISSING", "target.agent_id"),
        ),
        (
            "an agent with a colon",
            events(target(|target| target.agent_id.push(':'))),
            invalid("FIELD_MALFORMED", "target.agent_id"),
        ),
        (
            "a long agent",
            Ask::Get(target(|target| target.agent_id = "a".repeat(65))),
            invalid("FIELD_TOO_LONG", "target.agent_id"),
        ),
        (
            "a conversation that is a wildcard",
            Ask::Context(target(|target| target.conversation_id = "*".to_owned()), 1),
            invalid("FIELD_MALFORMED", "target.conversation_id"),
        ),
        (
            "an unknown consistency",
            Ask::Get(target(|target| target.consistency = 3)),
            invalid("FIELD_OUT_OF_RANGE", "target.consistency"),
        ),
        (
            "a conversation that is not there",
            Ask::Get(target(|target| target.conversation_id = "none".to_owned())),
            missing,
        ),
        (
            "events of one that is not there",
            events(target(|target| target.conversation_id = "none".to_owned())),
            missing,
        ),
        (
            "a context of one that is not there, in the rows",
            Ask::Context(
                target(|target| {
                    target.conversation_id = "none".to_owned();
                    target.consistency = proto::Consistency::Eventual.into();
                }),
                1,
            ),
            missing,
        ),
    ];
    for case in cases {
        check(&agent, case).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_pages_and_ranges() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let list = |change: fn(&mut proto::ListEventsRequest)| {
        let mut request = agent.list_request("c");
        change(&mut request);
        Ask::Events(request)
    };
    let watch = |from_version| {
        Ask::Watch(proto::WatchConversationRequest {
            agent_id: agent.id().to_owned(),
            conversation_id: "c".to_owned(),
            from_version,
        })
    };
    let context = |messages_max| Ask::Context(Some(agent.read_target("c")), messages_max);
    let no_agent = Ask::Watch(proto::WatchConversationRequest::default());
    let cases: [Case; 13] = [
        ("1,000 messages", context(1_000), None),
        (
            "1,001 messages",
            context(1_001),
            invalid("FIELD_OUT_OF_RANGE", "messages_max"),
        ),
        ("1,000 events", list(|r| r.page_size = 1_000), None),
        (
            "1,001 events",
            list(|r| r.page_size = 1_001),
            invalid("FIELD_OUT_OF_RANGE", "page_size"),
        ),
        (
            "a range that ends before it begins",
            list(|r| (r.from_version, r.to_version) = (3, 2)),
            invalid("FIELD_OUT_OF_RANGE", "to_version"),
        ),
        (
            "a range past the end",
            list(|r| (r.from_version, r.to_version) = (3, 9)),
            None,
        ),
        (
            "an unknown direction",
            list(|r| r.direction = 9),
            invalid("FIELD_OUT_OF_RANGE", "direction"),
        ),
        (
            "an unknown kind",
            list(|r| r.kinds = vec![1, 11]),
            invalid("FIELD_OUT_OF_RANGE", "kinds[1]"),
        ),
        (
            "no kind",
            list(|r| r.kinds = vec![0]),
            invalid("FIELD_MISSING", "kinds[0]"),
        ),
        (
            "a watch of nobody's",
            no_agent,
            invalid("FIELD_MISSING", "agent_id"),
        ),
        ("a watch from what comes next", watch(2), None),
        (
            "a watch from after that",
            watch(3),
            invalid("FIELD_OUT_OF_RANGE", "from_version"),
        ),
        (
            "a page token of nobody's",
            list(|r| r.page_token = "x".to_owned()),
            invalid("PAGE_TOKEN_INVALID", "page_token"),
        ),
    ];
    for case in cases {
        check(&agent, case).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_listings() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let list = |change: fn(&mut proto::ListConversationsRequest)| {
        let mut request = proto::ListConversationsRequest {
            agent_id: agent.id().to_owned(),
            filter: Some(Filter::WholeAgent(proto::WholeAgent {})),
            ..Default::default()
        };
        change(&mut request);
        Ask::Conversations(request)
    };
    let long = || "u".repeat(257);
    let cases: [Case; 9] = [
        ("200 of a page", list(|r| r.page_size = 200), None),
        (
            "201 of a page",
            list(|r| r.page_size = 201),
            invalid("FIELD_OUT_OF_RANGE", "page_size"),
        ),
        (
            "no agent",
            list(|r| r.agent_id.clear()),
            invalid("FIELD_MISSING", "agent_id"),
        ),
        (
            "no filter",
            list(|r| r.filter = None),
            invalid("FIELD_MISSING", "filter"),
        ),
        (
            "an empty session",
            list(|r| r.filter = Some(Filter::SessionId(String::new()))),
            invalid("FIELD_MISSING", "session_id"),
        ),
        (
            "a session with U+0000",
            list(|r| r.filter = Some(Filter::SessionId("\0".to_owned()))),
            invalid("FIELD_MALFORMED", "session_id"),
        ),
        (
            "an unknown status",
            list(|r| r.status = 7),
            invalid("FIELD_OUT_OF_RANGE", "status"),
        ),
        (
            "a page token of nobody's",
            list(|r| r.page_token = "%".to_owned()),
            invalid("PAGE_TOKEN_INVALID", "page_token"),
        ),
        ("an empty page", list(|r| r.page_size = 1), None),
    ];
    for case in cases {
        check(&agent, case).await;
    }
    let request = |filter| {
        Ask::Conversations(proto::ListConversationsRequest {
            agent_id: agent.id().to_owned(),
            filter: Some(filter),
            ..Default::default()
        })
    };
    let too_long = invalid("FIELD_TOO_LONG", "user_id");
    check(
        &agent,
        ("a long user", request(Filter::UserId(long())), too_long),
    )
    .await;
}

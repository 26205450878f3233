//! The log of model calls at the writer: as the agent's settings define, and nothing of erased conversations.

use domain::{ConversationId, ConversationKey, Sequence, TenantId};
use event_log::{LoggedMessage, LoggedSubject, Record};
use futures::StreamExt as _;
use futures::future::join_all;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::eventually::within;
use tests::stack::{Setup, Stack};
use tonic::Code;
use uuid::Uuid;
use wire::proto::operate::v1::{AgentSettings, ProviderLogDetail, ProviderLogSettings, Scope};
use wire::proto::run::v1 as proto;

use super::record_of;

async fn set(stack: &Stack, agent: &Agent, detail: ProviderLogDetail) {
    let settings = AgentSettings {
        provider_logs: Some(ProviderLogSettings { detail: detail.into(), days: 3 }),
        ..AgentSettings::default()
    };
    stack.operator().await.settings(agent.id(), settings).await;
}

fn request(agent: &Agent, conversation: &str) -> proto::LogModelCallRequest {
    let mut request = agent.log_request(conversation, &Uuid::now_v7().to_string());
    let call = request.call.as_mut().expect("a call");
    call.request = Some(proto::LoggedBody { text: "what was asked".to_owned(), is_cut: false });
    request
}

fn conversation_of(message: &LoggedMessage) -> &str {
    let LoggedSubject::Conversation(key) = &message.subject else { panic!("{:?}", message.subject) };
    key.conversation.as_str()
}

/// The number of messages that the stream of the log ever had.
async fn count_stored(record: &Record) -> u64 {
    let bounds = record.logs_bounds().await.expect("an answer");
    bounds.expect("a stream").last.0
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_define_what_is_logged() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let record = record_of(&stack).await;
    for off in [None, Some(ProviderLogDetail::Off)] {
        if let Some(off) = off {
            set(&stack, &agent, off).await;
        }
        let kept = agent.try_log(request(&agent, "c")).await;
        assert!(!kept.expect("an answer"));
        assert_eq!(count_stored(&record).await, 0);
    }
    let mut logged = record.follow_logs(Sequence(0));
    for (detail, has_body) in [(ProviderLogDetail::Facts, false), (ProviderLogDetail::Bodies, true)] {
        set(&stack, &agent, detail).await;
        let request = request(&agent, "c");
        for _ in 0..2 {
            // A retry is stored once.
            assert!(agent.try_log(request.clone()).await.expect("an answer"));
        }
        let message = within("a logged call", logged.next()).await.expect("an item").expect("a call");
        let kept = message.open().expect("a call");
        assert_eq!((kept.days, kept.agent.as_str()), (3, agent.id()));
        assert_eq!(kept.call.request.is_some(), has_body);
        assert_eq!(conversation_of(&message), "c");
    }
    assert_eq!(count_stored(&record).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_and_missing_conversations_are_not_logged() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    set(&stack, &agent, ProviderLogDetail::Bodies).await;
    agent.create("c").await;
    agent.create("kept").await;
    for conversation in ["c", "kept", "c"] {
        let kept = agent.try_log(request(&agent, conversation)).await;
        assert!(kept.expect("an answer"));
    }
    let record = record_of(&stack).await;
    let missing = agent.try_log(request(&agent, "none")).await;
    check_failure("none", missing, (Code::NotFound, "CONVERSATION_NOT_FOUND", ""));
    agent.try_erase(agent.target("c")).await.expect("an erasure");
    let late = agent.try_log(request(&agent, "c")).await;
    let erased = (Code::FailedPrecondition, "CONVERSATION_ERASED", "");
    check_failure("late", late, erased);
    let mut logged = record.follow_logs(Sequence(0));
    let first = within("a logged call", logged.next()).await.expect("an item").expect("a call");
    assert_eq!(conversation_of(&first), "kept");
    assert_eq!(count_stored(&record).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_of_an_erasure_race_are_removed() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    set(&stack, &agent, ProviderLogDetail::Facts).await;
    let record = record_of(&stack).await;
    let tenant = agent.id().replacen("a-", "t-", 1);
    for round in 0..8 {
        let id = format!("c-{round}");
        agent.create(&id).await;
        let logging = join_all((0..16).map(|_| agent.try_log(request(&agent, &id))));
        let erasing = agent.try_erase(agent.target(&id));
        let (_, erased) = tokio::join!(logging, erasing);
        erased.expect("an erasure");
        let key = ConversationKey {
            tenant: TenantId::parse(tenant.as_str()).expect("an id"),
            conversation: ConversationId::parse(id).expect("an id"),
        };
        assert_eq!(record.erase_logs(&key).await, Ok(0), "what is left");
    }
    assert!(count_stored(&record).await > 0, "some are stored before");
}

#[tokio::test(flavor = "multi_thread")]
async fn logging_needs_the_append_scope_and_valid_sizes() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    set(&stack, &agent, ProviderLogDetail::Facts).await;
    agent.create("c").await;
    let check = async |change: fn(&mut proto::LogModelCallRequest), field: &'static str, reason: &'static str| {
        let mut request = request(&agent, "c");
        change(&mut request);
        let outcome = agent.try_log(request).await;
        check_failure(field, outcome, (Code::InvalidArgument, reason, field));
    };
    check(|request| request.call = None, "call", "FIELD_MISSING").await;
    check(|request| request.agent_id.clear(), "agent_id", "FIELD_MISSING").await;
    check(|request| request.call.as_mut().expect("a call").attempt = 0, "call.attempt", "FIELD_MISSING").await;
    let stranger = stack.any_agent().await;
    set(&stack, &stranger, ProviderLogDetail::Facts).await;
    let foreign = stranger.try_log(request(&stranger, "c")).await;
    let not_found = (Code::NotFound, "CONVERSATION_NOT_FOUND", "");
    check_failure("another tenant's", foreign, not_found);
    let operator = stack.operator().await;
    let token = operator.token(&[Scope::Read], "").await;
    let reader = Agent::new(agent.caller().with_token(&token.secret), agent.id());
    let refused = reader.try_log(request(&reader, "c")).await;
    check_failure("a reader", refused, (Code::PermissionDenied, "MISSING_SCOPE", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn metered_calls_are_stored_once_and_within_bounds() {
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let metered = proto::MeterModelCallRequest {
        call: Some(proto::MeteredCall {
            call_id: Uuid::now_v7().to_string(),
            agent_id: agent.id().to_owned(),
            api_key_id: "k".repeat(256),
            owner_digest: "a0".repeat(16),
            input_tokens: u64::MAX,
            output_tokens: 1,
        }),
    };
    for _ in 0..2 {
        assert!(agent.try_meter(metered.clone()).await.expect("an answer"));
    }
    assert_eq!(count_stored(&record_of(&stack).await).await, 1);
    let check = async |change: fn(&mut proto::MeteredCall), field: &'static str, reason| {
        let mut request = metered.clone();
        change(request.call.as_mut().expect("a call"));
        let outcome = agent.try_meter(request).await;
        check_failure(field, outcome, (Code::InvalidArgument, reason, field));
    };
    let empty = agent.try_meter(proto::MeterModelCallRequest::default()).await;
    let missing = (Code::InvalidArgument, "FIELD_MISSING", "call");
    check_failure("nothing", empty, missing);
    check(|call| call.call_id.clear(), "call.call_id", "FIELD_MALFORMED").await;
    check(|call| call.agent_id.clear(), "call.agent_id", "FIELD_MISSING").await;
    let too_long = |call: &mut proto::MeteredCall| call.api_key_id.push('k');
    check(too_long, "call.api_key_id", "FIELD_TOO_LONG").await;
    let not_hex = |call: &mut proto::MeteredCall| call.owner_digest = "ada".to_owned();
    check(not_hex, "call.owner_digest", "FIELD_MALFORMED").await;
    let stranger = stack.any_agent().await;
    let foreign = stranger.try_meter(metered).await;
    let not_found = (Code::NotFound, "AGENT_NOT_FOUND", "call.agent_id");
    check_failure("another tenant's", foreign, not_found);
}

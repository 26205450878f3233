//! Events and commits on the wire: golden bytes that must never change, and round trips.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use bytes::Bytes;
use domain::bounds::EVENT_BYTES_MAX;
use domain::event::{
    ConversationCreated, ConversationUpdated, DocumentDeleted, DocumentPut, ErrorOccurred, HistoryRewound,
    HistorySummarised, MessageAppended, OwnerChanged, Role, RunFinished, RunStarted, SystemNoted, ToolCalled,
    ToolOutcome, ToolOutput, ToolReturned, Usage, UsageSource,
};
use domain::{
    Actor, AgentId, CallId, ChainHash, ChannelId, ClientContext, CommitId, ConversationId, DocumentName, Event,
    EventId, EventTokens, Fact, FieldChange, ForkPoint, JsonText, Label, Lifecycle, MediaSource, NewEvent, Owner, Part,
    RequestDigest, RunId, RunOutcome, Sequence, SessionId, TenantId, Timestamp, ToolName, UserId, Version,
    ViolationReason,
};
use proptest::prelude::*;
use prost::Message as _;
use uuid::Uuid;
use wire::commit::{COMPRESSED_FROM_BYTES, CorruptCommit, Draft, Sealed, open, open_head, seal};

#[expect(clippy::unnecessary_wraps, reason = "labels are optional nearly everywhere")]
fn label(text: &str) -> Option<Label> {
    Some(Label::parse(text).unwrap())
}

fn json(text: &str) -> JsonText {
    JsonText::parse(text).unwrap()
}

fn event(fact: Fact) -> Event {
    Event {
        id: EventId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001)),
        occurred_at: Some(Timestamp(1_700_000_000_123_456_789)),
        metadata: Some(json("{\"k\":1.0}")),
        tokens: EventTokens::default(),
        fact,
    }
}

fn every_part() -> Vec<Part> {
    vec![
        Part::Text("a\0b é".to_owned()),
        Part::Image {
            source: MediaSource::Url("https://example.org/a.png".to_owned()),
            media_type: label("image/png"),
            detail: label("low"),
        },
        Part::File { source: MediaSource::FileId("file_1".to_owned()), media_type: None, filename: label("a.pdf") },
        Part::Thinking { text: "hm".to_owned(), signature: Some("c2ln".to_owned()) },
        Part::Thinking { text: String::new(), signature: None },
        Part::RedactedThinking("ZW5j".to_owned()),
        Part::Refusal("no".to_owned()),
        Part::ProviderItem { provider: label("openai").unwrap(), item: json("{\"b\":1, \"a\":2e400}") },
    ]
}

fn message(provider: Option<Label>) -> Fact {
    Fact::MessageAppended(MessageAppended {
        role: Role::Assistant,
        parts: every_part(),
        author: label("Ann"),
        model: label("m-1"),
        provider,
        provider_response_id: label("resp_1"),
        finish_reason: label("stop"),
        usage: Some(Usage { input_tokens: 9, output_tokens: 8, cached_tokens: 7, reasoning_tokens: 6 }),
        usage_source: UsageSource::Reported,
    })
}

fn called(provider: Option<Label>) -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse("call_1").unwrap(),
        tool_name: ToolName::parse("search").unwrap(),
        input: json("{\"n\": 0.10000000000000000555}"),
        model: label("m-1"),
        provider,
        provider_response_id: label("resp_1"),
        signature: Some("c2ln".to_owned()),
    })
}

fn created() -> Fact {
    Fact::from(ConversationCreated {
        agent: AgentId::parse("helper").unwrap(),
        owner: Owner::Session(SessionId::parse("s-1").unwrap()),
        title: Some("Title".to_owned()),
        metadata: Some(json("{}")),
        client_context: ClientContext {
            page_url: Some("https://example.org/".to_owned()),
            referrer: Some("https://example.net/".to_owned()),
            user_agent: Some("agent/1".to_owned()),
            locale: Some("de-AT".to_owned()),
            timezone: Some("Europe/Vienna".to_owned()),
            custom_metadata: Some(json("{\"plan\":\"pro\"}")),
        },
        provider_conversation_id: label("conv_1"),
        forked_from: None,
    })
}

fn run() -> RunId {
    RunId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0002))
}

fn forked() -> Fact {
    let Fact::Lifecycle(Lifecycle::ConversationCreated(created)) = created() else { panic!("another fact") };
    Fact::from(ConversationCreated {
        forked_from: Some(ForkPoint {
            conversation: ConversationId::parse("c-0").unwrap(),
            version: Version(300),
            depth: 2,
        }),
        ..created
    })
}

fn owner_changed() -> Fact {
    Fact::from(OwnerChanged {
        owner: Owner::User(UserId::parse("u-1").unwrap()),
        previous: Owner::Session(SessionId::parse("s-1").unwrap()),
    })
}

fn channel() -> Owner {
    Owner::Channel(ChannelId::parse("0123456789abcdef".repeat(4)).unwrap())
}

fn created_by_channel() -> Fact {
    let Fact::Lifecycle(Lifecycle::ConversationCreated(created)) = created() else { panic!("another fact") };
    Fact::from(ConversationCreated { owner: channel(), ..created })
}

fn run_started() -> Fact {
    Fact::from(RunStarted { run: run(), model: label("m-1"), provider: label("openai") })
}

fn run_finished(outcome: RunOutcome) -> Fact {
    Fact::from(RunFinished { run: run(), outcome })
}

fn summarised(previous: Option<Version>) -> Fact {
    Fact::from(HistorySummarised {
        through: Version(300),
        text: "They spoke.".to_owned(),
        model: label("m-1"),
        previous,
    })
}

/// Each kind of fact, with every field set. Its bytes never change.
fn every_fact() -> Vec<(&'static str, Fact)> {
    vec![
        ("message_appended", message(None)),
        ("message_appended_by_provider", message(label("openai"))),
        ("tool_called", called(None)),
        ("tool_called_by_provider", called(label("openai"))),
        ("tool_returned_json", returned(ToolOutput::Json(json("[1, 2]")), ToolOutcome::Failed)),
        ("tool_returned_parts", returned(ToolOutput::Parts(vec![Part::Text("ok".to_owned())]), ToolOutcome::Succeeded)),
        ("system_noted", Fact::from(SystemNoted { topic: label("truncation"), text: "cut".to_owned() })),
        (
            "error_occurred",
            Fact::from(ErrorOccurred { error_type: label("rate_limit").unwrap(), message: "slow down".to_owned() }),
        ),
        ("conversation_created", created()),
        (
            "conversation_updated",
            Fact::from(ConversationUpdated {
                title: Some(FieldChange::Clear),
                metadata: Some(FieldChange::Set(json("{}"))),
                provider_conversation_id: None,
                last_response_id: Some(FieldChange::Set(label("resp_2").unwrap())),
            }),
        ),
        ("conversation_archived", Fact::Lifecycle(Lifecycle::ConversationArchived)),
        ("conversation_restored", Fact::Lifecycle(Lifecycle::ConversationRestored)),
        ("conversation_erased", Fact::Lifecycle(Lifecycle::ConversationErased)),
        ("first_history_summarised", summarised(None)),
        ("history_summarised", summarised(Some(Version(7)))),
        ("conversation_created_as_fork", forked()),
    ]
    .into_iter()
    .chain(facts_of_runs())
    .chain(facts_of_annotations())
    .collect()
}

fn returned(output: ToolOutput, outcome: ToolOutcome) -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse("call_1").unwrap(),
        tool_name: Some(ToolName::parse("search").unwrap()),
        output,
        outcome,
    })
}

fn history_rewound() -> (&'static str, Fact) {
    let rewound = HistoryRewound { to: Version(300) };
    ("history_rewound", Fact::from(rewound))
}

fn facts_of_annotations() -> [(&'static str, Fact); 4] {
    let name = || {
        let namespace = vec!["memories".to_owned(), "user é".to_owned()];
        DocumentName::parse(namespace, "k/1".to_owned()).unwrap()
    };
    let put =
        |ttl_seconds| Fact::from(DocumentPut { name: name(), value: json("{\"b\": 1.0,  \"a\": 2e400}"), ttl_seconds });
    let deleted = DocumentDeleted { name: name() };
    [
        history_rewound(),
        ("document_put", put(None)),
        ("document_put_with_ttl", put(Some(3_600))),
        ("document_deleted", Fact::from(deleted)),
    ]
}

fn facts_of_runs() -> Vec<(&'static str, Fact)> {
    vec![
        ("owner_changed", owner_changed()),
        ("conversation_created_by_channel", created_by_channel()),
        ("run_started", run_started()),
        ("run_stop_requested", Fact::Lifecycle(Lifecycle::RunStopRequested(run()))),
        ("run_finished", run_finished(RunOutcome::Completed)),
        ("run_finished_stopped", run_finished(RunOutcome::Stopped)),
        ("run_finished_failed", run_finished(RunOutcome::Failed)),
        ("run_finished_abandoned", run_finished(RunOutcome::Abandoned)),
    ]
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

#[test]
fn golden_bytes() {
    let lines: Vec<String> = every_fact()
        .into_iter()
        .map(|(name, fact)| {
            let bytes = wire::event::to_proto(&event(fact)).encode_to_vec();
            format!("{name} {}", hex(&bytes))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// Facts with empty texts, which earlier versions accepted from callers.
fn empty_texts() -> Vec<(&'static str, Fact, &'static str)> {
    let message = |part: Part| {
        let parts = vec![Part::Text("a".to_owned()), part];
        Fact::MessageAppended(MessageAppended::new(Role::User, parts))
    };
    let note = Fact::from(SystemNoted { topic: None, text: String::new() });
    let (text, refusal) = (Part::Text(String::new()), Part::Refusal(String::new()));
    vec![
        ("text", message(text), "message_appended.parts[1].text"),
        ("refusal", message(refusal), "message_appended.parts[1].refusal"),
        ("note", note, "system_noted.text"),
    ]
}

#[test]
fn stored_events_with_empty_texts_are_read_and_new_ones_rejected() {
    let mut golden = Vec::new();
    for (name, fact, field) in empty_texts() {
        let event = event(fact);
        let proto = wire::event::to_proto(&event);
        let bytes = proto.encode_to_vec();
        golden.push(format!("{name} {}", hex(&bytes)));
        assert_eq!(wire::commit::decode_event(bytes.into()), Ok(event));
        let rejected = wire::event::new_event_from_proto(proto).unwrap_err();
        let seen = (rejected.reason, rejected.field);
        assert_eq!(seen, (ViolationReason::Missing, field.into()), "{name}");
    }
    insta::assert_snapshot!(golden.join("\n"));
}

#[test]
fn every_event_round_trips() {
    for (name, fact) in every_fact() {
        let event = event(fact);
        let bytes = wire::event::to_proto(&event).encode_to_vec();
        assert_eq!(wire::commit::decode_event(bytes.into()), Ok(event), "{name}");
    }
}

#[test]
fn an_estimated_usage_is_marked_and_an_unknown_source_is_read() {
    let mut fact = message(None);
    let reported = wire::event::to_proto(&event(fact.clone())).encode_to_vec();
    let Fact::MessageAppended(appended) = &mut fact else { panic!("another fact") };
    appended.usage_source = UsageSource::Estimated;
    let estimated = wire::event::to_proto(&event(fact.clone()));
    let bytes = estimated.encode_to_vec();
    assert_eq!(bytes.len(), reported.len() + 2, "only a mark is added");
    assert_eq!(wire::commit::decode_event(bytes.into()), Ok(event(fact)));
    let mut later = estimated;
    if let Some(wire::proto::event::v1::event::Fact::MessageAppended(appended)) = &mut later.fact {
        appended.usage_source = 99;
    }
    assert!(wire::commit::decode_event(later.encode_to_vec().into()).is_ok());
}

#[test]
fn lifecycle_events_of_callers_are_rejected() {
    for (name, fact) in every_fact() {
        let proto = wire::event::to_proto(&event(fact.clone()));
        let taken: Result<NewEvent, _> = wire::event::new_event_from_proto(proto);
        match name {
            "history_summarised" => assert_eq!(taken.unwrap_err().field, "history_summarised.previous_version"),
            _ if ["conversation_", "owner_", "run_"].iter().any(|own| name.starts_with(own)) => {
                assert_eq!(taken.unwrap_err().field, "fact", "{name}");
            }
            _ => assert_eq!(taken.unwrap().fact, fact, "{name}"),
        }
    }
}

struct Writer {
    tenant: TenantId,
    conversation: ConversationId,
    actor: Actor,
}

impl Writer {
    fn new() -> Self {
        Self {
            tenant: TenantId::parse("acme").unwrap(),
            conversation: ConversationId::parse("c1").unwrap(),
            actor: Actor(Label::parse("tests").unwrap()),
        }
    }

    fn seal(&self, n: u128, events: &[Event], previous: Option<(&Sealed, u64)>) -> Result<Sealed, domain::Violation> {
        let draft = Draft {
            tenant: &self.tenant,
            conversation: &self.conversation,
            id: CommitId(Uuid::from_u128(n)),
            request_digest: RequestDigest([1; 16]),
            recorded_at: Timestamp(1_000),
            actor: &self.actor,
            events,
        };
        seal(&draft, previous.map(|(sealed, sequence)| (&sealed.head, Sequence(sequence))))
    }
}

#[test]
fn a_sealed_commit_opens_to_what_was_sealed() {
    let writer = Writer::new();
    let first = writer.seal(1, &[event(created())], None).unwrap();
    let events: Vec<Event> = every_fact().into_iter().take(6).map(|(_, fact)| event(fact)).collect();
    let second = writer.seal(2, &events, Some((&first, 41))).unwrap();
    let opened = open(second.message.clone()).unwrap();
    assert_eq!(opened.commit.events, events);
    assert_eq!(opened.commit.first_version, Version(2));
    assert_eq!(opened.commit.head, second.head);
    assert_eq!(open_head(second.message).unwrap(), second.head);
    assert_eq!(second.head.recent[0].sequence, Some(Sequence(41)));
    let first_body = open(first.message).unwrap().body;
    assert_eq!(ChainHash::default().next(&first_body).next(&opened.body), second.head.chain);
    for (bytes, event) in opened.event_bytes.into_iter().zip(&events) {
        assert_eq!(wire::commit::decode_event(bytes).as_ref(), Ok(event));
    }
}

/// The head of a fork, with an active run, and with a run whose stop was requested.
#[test]
fn golden_heads() {
    let writer = Writer::new();
    let first = writer.seal(1, &[event(forked())], None).unwrap();
    let running = writer.seal(2, &[event(run_started())], Some((&first, 41))).unwrap();
    let stop = event(Fact::Lifecycle(Lifecycle::RunStopRequested(run())));
    let stopping = writer.seal(3, &[stop], Some((&running, 42))).unwrap();
    let of_channel = writer.seal(1, &[event(created_by_channel())], None);
    let lines: Vec<String> =
        [("forked", first), ("running", running), ("stopping", stopping), ("of_channel", of_channel.unwrap())]
            .into_iter()
            .map(|(name, sealed)| {
                let proto = wire::head::to_proto(&sealed.head);
                let bytes = proto.encode_to_vec();
                assert_eq!(wire::head::from_proto(proto), Ok(sealed.head), "{name}");
                format!("{name} {}", hex(&bytes))
            })
            .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn bodies_are_compressed_from_their_bound_on() {
    let writer = Writer::new();
    let of_size = |text_bytes: usize| {
        let note = Fact::from(SystemNoted { topic: None, text: "x".repeat(text_bytes) });
        let first = writer.seal(1, &[event(created())], None).unwrap();
        writer.seal(2, &[event(note)], Some((&first, 1))).unwrap().message
    };
    let plain_body = |text_bytes| open(of_size(text_bytes)).unwrap().body.len();
    let overhead = plain_body(COMPRESSED_FROM_BYTES / 2) - COMPRESSED_FROM_BYTES / 2;
    let just_under = of_size(COMPRESSED_FROM_BYTES - overhead - 1);
    let at_bound = of_size(COMPRESSED_FROM_BYTES - overhead);
    assert!(just_under.len() > COMPRESSED_FROM_BYTES, "under the bound, the body is plain");
    assert!(at_bound.len() < COMPRESSED_FROM_BYTES, "at the bound, the body is compressed");
}

#[test]
fn an_event_at_its_bound_and_one_past() {
    let writer = Writer::new();
    let first = writer.seal(1, &[event(created())], None).unwrap();
    let noted = |text_bytes| event(Fact::from(SystemNoted { topic: None, text: "x".repeat(text_bytes) }));
    let sizeof = |event: &Event| wire::event::to_proto(event).encoded_len();
    let overhead = sizeof(&noted(EVENT_BYTES_MAX / 2)) - EVENT_BYTES_MAX / 2;
    let at_bound = noted(EVENT_BYTES_MAX - overhead);
    assert_eq!(sizeof(&at_bound), EVENT_BYTES_MAX);
    assert!(writer.seal(2, &[at_bound], Some((&first, 1))).is_ok());
    let past = writer.seal(2, &[event(message(None)), noted(EVENT_BYTES_MAX - overhead + 1)], Some((&first, 1)));
    let violation = past.unwrap_err();
    assert_eq!((violation.reason, violation.field.to_string().as_str()), (ViolationReason::EventTooLarge, "events[1]"));
}

#[test]
fn invalid_messages_are_corrupt_commits() {
    let writer = Writer::new();
    let sealed = writer.seal(1, &[event(created())], None).unwrap();
    assert_eq!(open(Bytes::from_static(b"\xff\xff")).unwrap_err(), CorruptCommit::NotACommit);
    assert_eq!(open(Bytes::new()).unwrap_err(), CorruptCommit::NotACommit);
    let mut commit = wire::proto::event::v1::Commit::decode(sealed.message).unwrap();
    commit.codec = 99;
    assert_eq!(open(commit.encode_to_vec().into()).unwrap_err(), CorruptCommit::Body);
    commit.codec = 1;
    commit.envelope.as_mut().unwrap().event_count = 2;
    assert_eq!(open(commit.encode_to_vec().into()).unwrap_err(), CorruptCommit::EventCount { counted: 2, held: 1 });
    commit.envelope.as_mut().unwrap().event_count = 1;
    commit.envelope.as_mut().unwrap().commit_id = Bytes::from_static(b"short");
    assert_eq!(open(commit.encode_to_vec().into()).unwrap_err(), CorruptCommit::Field("commit_id".into()));
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        any::<String>().prop_map(Part::Text),
        any::<String>().prop_map(Part::Refusal),
        any::<(String, Option<String>)>().prop_map(|(text, signature)| Part::Thinking { text, signature }),
        "[a-z]{1,9}".prop_map(|id| Part::Image { source: MediaSource::FileId(id), media_type: None, detail: None }),
    ]
}

fn any_message() -> impl Strategy<Value = Event> {
    let role = prop::sample::select(Role::ALL.to_vec());
    (role, prop::collection::vec(any_part(), 0..5), any::<i64>(), any::<u128>()).prop_map(|(role, parts, nanos, id)| {
        Event {
            id: EventId(Uuid::from_u128(id)),
            occurred_at: Some(Timestamp(nanos)),
            metadata: None,
            tokens: EventTokens::default(),
            fact: Fact::MessageAppended(MessageAppended::new(role, parts)),
        }
    })
}

proptest! {
    #[test]
    fn any_commit_opens_to_what_was_sealed(events in prop::collection::vec(any_message(), 1..8)) {
        let writer = Writer::new();
        let first = writer.seal(1, &[event(created())], None).unwrap();
        let sealed = writer.seal(2, &events, Some((&first, 5))).unwrap();
        prop_assert_eq!(open(sealed.message).unwrap().commit.events, events);
    }

    #[test]
    fn opening_any_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = open(bytes.into());
    }
}

#[test]
fn owners_round_trip() {
    let user = Owner::User(UserId::parse("jo@example.org").unwrap());
    for owner in [user, channel()] {
        let proto = wire::conversation::owner_to_proto(&owner);
        assert_eq!(wire::conversation::owner_from_proto(Some(proto)), Ok(owner));
    }
}

/// A caller's own key is not a channel id and must not be recorded.
#[test]
fn raw_keys_are_no_owners() {
    let kind = wire::proto::event::v1::owner::Kind::ChannelId("telegram:42".to_owned());
    let owner = wire::proto::event::v1::Owner { kind: Some(kind) };
    let refused = wire::conversation::owner_from_proto(Some(owner)).unwrap_err();
    assert_eq!((refused.field.to_string().as_str(), refused.reason), ("channel_id", ViolationReason::Malformed));
}

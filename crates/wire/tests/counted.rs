//! The fields that the writer sets: tokens of events, the latest summary of heads. Golden bytes and bounds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use domain::bounds::{EVENT_BYTES_MAX, SUMMARY_BYTES_MAX};
use domain::event::{ConversationCreated, HistoryRewound, HistorySummarised, SystemNoted};
use domain::{
    Actor, AgentId, ClientContext, CommitId, ConversationId, Event, EventId, EventTokens, Fact, Label, Owner,
    RequestDigest, Sequence, SessionId, TenantId, Timestamp, Version, ViolationReason,
};
use prost::Message as _;
use uuid::Uuid;
use wire::commit::{Draft, Sealed, open_head, seal};
use wire::proto::event::v1 as proto;

fn counted(own: u32, through: u64, fact: Fact) -> Event {
    Event {
        id: EventId(Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001)),
        occurred_at: None,
        metadata: None,
        tokens: EventTokens { own, through },
        fact,
    }
}

fn noted(text_bytes: usize) -> Fact {
    Fact::from(SystemNoted { topic: None, text: "x".repeat(text_bytes) })
}

fn summarised(text_bytes: usize) -> Fact {
    Fact::from(HistorySummarised { through: Version(1), text: "x".repeat(text_bytes), model: None, previous: None })
}

fn created() -> Fact {
    Fact::from(ConversationCreated {
        agent: AgentId::parse("helper").unwrap(),
        owner: Owner::Session(SessionId::parse("s-1").unwrap()),
        title: None,
        metadata: None,
        client_context: ClientContext::default(),
        provider_conversation_id: None,
        forked_from: None,
    })
}

fn sealed(events: &[Event], previous: Option<&Sealed>) -> Result<Sealed, domain::Violation> {
    let draft = Draft {
        tenant: &TenantId::parse("acme").unwrap(),
        conversation: &ConversationId::parse("c1").unwrap(),
        id: CommitId(Uuid::from_u128(1)),
        request_digest: RequestDigest([1; 16]),
        recorded_at: Timestamp(1_000),
        actor: &Actor(Label::parse("tests").unwrap()),
        events,
    };
    seal(&draft, previous.map(|sealed| (&sealed.head, Sequence(1))))
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

#[test]
fn golden_bytes() {
    let event = counted(300, 70_000, noted(1));
    let first = sealed(&[counted(0, 0, created())], None).unwrap();
    let summary = counted(9, 0, summarised(1));
    let second = sealed(&[summary], Some(&first)).unwrap();
    let mut head = wire::head::to_proto(&second.head);
    head.totals.as_mut().unwrap().context_tokens = 70_000;
    insta::assert_snapshot!(
        [("event", wire::event::to_proto(&event).encode_to_vec()), ("head", head.encode_to_vec()),]
            .map(|(name, bytes)| format!("{name} {}", hex(&bytes)))
            .join("\n")
    );
}

/// Records from before the counts contain neither tokens nor versions of summaries.
#[test]
fn bytes_without_the_counts_are_read_as_not_counted() {
    let event = counted(300, 70_000, noted(1));
    let mut bytes = wire::event::to_proto(&event);
    (bytes.tokens, bytes.tokens_through) = (0, 0);
    let read = wire::commit::decode_event(bytes.encode_to_vec().into()).unwrap();
    assert_eq!(read.tokens, EventTokens::default());

    let first = sealed(&[counted(0, 0, created())], None).unwrap();
    let mut head = wire::head::to_proto(&first.head);
    head.latest_summary = None;
    head.totals = Some(proto::Totals { commits: 1, ..proto::Totals::default() });
    let bytes = head.encode_to_vec();
    let read = wire::head::from_proto(proto::Head::decode(bytes.as_slice()).unwrap()).unwrap();
    assert_eq!((read.latest_summary, read.totals.context_tokens), (None, 0));
}

#[test]
fn counts_and_summaries_survive_the_record() {
    let first = sealed(&[counted(0, 0, created())], None).unwrap();
    let events = [counted(0, 5, noted(3)), counted(9, u64::MAX, summarised(SUMMARY_BYTES_MAX))];
    let second = sealed(&events, Some(&first)).unwrap();
    let opened = wire::commit::open(second.message.clone()).unwrap();
    assert_eq!(opened.commit.events, events);
    let head = open_head(second.message).unwrap();
    assert_eq!(head, second.head);
    let place = head.latest_summary.unwrap();
    assert_eq!((place.version, place.through), (Version(3), Version(1)));
}

#[test]
fn rewinds_survive_the_record() {
    let first = sealed(&[counted(0, 0, created())], None).unwrap();
    let rewound = Fact::from(HistoryRewound { to: Version(1) });
    let second = sealed(&[counted(0, 5, noted(3)), counted(0, 5, rewound)], Some(&first)).unwrap();
    let head = open_head(second.message).unwrap();
    assert_eq!(head, second.head);
    let place = head.latest_rewind.unwrap();
    assert_eq!((place.version, place.to), (Version(3), Version(1)));
}

/// The bound applies to the caller's event. The counts of the writer are added to it and are not part of the reported size.
#[test]
fn an_event_at_its_bound_has_room_for_the_counts() {
    let first = sealed(&[counted(0, 0, created())], None).unwrap();
    let overhead =
        wire::event::to_proto(&counted(0, 0, noted(EVENT_BYTES_MAX / 2))).encoded_len() - EVENT_BYTES_MAX / 2;
    let weighed = |bytes: usize| counted(u32::MAX, u64::MAX, noted(bytes - overhead));
    assert!(sealed(&[weighed(EVENT_BYTES_MAX)], Some(&first)).is_ok());
    let violation = sealed(&[weighed(EVENT_BYTES_MAX + 1)], Some(&first)).unwrap_err();
    assert_eq!(violation.reason, ViolationReason::EventTooLarge);
    let told = (EVENT_BYTES_MAX + 1).to_string();
    assert!(violation.description.contains(&told), "{violation}");
}

/// The first rejected field, and why; `None`: the event is accepted.
fn check(case: &str, fact: &Fact, change: fn(&mut proto::Event), expected: Option<&str>) {
    let mut event = wire::event::to_proto(&counted(0, 0, fact.clone()));
    change(&mut event);
    let taken = wire::event::new_event_from_proto(event);
    let refused = taken.err().map(|violation| {
        let reason = violation.reason.as_str();
        format!("{} {reason}", violation.field)
    });
    assert_eq!(refused.as_deref(), expected, "{case}");
}

fn with_summary(event: &mut proto::Event, change: fn(&mut proto::HistorySummarised)) {
    match &mut event.fact {
        Some(proto::event::Fact::HistorySummarised(summary)) => change(summary),
        other => panic!("{other:?}"),
    }
}

#[test]
fn events_of_callers() {
    let note = noted(1);
    let summary = summarised(1);
    check("a note", &note, |_| (), None);
    check("tokens", &note, |event| event.tokens = 1, Some("tokens FIELD_MALFORMED"));
    check("a sum", &note, |event| event.tokens_through = 1, Some("tokens_through FIELD_MALFORMED"));
    check("a summary", &summary, |_| (), None);
    check("a summary at its bound", &summarised(SUMMARY_BYTES_MAX), |_| (), None);
    check(
        "a summary past it",
        &summarised(SUMMARY_BYTES_MAX + 1),
        |_| (),
        Some("history_summarised.text FIELD_TOO_LONG"),
    );
    check("an empty one", &summarised(0), |_| (), Some("history_summarised.text FIELD_MISSING"));
    check(
        "one of nothing",
        &summary,
        |event| with_summary(event, |summary| summary.through_version = 0),
        Some("history_summarised.through_version FIELD_MISSING"),
    );
    check(
        "one that names another",
        &summary,
        |event| with_summary(event, |summary| summary.previous_version = 1),
        Some("history_summarised.previous_version FIELD_MALFORMED"),
    );
}

//! Tests of the format: golden bytes, round trips, bounds and flipped bits.

use std::collections::BTreeSet;

use bytes::Bytes;
use domain::event::{ConversationCreated, SystemNoted};
use domain::{
    Actor, AgentId, ClientContext, CommitId, ConversationId, ConversationKey, Event, EventId, EventTokens, Fact, Head,
    Label, Owner, Position, RequestDigest, Sequence, SessionId, TenantId, Timestamp, Version,
};
use event_log::{StoredMessage, TraceHeaders};
use proptest::prelude::*;
use uuid::Uuid;
use wire::commit::{Draft, seal};

use super::*;

const ORIGIN: Origin = Origin { record: RecordId([7; 8]), partition: Partition(3), segment: Uuid::from_u128(0x0123) };
const NONE: BTreeSet<ConversationKey> = BTreeSet::new();

/// A conversation that creates messages.
struct Conversation {
    key: ConversationKey,
    last: Option<(Head, Sequence)>,
}

impl Conversation {
    fn new(name: &str) -> Self {
        Self {
            key: ConversationKey {
                tenant: TenantId::parse("acme").unwrap(),
                conversation: ConversationId::parse(name).unwrap(),
            },
            last: None,
        }
    }

    fn append(&mut self, sequence: u64, text: &str) -> ArchivedMessage {
        let fact = match &self.last {
            None => created(),
            Some(_) => Fact::from(SystemNoted { topic: None, text: text.to_owned() }),
        };
        let event = Event {
            id: EventId(Uuid::from_u128(sequence.into())),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens::default(),
            fact,
        };
        let draft = Draft {
            tenant: &self.key.tenant,
            conversation: &self.key.conversation,
            id: CommitId(Uuid::from_u128(u128::from(sequence) << 8)),
            request_digest: RequestDigest([1; 16]),
            recorded_at: Timestamp(i64::try_from(sequence).unwrap() * 1_000),
            actor: &Actor(Label::parse("test").unwrap()),
            events: &[event],
        };
        let previous = self.last.as_ref().map(|(head, at)| (head, *at));
        let sealed = seal(&draft, previous).unwrap();
        self.last = Some((sealed.head, Sequence(sequence)));
        ArchivedMessage {
            key: self.key.clone(),
            message: StoredMessage {
                position: Position { partition: ORIGIN.partition, sequence: Sequence(sequence) },
                message: sealed.message,
                trace: TraceHeaders {
                    traceparent: sequence.is_multiple_of(2).then(|| format!("00-{sequence}")),
                    tracestate: None,
                },
            },
            stored_at: Timestamp(i64::try_from(sequence).unwrap() * 1_000 + 7),
        }
    }
}

fn created() -> Fact {
    Fact::from(ConversationCreated {
        agent: AgentId::parse("bot").unwrap(),
        owner: Owner::Session(SessionId::parse("s").unwrap()),
        title: None,
        metadata: None,
        client_context: ClientContext::default(),
        provider_conversation_id: None,
        forked_from: None,
    })
}

/// Two interleaved conversations with a gap in the sequences.
fn sample_messages() -> Vec<ArchivedMessage> {
    let (mut a, mut b) = (Conversation::new("a"), Conversation::new("b"));
    vec![a.append(2, ""), b.append(3, ""), a.append(5, "hello"), b.append(9, "there"), a.append(10, "you")]
}

#[test]
fn decoding_returns_the_encoded_messages() {
    let messages = sample_messages();
    let (bytes, index) = encode(ORIGIN, &messages, &NONE).unwrap();
    assert_eq!(decode(&bytes).unwrap(), (index.clone(), messages));
    assert_eq!((index.messages(), index.events()), (5, 5));
    assert_eq!(index.first(), Some(Sequence(2)));
    assert_eq!(index.last(), Some(Sequence(10)));
    let a = index.conversation(&Conversation::new("a").key).unwrap();
    assert_eq!((a.commits, a.first, a.last), (3, Sequence(2), Sequence(10)));
    assert_eq!((a.first_version, a.last_version), (Version(1), Version(3)));
    assert!(index.conversation(&Conversation::new("c").key).is_none());
}

/// The bytes of a format never change: segments live as long as the record.
#[test]
fn golden_bytes() {
    let (bytes, _) = encode(ORIGIN, &sample_messages(), &NONE).unwrap();
    let header = "48414e5341524453000100030707070707070707";
    let segment = "00000000000000000000000000000123";
    let encoded = hex::encode(&bytes[..HEADER_BYTES]);
    assert_eq!(encoded, format!("{header}{segment}"));
    let golden = include_str!("golden.hex").trim();
    if golden != hex::encode(&bytes) {
        // Compression may differ between versions of zstd; old segments must stay readable.
        let read = decode(&hex::decode(golden).unwrap()).unwrap();
        assert_eq!(read.1, sample_messages(), "{}", hex::encode(&bytes));
    }
}

#[test]
fn every_flipped_bit_is_detected() {
    let (bytes, index) = encode(ORIGIN, &sample_messages(), &NONE).unwrap();
    for offset in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[offset] ^= 1 << bit;
            assert!(decode(&flipped).is_err(), "byte {offset}, bit {bit}");
        }
    }
    for cut in 0..bytes.len() {
        assert!(decode(&bytes[..cut]).is_err(), "cut to {cut}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(decode(&longer).is_err());
    // A single block can be verified.
    let block = &index.blocks[0];
    let start = usize::try_from(block.offset).unwrap();
    let end = start + usize::try_from(block.length).unwrap();
    assert_eq!(decode_block(&index, block, &bytes[start..end]), Ok(sample_messages()));
    for offset in start..end {
        let mut flipped = bytes[start..end].to_vec();
        flipped[offset - start] ^= 1;
        assert!(decode_block(&index, block, &flipped).is_err(), "{offset}");
    }
}

#[test]
fn only_complete_ranges_in_order_are_encoded() {
    let check = |messages: &[ArchivedMessage], expected: &str| {
        let error = encode(ORIGIN, messages, &NONE).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let all = sample_messages();
    check(&[], "there is no message");
    check(&[all[2].clone(), all[0].clone()], "not in the order");
    check(&[all[0].clone(), all[0].clone()], "not in the order");
    // A commit in the middle is missing.
    let gap = [all[0].clone(), all[4].clone()];
    check(&gap, "versions 2 to 2 are missing");
    // A range may start anywhere.
    assert!(encode(ORIGIN, &all[2..], &NONE).is_ok());
    let mut foreign = all.clone();
    foreign[2].key = Conversation::new("z").key;
    check(&foreign, "names another conversation");
    let mut broken = all.clone();
    broken[2].message.message = Bytes::from_static(b"\xff");
    check(&broken, "not a commit");
    let mut later = Conversation::new("a");
    later.append(1, "");
    let mut crossed = all;
    crossed[2] = later.append(5, "another past");
    check(&crossed, "conversation acme/a");
}

#[test]
fn blocks_are_limited_in_bytes_and_segments_in_messages() {
    let mut a = Conversation::new("a");
    let mut messages = vec![a.append(1, "")];
    // The text does not compress, so the commit is as long as its text.
    let long: String = (0..BLOCK_BYTES).map(|n| char::from(b'a' + u8::try_from(n * n % 23).unwrap())).collect();
    messages.extend((2..6).map(|at| a.append(at, &long)));
    let (bytes, index) = encode(ORIGIN, &messages, &NONE).unwrap();
    assert_eq!(decode(&bytes).unwrap().1, messages);
    let blocks = index.blocks.len();
    assert!((1..=5).contains(&blocks), "{blocks}");
    let many = vec![messages[0].clone(); SEGMENT_MESSAGES_MAX + 1];
    assert_eq!(encode(ORIGIN, &many, &NONE).unwrap_err(), EncodeError::TooLarge);
    // One message fewer is rejected only for its order.
    assert_eq!(encode(ORIGIN, &many[1..], &NONE).unwrap_err(), EncodeError::Order);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_interleaving_round_trips(
        steps in prop::collection::vec((0_usize..4, 1_u64..5, ".{0,200}"), 1..80),
    ) {
        let mut conversations: Vec<Conversation> = (0..4).map(|n| Conversation::new(&format!("c{n}"))).collect();
        let mut at = 0;
        let messages: Vec<ArchivedMessage> = steps
            .into_iter()
            .map(|(who, step, text)| {
                at += step;
                conversations[who].append(at, &text)
            })
            .collect();
        let (bytes, index) = encode(ORIGIN, &messages, &NONE).unwrap();
        let (read, back) = decode(&bytes).unwrap();
        prop_assert_eq!(&read, &index);
        prop_assert_eq!(back, messages.clone());
        prop_assert_eq!(encode(ORIGIN, &messages, &NONE).unwrap().0, bytes);
    }
}

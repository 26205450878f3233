//! From events to a body through every stage: crashes, late results and any budget break no rule, exceed no
//! budget and split no unit.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context::outcome::versions;
use context::stages::redact::Rules;
use context::stages::summarise::Summary;
use context::{
    AnswerOrigin, Assembled, CONTEXT_KINDS, Effect, Plan, Policy, Reach, Selection, Settings, Transcript, select,
};
use domain::event::{MessageAppended, Role, ToolOutput, ToolReturned, UsageSource};
use domain::{
    ClientContext, CommitId, Event, EventId, EventTokens, Fact, JsonText, Part, RecordedEvent, Timestamp, Version,
};
use formats::{Format, RenderOptions, render};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::Value;
use uuid::Uuid;

use crate::histories::{SECRET, options, transcripts};
use crate::omissions::omissions_have_outcomes;
use crate::properties::{holds, none};
use crate::{checkers, reading};

/// The texts that formats add at the start and at the end.
const FORM_TOKENS: u64 = 40;
/// Fields whose values models do not read as text.
const NOT_READ: [&str; 18] = [
    "cache_control",
    "call_id",
    "detail",
    "encrypted_content",
    "file_id",
    "file_url",
    "fileUri",
    "id",
    "image_url",
    "images",
    "prompt_cache_key",
    "role",
    "signature",
    "thoughtSignature",
    "tool_call_id",
    "tool_use_id",
    "type",
    "url",
];

/// Fields with inline contents. Models read those that are texts.
const CARRIES: [&str; 2] = ["data", "file_data"];
/// Secrets, some shorter than their marks, some longer.
const SECRETS: [&str; 5] = [
    "pin: 7",
    "password=hunter2 token=abc cvv: 123",
    "4111 1111 1111 1111",
    "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
    "1",
];

#[test]
fn openai_chat() {
    upholds(Format::OpenAiChat);
}

#[test]
fn openai_responses() {
    upholds(Format::OpenAiResponses);
}

#[test]
fn anthropic() {
    upholds(Format::Anthropic);
}

#[test]
fn gemini() {
    upholds(Format::Gemini);
}

#[test]
fn ollama() {
    upholds(Format::Ollama);
}

fn upholds(format: Format) {
    let delays = prop::collection::vec(0_u8..6, 64);
    let secrets = prop::collection::vec(prop::option::weighted(0.2, 0_usize..SECRETS.len()), 64);
    let strategy =
        (transcripts(format.provider()), delays, policies(), (prop_oneof![Just(0), 0_u64..24], secrets), options());
    holds(&strategy, |(transcript, delays, policy, (through, secrets), options)| {
        let events = events(transcript, delays, &secrets);
        let Some(assembled) = assembled(&events, &policy, ask(through)) else {
            return Ok(());
        };
        check(format, &assembled, &policy, &options)?;
        omissions_have_outcomes(&events, &assembled)?;
        units_are_whole(&events, &assembled, &policy)
    });
}

fn check(format: Format, assembled: &Assembled, policy: &Policy, options: &RenderOptions) -> Result<(), TestCaseError> {
    let rendered = render(format, &assembled.transcript, options);
    let body = reading::body(&rendered.body);
    none("the rules", checkers::broken(format, options, &body))?;
    let sections = assembled.report.sections;
    let counted = sections.instructions + sections.opening + sections.turns + sections.closing;
    let most = u64::from(policy.budget.context_tokens_max.unwrap());
    prop_assert!(counted <= most, "{} of {}", counted, most);
    let read = texts(&body);
    let has_secret = read.iter().any(|text| text.contains(SECRET));
    prop_assert!(!has_secret, "a secret is rendered");
    let read: u64 = read.iter().map(|text| u64::from(tokens::count_text(text))).sum();
    prop_assert!(read <= counted + FORM_TOKENS, "{} read, {} counted: {}", read, counted, body);
    Ok(())
}

/// A body contains all calls of the included units, and no others.
fn units_are_whole(events: &[RecordedEvent], assembled: &Assembled, policy: &Policy) -> Result<(), TestCaseError> {
    if policy.tool_digest.is_some() {
        return Ok(());
    }
    let report = &assembled.report;
    let with = |effect| versions(&report.outcomes, &effect).collect::<BTreeSet<_>>();
    let first = report.epoch.first;
    let carried = with(Effect::Carried);
    let calls = events.iter().filter(|event| matches!(event.event.fact, Fact::ToolCalled(_)));
    let through = report.summarised.unwrap_or_default();
    let goes_in = |version: Version| version >= first && (version > through || carried.contains(&version));
    let expected: Vec<Version> =
        calls.filter(|call| first.0 > 0 && goes_in(call.version)).map(|call| call.version).collect();
    let turns = assembled.transcript.turns.iter();
    let found = turns.flat_map(|turn| turn.calls.iter().map(|call| call.version));
    prop_assert_eq!(found.collect::<Vec<_>>(), expected);
    prop_assert!(with(Effect::Orphaned).is_empty());
    Ok(())
}

/// The texts of a body that a model reads.
fn texts(body: &Value) -> Vec<Cow<'_, str>> {
    match body {
        Value::String(text) => vec![Cow::Borrowed(text)],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => {
            let read =
                members.iter().filter(|(name, _)| !NOT_READ.contains(&name.as_str())).flat_map(|(name, value)| {
                    match value {
                        Value::String(data) if CARRIES.contains(&name.as_str()) => Vec::from_iter(carried(body, data)),
                        value => texts(value),
                    }
                });
            read.collect()
        }
        _ => Vec::new(),
    }
}

/// The text of an inline content; `None` for an image or a PDF.
fn carried<'a>(beside: &Value, content: &'a str) -> Option<Cow<'a, str>> {
    if beside["type"] == "text" {
        return Some(Cow::Borrowed(content));
    }
    let said = beside["media_type"].as_str().or(beside["mimeType"].as_str());
    let (media_type, data) = match content.strip_prefix("data:") {
        Some(address) => address.split_once(',')?,
        None => (said?, content),
    };
    if media_type.starts_with("image/") || media_type.starts_with("application/pdf") {
        return None;
    }
    if said.is_none() && !media_type.ends_with(";base64") {
        return Some(Cow::Borrowed(data));
    }
    let text = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
    Some(Cow::Owned(text))
}

fn policies() -> impl Strategy<Value = Policy> {
    let clear = prop::option::of(1_u8..=99);
    (256_u32..6_000, 1_u8..=95, clear, 0_u8..4).prop_map(|(context, low, fresh, digest)| {
        let clear = fresh.map_or(String::new(), |fresh| {
            format!(r#","clear":{{"fresh_percent":{fresh}}}"#)
        });
        let digest = match digest {
            0 => r#","tool_digest":{"bytes_max":200}"#,
            _ => "",
        };
        let json = format!(
            r#"{{"budget":{{"context_tokens_max":{context},"reserved_tokens":0,"low_water_percent":{low}}}{clear}{digest}}}"#
        );
        Policy::parse(&json).unwrap()
    })
}

/// Recorded events: a result follows some turns after its call, or never if the call is pending. Some facts have
/// secrets.
fn events(transcript: Transcript, delays: Vec<u8>, secrets: &[Option<usize>]) -> Vec<RecordedEvent> {
    let mut delays = delays.into_iter().cycle();
    let mut facts = Vec::new();
    let mut coming: VecDeque<(u8, ToolReturned)> = VecDeque::new();
    let mut open: Vec<domain::CallId> = Vec::new();
    for turn in transcript.turns {
        if turn.calls.is_empty() || !turn.parts.is_empty() || turn.role != Role::Assistant {
            facts.push(Fact::MessageAppended(MessageAppended {
                role: turn.role,
                parts: turn.parts,
                author: turn.author,
                model: None,
                provider: turn.provider,
                provider_response_id: None,
                finish_reason: None,
                usage: None,
                usage_source: UsageSource::Reported,
            }));
        }
        for call in turn.calls {
            // The domain rejects a call with the id of a pending one.
            if open.contains(&call.called.call_id) {
                continue;
            }
            open.push(call.called.call_id.clone());
            let returned = ToolReturned {
                call_id: call.called.call_id.clone(),
                tool_name: Some(call.called.tool_name.clone()),
                output: call.answer.output,
                outcome: call.answer.outcome,
            };
            facts.push(Fact::ToolCalled(call.called));
            if matches!(call.answer.origin, AnswerOrigin::Recorded(_) | AnswerOrigin::Cleared(_)) {
                // Most results follow directly, some turns later.
                let delay = delays.next().unwrap_or_default().saturating_sub(3);
                coming.push_back((delay, returned));
            }
        }
        for (delay, returned) in std::mem::take(&mut coming) {
            if let Some(delay) = delay.checked_sub(1) {
                coming.push_back((delay, returned));
            } else {
                open.retain(|id| *id != returned.call_id);
                facts.push(Fact::ToolReturned(returned));
            }
        }
    }
    for (fact, secret) in facts.iter_mut().zip(secrets) {
        if let Some(secret) = secret.and_then(|secret| SECRETS.get(secret)) {
            add_secret(fact, secret);
        }
    }
    recorded(facts)
}

fn add_secret(fact: &mut Fact, secret: &str) {
    let text = || Part::Text(format!("<{secret}>"));
    match fact {
        Fact::MessageAppended(message) => message.parts.push(text()),
        Fact::ToolReturned(returned) => match &mut returned.output {
            ToolOutput::Parts(parts) => parts.push(text()),
            ToolOutput::Json(output) => {
                let document = serde_json::json!({"pin": secret, "more": secret});
                *output = JsonText::parse(document.to_string()).unwrap();
            }
        },
        _ => {}
    }
}

pub(crate) fn recorded(facts: Vec<Fact>) -> Vec<RecordedEvent> {
    let mut through = 0;
    let recorded = (1..).zip(facts).map(|(version, fact)| {
        let own = tokens::count_fact(&fact);
        through += u64::from(own);
        assert!(CONTEXT_KINDS.contains(&fact.kind()));
        RecordedEvent {
            version: Version(version),
            commit: CommitId(Uuid::nil()),
            recorded_at: Timestamp(0),
            event: Event {
                id: EventId(Uuid::nil()),
                occurred_at: None,
                metadata: None,
                tokens: EventTokens { own, through },
                fact,
            },
        }
    });
    recorded.collect()
}

/// A request with a summary up to a version, recorded directly after it.
fn ask(through: u64) -> Ask {
    let through = Version(through);
    let summary = Version::ZERO.next();
    Ask { through, summary }
}

/// A summary up to a version, recorded at another; `None` before that, and for version 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) through: Version,
    pub(crate) summary: Version,
}

pub(crate) fn assembled(events: &[RecordedEvent], policy: &Policy, ask: Ask) -> Option<Assembled> {
    static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::compile(&Policy::default().redact).unwrap());
    let client = ClientContext::default();
    let newest = events.last().map_or(Version::ZERO, |event| event.version);
    let is_there = ask.through > Version::ZERO && ask.summary <= newest.next();
    let settings = Settings {
        policy,
        rules: &RULES,
        client: &client,
        instructions: None,
        summary: is_there.then(|| Summary {
            version: ask.summary,
            through: ask.through,
            text: "What was said before.".to_owned(),
            model: None,
        }),
        shared: Version::ZERO,
        rewound: Version::ZERO,
        own: None,
    };
    let plan = Plan::new(settings).ok()?;
    let newest_first = events.iter().rev().cloned().map(Ok::<_, Infallible>);
    let Ok(selection) = select(newest_first, plan.extent(None), Reach::Beginning);
    match selection {
        Selection::Selected(selected) => plan.complete(selected).ok(),
        Selection::NeedsOlder => panic!("the whole history is enough"),
    }
}

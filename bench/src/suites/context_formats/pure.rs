//! The pure part of a context on one core without a server: from decoded events to the bytes of a format.

use std::convert::Infallible;
use std::time::Instant;

use anyhow::Context as _;
use context::stages::redact::Rules;
use context::{Plan, Policy, Reach, Selection, Settings, select};
use domain::event::EventTokens;
use domain::{ClientContext, CommitId, Event, EventId, Fact, RecordedEvent, Timestamp, Version};
use formats::{Format, RenderOptions};

use crate::latency::Latencies;
use crate::report::Round;

const CONTEXTS: u32 = 300;

/// Events as the gateway passes them on: newest first, with token counts.
pub(super) fn recorded(facts: Vec<Fact>) -> Vec<RecordedEvent> {
    let commit = CommitId(uuid::Uuid::nil());
    let mut through = 0;
    let mut events = Vec::with_capacity(facts.len());
    // Version 1 is the creation.
    for (index, (version, fact)) in (2..).zip(facts).enumerate() {
        let own = tokens::count_fact(&fact);
        through += u64::from(own);
        let event = Event {
            id: EventId::derived(commit, index),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens { own, through },
            fact,
        };
        events.push(RecordedEvent { version: Version(version), commit, recorded_at: Timestamp(0), event });
    }
    events.reverse();
    events
}

/// One round: the base is assembling, the system is assembling and rendering.
pub(super) fn measure(newest_first: &[RecordedEvent], policy: &Policy, format: Format) -> anyhow::Result<Round> {
    let rules = Rules::compile(&policy.redact).ok().context("no rules")?;
    let options = RenderOptions { cache_key: Some("hansard-bench".to_owned()), ..RenderOptions::default() };
    let (mut assembling, mut all) = (Latencies::new()?, Latencies::new()?);
    for _ in 0..CONTEXTS {
        let events = newest_first.to_vec();
        let settings = Settings {
            policy,
            rules: &rules,
            client: &ClientContext::default(),
            instructions: None,
            summary: None,
            shared: Version::ZERO,
            rewound: Version::ZERO,
            own: None,
        };
        let start = Instant::now();
        let plan = Plan::new(settings)?;
        let events = events.into_iter().map(Ok::<_, Infallible>);
        let Selection::Selected(selected) = select(events, plan.extent(None), Reach::Beginning)? else {
            anyhow::bail!("the selection needs further events");
        };
        let assembled = plan.complete(selected)?;
        assembling.add(start.elapsed());
        let rendered = formats::render(format, &assembled.transcript, &options);
        all.add(start.elapsed());
        anyhow::ensure!(!rendered.body.is_empty(), "an empty body");
    }
    Ok(Round::of(Some(assembling.measure_serial()), all.measure_serial()))
}

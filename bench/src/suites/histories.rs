//! Imported conversations.

use std::cmp::Reverse;

use domain::event::EventTokens;
use domain::{CommitId, Event, EventId, Fact};
use hansard::client::{AppendStream, retrying};
use hansard::import::plan::{Destination, plan};
use hansard::import::source::{self, Format, Source};
use hansard::import::{Dialogue, SourceEvent};
use uuid::Uuid;
use wire::event::{new_event_from_proto, to_proto};
use wire::proto::event::v1::owner;

use super::trace::{self, Shape};
use crate::target::Target;

const IN_FLIGHT: usize = 256;

pub(super) struct History {
    pub(super) conversation: String,
    /// Its facts, the oldest first; the first one has version 2.
    pub(super) facts: Vec<Fact>,
}

/// Imports conversations of a shape.
pub(super) async fn generated(
    target: &Target,
    name: &str,
    conversations: usize,
    shape: &Shape,
) -> anyhow::Result<Vec<History>> {
    let facts = trace::facts(shape)?;
    let dialogue = |number: usize| Dialogue {
        key: format!("{name}-{number}"),
        owner: owner::Kind::SessionId(format!("bench-{}-{name}", target.run)),
        title: String::new(),
        metadata_json: String::new(),
        events: placed(&facts),
        remarks: Vec::new(),
    };
    import(target, (0..conversations).map(dialogue).collect()).await
}

/// Imports the longest conversations of the chitchat data set.
pub(super) async fn dataset(target: &Target, conversations: usize) -> anyhow::Result<Vec<History>> {
    let path = devstack::dataset::chitchat(&devstack::quiet).await?;
    let mut entries = source::read(Source { path: Some(path), format: Format::Chitchat, limit: None });
    let mut dialogues = Vec::new();
    while let Some(entry) = entries.recv().await {
        dialogues.extend(entry?.dialogue.ok());
    }
    // Deterministic, also for equal lengths.
    dialogues.sort_by_key(|dialogue| (Reverse(dialogue.events.len()), dialogue.key.clone()));
    dialogues.truncate(conversations);
    import(target, dialogues).await
}

fn placed(facts: &[Fact]) -> Vec<SourceEvent> {
    let commit = CommitId(Uuid::now_v7());
    let placed = |(message, fact): (usize, &Fact)| SourceEvent {
        message,
        event: to_proto(&Event {
            id: EventId::derived(commit, message),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens::default(),
            fact: fact.clone(),
        }),
    };
    facts.iter().enumerate().map(placed).collect()
}

async fn import(target: &Target, dialogues: Vec<Dialogue>) -> anyhow::Result<Vec<History>> {
    let destination = Destination { agent: target.agent.clone(), dataset: format!("bench-{}", target.run) };
    let writer = target.writer()?;
    let stream = AppendStream::to(writer, IN_FLIGHT);
    let mut histories = Vec::with_capacity(dialogues.len());
    for dialogue in dialogues {
        let facts = dialogue
            .events
            .iter()
            .map(|placed| {
                let event = new_event_from_proto(placed.event.clone())?;
                anyhow::Ok(event.fact)
            })
            .collect::<Result<_, _>>()?;
        let plan = plan(dialogue, &destination);
        for command in plan.commands {
            retrying(|| stream.send(command.clone())).await?;
        }
        histories.push(History { conversation: plan.conversation_id, facts });
    }
    Ok(histories)
}

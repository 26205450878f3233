//! Conversations that are kept as an import keeps them.

use std::cmp::Reverse;

use anyhow::Context as _;
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

/// Commands on their way at once.
const IN_FLIGHT: usize = 256;

/// A conversation that is kept.
#[derive(Debug)]
pub(super) struct History {
    /// Its id.
    pub(super) conversation: String,
    /// Its facts, oldest first; the first one has version 2.
    pub(super) facts: Vec<Fact>,
}

/// Keeps so many conversations of a shape.
///
/// # Errors
/// The writer refuses one.
pub(super) async fn made(
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
    keep(target, (0..conversations).map(dialogue).collect()).await
}

/// Keeps the longest conversations of the chitchat data set.
///
/// # Errors
/// The data set cannot be had, or the writer refuses a conversation.
pub(super) async fn real(target: &Target, conversations: usize) -> anyhow::Result<Vec<History>> {
    let path = devstack::dataset::chitchat(&devstack::quiet).await?;
    let mut entries = source::read(Source {
        path: Some(path),
        format: Format::Chitchat,
        limit: None,
    });
    let mut dialogues = Vec::new();
    while let Some(entry) = entries.recv().await {
        dialogues.extend(entry?.dialogue.ok());
    }
    // The same ones each time, also of equal length.
    dialogues.sort_by_key(|dialogue| (Reverse(dialogue.events.len()), dialogue.key.clone()));
    dialogues.truncate(conversations);
    keep(target, dialogues).await
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

async fn keep(target: &Target, dialogues: Vec<Dialogue>) -> anyhow::Result<Vec<History>> {
    let destination = Destination {
        agent: target.agent.clone(),
        dataset: format!("bench-{}", target.run),
    };
    let writer = target.writers.first().context("no writer")?;
    let stream = AppendStream::to(writer, IN_FLIGHT);
    let mut histories = Vec::with_capacity(dialogues.len());
    for dialogue in dialogues {
        let facts = dialogue.events.iter().map(|placed| {
            let event = new_event_from_proto(placed.event.clone())?;
            anyhow::Ok(event.fact)
        });
        let facts = facts.collect::<Result<_, _>>()?;
        let plan = plan(dialogue, &destination);
        for command in plan.commands {
            retrying(|| stream.send(command.clone())).await?;
        }
        histories.push(History {
            conversation: plan.conversation_id,
            facts,
        });
    }
    Ok(histories)
}

//! Imports the first conversations of the data set, through the write service.

use anyhow::Context as _;
use wire::proto::event::v1::Role;
use wire::proto::event::v1::event::Fact;

use super::args::Amount;
use super::demo::{Demo, NAME};
use super::roles::Roles;
use crate::client::{AppendStream, Service};
use crate::commands::import::import as import_source;
use crate::console;
use crate::import::plan::{Destination, conversation_id};
use crate::import::run::CONVERSATIONS_IN_FLIGHT;
use crate::import::source::{Format, Source, read};
use crate::import::{Dialogue, SourceEvent};

/// The name of the data set.
const DATASET: &str = "chitchat";
/// The number of conversations among which one to show is chosen.
const CANDIDATES_MAX: u64 = 100;
/// The number of events of a conversation that fits a screen.
const SHOWN_EVENTS: std::ops::RangeInclusive<usize> = 12..=20;

/// Imports `amount` conversations, unless an earlier run did.
pub(super) async fn import(amount: Amount, roles: &Roles, demo: &mut Demo) -> anyhow::Result<()> {
    if amount <= demo.settings.imported {
        return Ok(());
    }
    let path = devstack::dataset::chitchat(&console::print_step)
        .await
        .context("cannot get the data set; start without it by --import none")?;
    let destination = Destination { agent: NAME.to_owned(), dataset: DATASET.to_owned() };
    let service = Service::at(&format!("http://{}", roles.writer), &demo.settings.token)?;
    let stream = AppendStream::to(&service, CONVERSATIONS_IN_FLIGHT);
    let limit = match amount {
        Amount::None => Some(0),
        Amount::Some(count) => Some(count),
        Amount::All => None,
    };
    let source = |limit| Source { path: Some(path.clone()), format: Format::Chitchat, limit };
    let refused = import_source(source(limit), &stream, &destination).await?.refused;
    anyhow::ensure!(refused == 0, "{refused} conversations were rejected");
    let candidates = limit.map_or(CANDIDATES_MAX, |limit| limit.min(CANDIDATES_MAX));
    let shown = choose_shown(source(Some(candidates))).await;
    demo.save(|settings| {
        settings.imported = amount;
        settings.conversation = shown.map(|key| conversation_id(&destination, &key).to_string());
    })
}

/// Returns a conversation that fits a screen and contains answers, else the first one.
async fn choose_shown(candidates: Source) -> Option<String> {
    let mut entries = read(candidates);
    let mut first = None;
    while let Some(Ok(entry)) = entries.recv().await {
        let Ok(dialogue) = entry.dialogue else {
            continue;
        };
        if is_presentable(&dialogue) {
            return Some(dialogue.key);
        }
        first.get_or_insert(dialogue.key);
    }
    first
}

fn is_presentable(dialogue: &Dialogue) -> bool {
    let events = &dialogue.events;
    let is_answer = |placed: &&SourceEvent| match &placed.event.fact {
        Some(Fact::MessageAppended(message)) => message.role() == Role::Assistant,
        _ => false,
    };
    let answers = events.iter().filter(is_answer).count();
    SHOWN_EVENTS.contains(&events.len()) && answers * 3 >= events.len()
}

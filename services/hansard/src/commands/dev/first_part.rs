//! The first part of the data set, through the write service like any import.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use wire::proto::event::v1::Role;
use wire::proto::event::v1::event::Fact;

use super::args::Amount;
use super::demo::{Demo, NAME};
use super::roles::Roles;
use crate::client::{AppendStream, Service};
use crate::commands::import::import as import_source;
use crate::console;
use crate::import::Dialogue;
use crate::import::plan::{Destination, conversation_id};
use crate::import::run::CONVERSATIONS_IN_FLIGHT;
use crate::import::source::{Format, Source, read};

/// The data set, as its import names it.
const DATASET: &str = "chitchat";
/// How many conversations are looked at for one that is worth showing.
const LOOKED_AT: u64 = 100;
/// A conversation that is worth showing fits a screen.
const WORTH_SHOWING: std::ops::RangeInclusive<usize> = 12..=20;

/// Imports what is asked for and not there yet.
pub(super) async fn import(amount: Amount, roles: &Roles, demo: &mut Demo) -> anyhow::Result<()> {
    if amount <= demo.settings().imported {
        return Ok(());
    }
    let tell = |step: devstack::Step| drop(writeln!(console::err(), "{step}"));
    let path = devstack::dataset::chitchat(&tell)
        .await
        .context("nothing to import; start without by --import none")?;
    let destination = Destination {
        agent: NAME.to_owned(),
        dataset: DATASET.to_owned(),
    };
    let service = Service::at(&format!("http://{}", roles.writer), &demo.settings().token)?;
    let stream = AppendStream::to(&service, CONVERSATIONS_IN_FLIGHT);
    let limit = match amount {
        Amount::None => Some(0),
        Amount::Some(count) => Some(count),
        Amount::All => None,
    };
    let source = Source {
        path: Some(path.clone()),
        format: Format::Chitchat,
        limit,
    };
    let summary = import_source(source, &stream, &destination).await?;
    anyhow::ensure!(
        summary.refused == 0,
        "{} conversations were refused",
        summary.refused
    );
    let shown = worth_showing(&path, limit).await;
    demo.keep(|settings| {
        settings.imported = amount;
        settings.conversation = shown.map(|key| conversation_id(&destination, &key).to_string());
    })
}

/// A conversation of the first ones that fits a screen and has two sides, else the first one.
async fn worth_showing(path: &Path, limit: Option<u64>) -> Option<String> {
    let limit = Some(limit.map_or(LOOKED_AT, |limit| limit.min(LOOKED_AT)));
    let source = Source {
        path: Some(path.to_owned()),
        format: Format::Chitchat,
        limit,
    };
    let mut entries = read(source);
    let mut first = None;
    while let Some(Ok(entry)) = entries.recv().await {
        let Ok(dialogue) = entry.dialogue else {
            continue;
        };
        if is_worth_showing(&dialogue) {
            return Some(dialogue.key);
        }
        first.get_or_insert(dialogue.key);
    }
    first
}

fn is_worth_showing(dialogue: &Dialogue) -> bool {
    let answers = |placed: &crate::import::PlacedEvent| match &placed.event.fact {
        Some(Fact::MessageAppended(message)) => message.role() == Role::Assistant,
        _ => false,
    };
    let answered = dialogue
        .events
        .iter()
        .filter(|placed| answers(placed))
        .count();
    WORTH_SHOWING.contains(&dialogue.events.len()) && answered * 3 >= dialogue.events.len()
}

//! A replay under another subject, and the file that says how far it is.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use domain::{Partition, Sequence};
use event_log::{Record, Replay, ReplayPrefix};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::exit::UsageError;
use crate::selection::{Chosen, Places};

/// How often it is settled and written down how far it is: what a replay that was killed does twice.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// The file of places.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    record: String,
    prefix: String,
    places: BTreeMap<u16, u64>,
}

/// What goes out again.
pub(super) struct Republished {
    replay: Replay,
    record: String,
    prefix: ReplayPrefix,
    file: Option<PathBuf>,
    places: Places,
    settled_at: Instant,
}

/// How far a replay was; nowhere when there is no file.
pub(super) fn read(file: &Path, record: &Record, prefix: &ReplayPrefix) -> anyhow::Result<Places> {
    let shown = file.display();
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Places::new()),
        read => read.with_context(|| format!("cannot read {shown}"))?,
    };
    let saved: Saved = serde_json::from_str(&text)
        .map_err(|_| UsageError(format!("{shown} is no file of places")))?;
    let (id, prefix) = (id_of(record), prefix.to_string());
    if (&saved.record, &saved.prefix) != (&id, &prefix) {
        let told = format!("{shown} is of another record or prefix");
        return Err(UsageError(told).into());
    }
    let places = saved.places.into_iter();
    Ok(places
        .map(|(partition, sequence)| (Partition(partition), Sequence(sequence)))
        .collect())
}

impl Republished {
    pub(super) fn new(
        replay: Replay,
        record: &Record,
        prefix: ReplayPrefix,
        file: Option<PathBuf>,
    ) -> Self {
        Self {
            replay,
            record: id_of(record),
            prefix,
            file,
            places: Places::new(),
            settled_at: Instant::now(),
        }
    }

    /// The same, with these places behind it.
    pub(super) fn behind(self, places: Places) -> Self {
        Self { places, ..self }
    }

    pub(super) fn stream(&self) -> Option<&str> {
        self.replay.stream()
    }

    /// Who gets it, in words.
    pub(super) fn told(&self) -> String {
        let prefix = &self.prefix;
        match self.stream() {
            Some(stream) => format!("replay: the stream {stream} keeps {prefix}.>"),
            None => format!("replay: no stream keeps {prefix}.>: only who listens now gets it"),
        }
    }

    pub(super) async fn publish(&mut self, chosen: &Chosen) -> anyhow::Result<()> {
        let position = chosen.message.position;
        let key = chosen.key.as_ref().with_context(|| {
            let (partition, sequence) = (position.partition, position.sequence);
            format!("the message {sequence} of partition {partition} is of no conversation")
        })?;
        self.replay.publish(key, &chosen.message).await?;
        self.places.insert(position.partition, position.sequence);
        if self.settled_at.elapsed() >= SAVE_INTERVAL {
            self.settle().await?;
        }
        Ok(())
    }

    /// Waits until all has arrived, and writes it down.
    pub(super) async fn settle(&mut self) -> anyhow::Result<()> {
        self.replay.settle().await?;
        self.settled_at = Instant::now();
        let Some(file) = &self.file else {
            return Ok(());
        };
        let places = self.places.iter();
        let saved = Saved {
            record: self.record.clone(),
            prefix: self.prefix.to_string(),
            places: places
                .map(|(partition, sequence)| (partition.0, sequence.0))
                .collect(),
        };
        let shown = file.display();
        save(file, &saved).with_context(|| format!("cannot write {shown}"))
    }
}

fn id_of(record: &Record) -> String {
    hex::encode(record.id().0)
}

/// Whole or not at all, whenever it is stopped.
fn save(file: &Path, saved: &Saved) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let mut written = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    writeln!(written, "{}", serde_json::to_string(saved)?)?;
    written.as_file().sync_all()?;
    written.persist(file)?;
    Ok(())
}

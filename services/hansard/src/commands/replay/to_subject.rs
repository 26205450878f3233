//! Replays to other subjects, and the file with the replayed positions.

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
use crate::selection::{Positions, SelectedMessage};

/// The interval at which positions are saved. A killed replay repeats at most this interval.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// The file of `--places`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    record: String,
    prefix: String,
    places: BTreeMap<u16, u64>,
}

/// The target subjects of a replay.
pub(super) struct SubjectTarget {
    replay: Replay,
    record: String,
    prefix: ReplayPrefix,
    file: Option<PathBuf>,
    positions: Positions,
    saved_at: Instant,
}

/// Reads the saved positions; none if the file does not exist.
pub(super) fn read(file: &Path, record: &Record, prefix: &ReplayPrefix) -> anyhow::Result<Positions> {
    let shown = file.display();
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Positions::new()),
        read => read.with_context(|| format!("cannot read {shown}"))?,
    };
    let saved: Saved =
        serde_json::from_str(&text).map_err(|_| UsageError(format!("{shown} is not a file of replay positions")))?;
    anyhow::ensure!(
        saved.record == id_of(record) && saved.prefix == prefix.to_string(),
        UsageError(format!("{shown} belongs to another record or prefix"))
    );
    let positions = saved.places.into_iter().map(|(partition, last)| (Partition(partition), Sequence(last)));
    Ok(positions.collect())
}

impl SubjectTarget {
    /// A target that starts after these positions and saves its positions to `file`.
    pub(super) fn new(
        replay: Replay,
        record: &Record,
        prefix: ReplayPrefix,
        file: Option<PathBuf>,
        positions: Positions,
    ) -> Self {
        Self { replay, record: id_of(record), prefix, file, positions, saved_at: Instant::now() }
    }

    pub(super) fn stream(&self) -> Option<&str> {
        self.replay.stream()
    }

    /// A note on who receives the commits.
    pub(super) fn note(&self) -> String {
        let prefix = &self.prefix;
        let Some(stream) = self.stream() else {
            return format!("replay: no stream stores {prefix}.>: only current subscribers receive it");
        };
        format!("replay: the stream {stream} stores {prefix}.>")
    }

    pub(super) async fn publish(&mut self, selected: &SelectedMessage) -> anyhow::Result<()> {
        let position = selected.message.position;
        let key = selected.key.as_ref().with_context(|| {
            let (partition, sequence) = (position.partition, position.sequence);
            format!("the message {sequence} of partition {partition} belongs to no conversation")
        })?;
        self.replay.publish(key, &selected.message).await?;
        self.positions.insert(position.partition, position.sequence);
        if self.saved_at.elapsed() >= SAVE_INTERVAL {
            self.save().await?;
        }
        Ok(())
    }

    /// Waits until all commits are acknowledged, and saves the positions.
    pub(super) async fn save(&mut self) -> anyhow::Result<()> {
        self.replay.settle().await?;
        self.saved_at = Instant::now();
        let Some(file) = &self.file else {
            return Ok(());
        };
        let positions = self.positions.iter().map(|(partition, sequence)| (partition.0, sequence.0));
        let saved = Saved { record: self.record.clone(), prefix: self.prefix.to_string(), places: positions.collect() };
        let shown = file.display();
        replace(file, &saved).with_context(|| format!("cannot write {shown}"))
    }
}

fn id_of(record: &Record) -> String {
    hex::encode(record.id().0)
}

/// Replaces the file atomically.
fn replace(file: &Path, saved: &Saved) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let mut written = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    writeln!(written, "{}", serde_json::to_string(saved)?)?;
    written.as_file().sync_all()?;
    written.persist(file)?;
    Ok(())
}

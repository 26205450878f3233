//! The target of a replay, and the point at which an interrupted replay resumes.

use std::fs;
use std::path::Path;

use event_log::{Record, ReplayPrefix};

use super::Args;
use super::to_file::{self, ExistingFile, FileTarget};
use super::to_subject::{self, SubjectTarget};
use crate::exit::UsageError;
use crate::selection::{Positions, SelectedMessage};

/// The default rate of `--to-subject`, in commits per second.
pub(super) const RATE_DEFAULT: u32 = 1_000;
/// The maximum of `--rate`, in commits per second.
pub(super) const RATE_MAX: u32 = 100_000;

/// Where a replay starts: at the beginning, or where an earlier one stopped. Nothing is written yet.
pub(super) enum ResumePoint {
    File(ExistingFile),
    Subject(ReplayPrefix, Positions),
}

/// The target of the commits.
pub(super) enum Target {
    File(FileTarget),
    Subject(Box<SubjectTarget>),
}

impl ResumePoint {
    /// Reads it from the target of the arguments; `prefix` is their subject prefix.
    pub(super) async fn from_args(args: &Args, record: &Record, prefix: Option<ReplayPrefix>) -> anyhow::Result<Self> {
        if let Some(prefix) = prefix {
            let positions = match &args.places {
                Some(file) if args.resume => to_subject::read(file, record, &prefix)?,
                Some(file) if fs::exists(file)? => return Err(already_exists(file)),
                _ => Positions::new(),
            };
            return Ok(Self::Subject(prefix, positions));
        }
        let Some(file) = &args.to_file else {
            return Err(UsageError("give --to-file or --to-subject".to_owned()).into());
        };
        if args.resume {
            let existing = to_file::scan(file)?;
            existing.check(record).await?;
            return Ok(Self::File(existing));
        }
        if fs::exists(file)? {
            return Err(already_exists(file));
        }
        Ok(Self::File(ExistingFile::missing(file)))
    }

    pub(super) fn positions(&self) -> Positions {
        match self {
            Self::File(existing) => existing.positions(),
            Self::Subject(_, positions) => positions.clone(),
        }
    }

    /// Opens the target at this point.
    pub(super) async fn open(self, args: &Args, record: &Record) -> anyhow::Result<Target> {
        Ok(match self {
            Self::File(existing) => Target::File(FileTarget::open(&existing)?),
            Self::Subject(prefix, positions) => {
                let replay = record.replay(prefix.clone()).await?;
                let file = args.places.clone();
                let target = SubjectTarget::new(replay, record, prefix, file, positions);
                Target::Subject(Box::new(target))
            }
        })
    }
}

fn already_exists(file: &Path) -> anyhow::Error {
    let file = file.display();
    let message = format!("{file} exists: continue it with --resume, or name another file");
    UsageError(message).into()
}

impl Target {
    pub(super) async fn write(&mut self, selected: &SelectedMessage) -> anyhow::Result<()> {
        match self {
            Self::File(file) => file.write(&selected.message),
            Self::Subject(subject) => subject.publish(selected).await,
        }
    }

    /// Waits until everything is written and acknowledged.
    pub(super) async fn finish(&mut self) -> anyhow::Result<()> {
        match self {
            Self::File(file) => file.finish(),
            Self::Subject(subject) => subject.save().await,
        }
    }

    /// The target subjects, if it is not a file.
    pub(super) fn subject(&self) -> Option<&SubjectTarget> {
        match self {
            Self::File(_) => None,
            Self::Subject(subject) => Some(subject),
        }
    }
}

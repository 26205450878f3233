//! Where a replay goes, and how far it was when it was stopped.

use std::fs;
use std::path::Path;

use event_log::{Record, ReplayPrefix};

use super::Args;
use super::to_file::{self, Lines, Whole};
use super::to_subject::{self, Republished};
use crate::exit::UsageError;
use crate::selection::{Chosen, Places};

/// Commits a second that a subject gets unless told otherwise.
const RATE_DEFAULT: u32 = 1_000;
/// Most commits a second that can be asked for.
pub(super) const RATE_MAX: u32 = 100_000;

/// How far a replay was when it was stopped: nowhere at first. Nothing is written yet.
pub(super) enum Begun {
    File(Whole),
    Subject(ReplayPrefix, Places),
}

/// Where the commits go.
pub(super) enum Target {
    File(Lines),
    Subject(Box<Republished>),
}

impl Begun {
    /// What the arguments ask for; `prefix`: theirs.
    pub(super) async fn of(
        args: &Args,
        record: &Record,
        prefix: Option<ReplayPrefix>,
    ) -> anyhow::Result<Self> {
        if let Some(prefix) = prefix {
            let places = match &args.places {
                Some(places) if args.resume => to_subject::read(places, record, &prefix)?,
                Some(places) if fs::exists(places)? => return Err(there_already(places)),
                _ => Places::new(),
            };
            return Ok(Self::Subject(prefix, places));
        }
        let Some(file) = &args.to_file else {
            return Err(UsageError("give --to-file or --to-subject".to_owned()).into());
        };
        if args.resume {
            let whole = to_file::scan(file)?;
            whole.check(record).await?;
            return Ok(Self::File(whole));
        }
        if fs::exists(file)? {
            return Err(there_already(file));
        }
        Ok(Self::File(Whole::nothing(file)))
    }

    pub(super) fn places(&self) -> Places {
        match self {
            Self::File(whole) => whole.places(),
            Self::Subject(_, places) => places.clone(),
        }
    }

    /// Goes on from there.
    pub(super) async fn open(self, args: &Args, record: &Record) -> anyhow::Result<Target> {
        Ok(match self {
            Self::File(whole) => Target::File(Lines::open(&whole)?),
            Self::Subject(prefix, places) => {
                let replay = record.replay(prefix.clone()).await?;
                let republished = Republished::new(replay, record, prefix, args.places.clone());
                Target::Subject(Box::new(republished.behind(places)))
            }
        })
    }
}

fn there_already(file: &Path) -> anyhow::Error {
    let file = file.display();
    UsageError(format!(
        "{file} is there: give --resume to go on with it, or another file"
    ))
    .into()
}

impl Target {
    pub(super) async fn take(&mut self, chosen: &Chosen) -> anyhow::Result<()> {
        match self {
            Self::File(lines) => lines.write(&chosen.message),
            Self::Subject(republished) => republished.publish(chosen).await,
        }
    }

    /// Everything has arrived when this comes out well.
    pub(super) async fn finish(&mut self) -> anyhow::Result<()> {
        match self {
            Self::File(lines) => lines.finish(),
            Self::Subject(republished) => republished.settle().await,
        }
    }

    /// The stream that keeps it, where one does.
    pub(super) fn stream(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            Self::Subject(republished) => republished.stream(),
        }
    }

    /// The rate unless one is asked for, in commits a second; `None`: as fast as can be.
    pub(super) fn rate_default(&self) -> Option<u32> {
        match self {
            Self::File(_) => None,
            Self::Subject(_) => Some(RATE_DEFAULT),
        }
    }

    /// What is worth knowing before it begins.
    pub(super) fn told(&self) -> Option<String> {
        match self {
            Self::File(_) => None,
            Self::Subject(republished) => Some(republished.told()),
        }
    }
}

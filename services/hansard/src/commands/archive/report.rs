//! The output of an archive run: JSON lines for segments and faults, and a summary.

use std::io::Write as _;
use std::time::Instant;

use archive::{CataloguedSegment, SweepResult, TrimResult};
use domain::ConversationKey;
use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::console;
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped, per_second};

/// The counts of a run.
pub(super) struct Report {
    json: bool,
    started: Instant,
    progress: Progress,
    segments: u64,
    conversations: u64,
    commits: u64,
    size_bytes: u64,
    trimmed: u64,
    left: u64,
    unsound: u64,
    swept: SweepResult,
}

impl Report {
    pub(super) fn begin(json: bool) -> Self {
        Self {
            json,
            started: Instant::now(),
            progress: Progress::begin("archive", Length::Unknown),
            segments: 0,
            conversations: 0,
            commits: 0,
            size_bytes: 0,
            trimmed: 0,
            left: 0,
            unsound: 0,
            swept: SweepResult::default(),
        }
    }

    /// A segment was sealed; its messages are still in the record.
    pub(super) fn sealed(&mut self, segment: &CataloguedSegment) -> anyhow::Result<()> {
        let sealed = &segment.sealed;
        self.segments += 1;
        self.conversations += sealed.conversations;
        self.commits += sealed.commits;
        self.size_bytes += sealed.size_bytes;
        let (commits, segments) = (self.commits, self.segments);
        self.progress.advance(commits, || {
            format!("{} commits in {segments} segments", grouped(commits))
        });
        self.line(&object(segment))
    }

    /// The messages of a segment were trimmed from the record.
    pub(super) fn trimmed(&mut self, trimmed: &TrimResult) {
        self.trimmed += trimmed.commits;
        let kept =
            "not trimmed: its last commit in the record is older than its last archived commit";
        let unsealed =
            "commits before the end of its segment are in no segment and stay in the record";
        for (keys, what) in [(&trimmed.kept, kept), (&trimmed.unsealed, unsealed)] {
            for key in keys {
                let (tenant, id) = (&key.tenant, &key.conversation);
                self.progress.note(&format!("{tenant}/{id}: {what}"));
            }
        }
    }

    /// Erased conversations were removed from segments.
    pub(super) fn swept(&mut self, swept: SweepResult) {
        self.swept.segments += swept.segments;
        self.swept.commits += swept.commits;
    }

    /// A conversation was skipped: it has newer commits, or is not projected yet.
    pub(super) fn skipped(&mut self) {
        self.left += 1;
    }

    /// A conversation has faults in the record and stays there.
    pub(super) fn unsound(&mut self, key: &ConversationKey, why: &str) -> anyhow::Result<()> {
        self.unsound += 1;
        let (tenant, id) = (key.tenant.as_str(), key.conversation.as_str());
        self.progress
            .note(&format!("{tenant}/{id}: not archived: {why}"));
        self.line(&json!({"kind": "unsound", "tenant": tenant, "conversation": id, "what": why}))
    }

    fn line(&self, line: &Value) -> anyhow::Result<()> {
        if self.json {
            writeln!(console::out(), "{line}")?;
        }
        Ok(())
    }

    /// Prints the summary and returns the exit code.
    pub(super) fn end(self) -> anyhow::Result<Exit> {
        let seconds = self.started.elapsed().as_secs_f64();
        self.line(&json!({"summary": {
            "segments": self.segments, "conversations": self.conversations, "commits": self.commits,
            "sizeBytes": self.size_bytes, "trimmed": self.trimmed, "left": self.left, "unsound": self.unsound,
            "sweptSegments": self.swept.segments, "sweptCommits": self.swept.commits, "seconds": seconds,
        }}))?;
        let summary = format!(
            "{} commits of {} conversations archived in {} segments of {}, {} commits trimmed from the record, {} commits/s; {} erased commits removed from segments; {} conversations skipped, {} with faults",
            grouped(self.commits),
            grouped(self.conversations),
            grouped(self.segments),
            HumanBytes(self.size_bytes),
            grouped(self.trimmed),
            grouped(per_second(self.commits, seconds)),
            grouped(self.swept.commits),
            grouped(self.left),
            grouped(self.unsound),
        );
        self.progress.finish(&summary);
        Ok(if self.unsound > 0 {
            Exit::Differs
        } else {
            Exit::Done
        })
    }
}

/// A segment of the catalogue as JSON.
pub(super) fn object(segment: &CataloguedSegment) -> Value {
    let (entry, sealed) = (&segment.catalogued.entry, &segment.sealed);
    json!({
        "segment": entry.segment.to_string(), "partition": entry.partition, "store": entry.store,
        "object": sealed.object, "sha256": sealed.sha256, "sizeBytes": sealed.size_bytes,
        "firstSequence": sealed.first_sequence, "lastSequence": sealed.last_sequence,
        "conversations": sealed.conversations, "commits": sealed.commits, "events": sealed.events,
        "madeAt": sealed.made_at, "trimmed": sealed.is_trimmed,
    })
}

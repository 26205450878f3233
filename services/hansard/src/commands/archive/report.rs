//! The output of an archive run: JSON lines for segments and faults, and a summary.

use std::io::Write as _;
use std::time::{Duration, Instant};

use archive::{ArchiveError, CataloguedSegment, SweepResult, TrimResult};
use domain::ConversationKey;
use indicatif::HumanBytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::console;
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped, per_second};

/// The output of a run.
pub(super) struct Report {
    json: bool,
    started: Instant,
    progress: Progress,
    counts: Counts,
    /// Conversations whose last commit waits for its removal.
    waiting: u64,
}

/// The counts of a run.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    segments: u64,
    conversations: u64,
    commits: u64,
    size_bytes: u64,
    trimmed: u64,
    hibernated: u64,
    left: u64,
    unsound: u64,
    swept_segments: u64,
    swept_commits: u64,
    seconds: f64,
}

impl Report {
    pub(super) fn begin(json: bool) -> Self {
        Self {
            json,
            started: Instant::now(),
            progress: Progress::begin("archive", Length::Unknown),
            counts: Counts::default(),
            waiting: 0,
        }
    }

    /// A segment was sealed; its messages are still in the record.
    pub(super) fn sealed(&mut self, segment: &CataloguedSegment) -> anyhow::Result<()> {
        let sealed = &segment.sealed;
        self.counts.segments += 1;
        self.counts.conversations += sealed.conversations;
        self.counts.commits += sealed.commits;
        self.counts.size_bytes += sealed.size_bytes;
        let (commits, segments) = (self.counts.commits, self.counts.segments);
        self.progress.advance(commits, || format!("{} commits in {segments} segments", grouped(commits)));
        self.line(&object(segment))
    }

    /// The messages of a segment were trimmed from the record.
    pub(super) fn trimmed(&mut self, trimmed: &TrimResult) {
        self.counts.trimmed += trimmed.commits;
        self.counts.hibernated += trimmed.hibernated;
        self.waiting += trimmed.waiting;
        let kept = "not trimmed: its last commit in the record is older than its last archived commit";
        let unsealed = "commits before the end of its segment are in no segment and stay in the record";
        for (keys, what) in [(&trimmed.kept, kept), (&trimmed.unsealed, unsealed)] {
            for key in keys {
                let (tenant, id) = (&key.tenant, &key.conversation);
                self.progress.note(&format!("{tenant}/{id}: {what}"));
            }
        }
    }

    /// The number of conversations whose last commit waits for its removal.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// The removal of last commits begins in this time.
    pub(super) fn waits(&mut self, left: Duration) {
        let (waiting, commits) = (self.waiting, self.counts.commits);
        self.progress.advance(commits, || {
            let seconds = left.as_secs();
            format!("{} last commits leave the record in {seconds} s", grouped(waiting))
        });
    }

    /// The record did not answer; the removal is tried again.
    pub(super) fn retries(&self, error: &ArchiveError) {
        self.progress.note(&format!("{error}: trying again"));
    }

    /// Erased conversations were removed from segments.
    pub(super) fn swept(&mut self, swept: SweepResult) {
        self.counts.swept_segments += swept.segments;
        self.counts.swept_commits += swept.commits;
    }

    /// A conversation was skipped: it has newer commits, or is not projected yet.
    pub(super) fn skipped(&mut self) {
        self.counts.left += 1;
    }

    /// A conversation has faults in the record and stays there.
    pub(super) fn unsound(&mut self, key: &ConversationKey, why: &str) -> anyhow::Result<()> {
        self.counts.unsound += 1;
        let (tenant, id) = (key.tenant.as_str(), key.conversation.as_str());
        let note = format!("{tenant}/{id}: not archived: {why}");
        self.progress.note(&note);
        self.line(&json!({"kind": "unsound", "tenant": tenant, "conversation": id, "what": why}))
    }

    fn line(&self, line: &Value) -> anyhow::Result<()> {
        if self.json {
            writeln!(console::out(), "{line}")?;
        }
        Ok(())
    }

    /// Prints the summary and returns the exit code.
    pub(super) fn end(mut self) -> anyhow::Result<Exit> {
        self.counts.seconds = self.started.elapsed().as_secs_f64();
        self.line(&json!({"summary": self.counts}))?;
        let counts = self.counts;
        let summary = format!(
            "{} commits of {} conversations archived in {} segments of {}, {} commits trimmed from the record, {} conversations hibernated, {} commits/s; {} erased commits removed from segments; {} conversations skipped, {} with faults",
            grouped(counts.commits),
            grouped(counts.conversations),
            grouped(counts.segments),
            HumanBytes(counts.size_bytes),
            grouped(counts.trimmed),
            grouped(counts.hibernated),
            grouped(per_second(counts.commits, counts.seconds)),
            grouped(counts.swept_commits),
            grouped(counts.left),
            grouped(counts.unsound),
        );
        self.progress.finish(&summary);
        Ok(Exit::Differs.when(counts.unsound > 0))
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
        "hibernated": sealed.hibernated, "madeAt": sealed.made_at, "trimmed": sealed.is_trimmed,
    })
}

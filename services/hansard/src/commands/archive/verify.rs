//! `hansard archive verify`: checks that every segment exists, is unchanged and continues without gaps into the record.

use std::collections::BTreeMap;
use std::io::Write as _;

use archive::segment::{ConversationEntry, Index, audit};
use archive::{Archive, ArchiveError, CataloguedSegment};
use domain::{ChainHash, ConversationKey, Head, Status};
use event_log::TailBounds;
use serde_json::json;

use crate::commands::stores::{ArchiveAddress, RecordAddress};
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped};
use crate::{console, table};

/// Check that every segment exists and is unchanged.
///
/// Reads every segment completely and checks checksums, versions, hash chains and heads. Checks for each conversation that its
/// segments follow each other without gaps and that the record continues the last one. Lists objects that are not in the
/// catalogue; if the catalogue is empty, name their store by `--archive`. Needs about 200 bytes of memory per archived
/// conversation.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive verify
  hansard archive verify --archive file:///copies/archive --json | jq -c 'select(.kind)'

Exit code 0: no findings; 5: at least one finding.")]
pub(super) struct Args {
    /// Print JSON Lines: one per finding, and a summary.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
}

/// The kinds of findings for segments that cannot be read.
const MISSING: &str = "segment_missing";
const CORRUPT: &str = "segment_corrupt";

/// A fault of a segment, a conversation or an object.
struct Finding {
    /// The segment, conversation or object.
    what: String,
    kind: &'static str,
    why: String,
}

#[derive(Default)]
struct Findings {
    segments: u64,
    commits: u64,
    list: Vec<Finding>,
    stretches: BTreeMap<ConversationKey, Vec<ConversationEntry>>,
}

impl Findings {
    fn add(&mut self, what: String, kind: &'static str, why: String) {
        self.list.push(Finding { what, kind, why });
    }
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let archive = args.archive.of(&args.record.open("hansard-archive").await?);
    let segments = archive.segments(None).await?;
    let count = u64::try_from(segments.len()).unwrap_or(u64::MAX);
    let mut progress = Progress::begin("archive verify", Length::Items(count));
    let mut findings = Findings::default();
    for segment in &segments {
        check_segment(&archive, segment, &mut findings).await?;
        let text = || format!("{} commits", grouped(findings.commits));
        progress.advance(findings.segments, text);
    }
    for (key, stretches) in std::mem::take(&mut findings.stretches) {
        if let Some((kind, why)) = gap(&archive, &key, stretches).await? {
            findings.add(format!("{}/{}", key.tenant, key.conversation), kind, why);
        }
    }
    for (store, object) in archive.unknown_objects().await? {
        let why = format!("in {store} is not in the catalogue: erasures do not reach it");
        findings.add(object, "object_unknown", why);
    }
    let (commits, segments) = (grouped(findings.commits), grouped(findings.segments));
    let count = findings.list.len();
    let summary = format!("{commits} commits in {segments} segments, {count} findings");
    progress.finish(&summary);
    print(&findings, args.json)
}

/// Reads a segment. A segment that cannot be read is a finding; an error of the record is returned.
async fn check_segment(
    archive: &Archive,
    segment: &CataloguedSegment,
    findings: &mut Findings,
) -> Result<(), ArchiveError> {
    findings.segments += 1;
    let (kind, why) = match archive.load(segment).await {
        Ok((index, messages)) => {
            findings.commits += index.messages();
            match audit(&messages) {
                Ok(conversations) if are_equal(&conversations, &index) => {
                    for entry in index.conversations {
                        let of_key = findings.stretches.entry(entry.key.clone());
                        of_key.or_default().push(entry);
                    }
                    return Ok(());
                }
                Ok(_) => (CORRUPT, "its index does not match its commits".to_owned()),
                Err(unsound) => ("commit_unsound", unsound.to_string()),
            }
        }
        Err(error @ (ArchiveError::Record(_) | ArchiveError::Catalogue(_))) => return Err(error),
        Err(error) => {
            let is_missing = matches!(error, ArchiveError::Unreachable { .. });
            let kind = if is_missing { MISSING } else { CORRUPT };
            (kind, format!("{:#}", anyhow::Error::new(error)))
        }
    };
    findings.add(segment.catalogued.entry.segment.to_string(), kind, why);
    Ok(())
}

/// Whether the index has the ranges that the commits have. It also has which are hibernated, which no commit has.
fn are_equal(found: &[ConversationEntry], index: &Index) -> bool {
    let with_state = |(one, stored): (&ConversationEntry, &ConversationEntry)| {
        let one = ConversationEntry { is_hibernated: stored.is_hibernated, ..one.clone() };
        one == *stored
    };
    let stored = &index.conversations;
    found.len() == stored.len() && found.iter().zip(stored).all(with_state)
}

/// The kind of a finding, and the cause.
type Gap = (&'static str, String);

/// Finds a gap between the segments of a conversation, or between the last one and the record.
async fn gap(
    archive: &Archive,
    key: &ConversationKey,
    mut stretches: Vec<ConversationEntry>,
) -> anyhow::Result<Option<Gap>> {
    stretches.sort_unstable_by_key(|stretch| stretch.first);
    let record = archive.record();
    let last = archive.last_commit(key).await?;
    let last_sequence = last.as_ref().map(|last| last.position.sequence);
    let head = last.map(|last| last.open_head()).transpose()?;
    let is_erased = head.as_ref().map(|head| head.status) == Some(Status::Erased);
    if is_erased && stretches.iter().all(|one| one.is_tombstone) {
        return Ok(None);
    }
    if is_erased {
        let why = "is erased, but is in a segment: run `hansard archive sweep`";
        return Ok(Some(("erased", why.to_owned())));
    }
    let missing = |why: &str| Ok(Some(("stretch_gap", why.to_owned())));
    if let Some(why) = between(&stretches, head.as_ref()) {
        return missing(&why);
    }
    let Some(end) = stretches.last() else {
        return Ok(None);
    };
    if end.is_hibernated && last_sequence == Some(end.last) {
        return Ok(None);
    }
    let one = TailBounds { commits_max: 1, ..TailBounds::default() };
    let tail = record.tail(key, end.last, one).await?;
    let Some(next) = tail.commits.first() else {
        return missing("the record has no commit after the last archived one");
    };
    let next = next.open()?.opened;
    let continues = next.commit.first_version == end.last_version.next()
        && next.commit.head.chain == ChainHash::next(end.chain, &next.body);
    if continues {
        return Ok(None);
    }
    missing("the record does not continue the last archived commit")
}

fn between(stretches: &[ConversationEntry], head: Option<&Head>) -> Option<String> {
    let forked = head.and_then(|head| head.forked_from.as_ref());
    let mut expected = forked.map_or(domain::Version(1), |point| point.version.next());
    for stretch in stretches {
        let found = stretch.first_version;
        if found != expected {
            let why = format!("expected version {expected}, found version {found}");
            return Some(why);
        }
        expected = stretch.last_version.next();
    }
    None
}

fn print(findings: &Findings, json: bool) -> anyhow::Result<Exit> {
    let mut out = console::out();
    let list = &findings.list;
    if json {
        for Finding { what, kind, why } in list {
            writeln!(out, "{}", json!({"kind": kind, "of": what, "what": why}))?;
        }
        let summary = json!({"summary": {
            "segments": findings.segments, "commits": findings.commits, "findings": list.len(),
        }});
        writeln!(out, "{summary}")?;
    } else if !list.is_empty() {
        let row = |one: &Finding| [one.what.clone(), one.kind.to_owned(), one.why.clone()];
        let rows: Vec<_> = list.iter().map(row).collect();
        table::write(&mut out, ["OF", "KIND", "WHAT"], &rows)?;
    }
    Ok(Exit::Differs.when(!list.is_empty()))
}

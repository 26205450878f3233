//! `hansard archive verify`: whether every segment is there and whole, and goes on from the others and into the record.

use std::collections::BTreeMap;
use std::io::Write as _;

use archive::segment::{ConversationEntry, audit};
use archive::{Archive, ArchiveError, CataloguedSegment};
use domain::{ChainHash, ConversationKey, Head, Status};
use event_log::TailBounds;
use serde_json::json;

use crate::commands::stores::{ArchiveAddress, RecordAddress};
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped};
use crate::{console, table};

/// Check that every segment is there, and is what was sealed.
///
/// Reads all of every segment: checksums, versions, chains and heads; and of each conversation, that its stretches follow each
/// other and that the record goes on from the last. Objects that the catalogue does not know are told, too; `--archive` names
/// their store where the catalogue is empty. About 200 bytes of memory are needed for each archived conversation.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard archive verify
  hansard archive verify --archive file:///copies/archive --json | jq -c 'select(.kind)'

Ends with 0 when all is whole, and with 5 when it is not.")]
pub(super) struct Args {
    /// Print JSON Lines: one for each finding, and a summary.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    record: RecordAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
}

/// Something that is not as it should be.
struct Finding {
    /// The segment, or the conversation.
    what: String,
    kind: &'static str,
    why: String,
}

#[derive(Default)]
struct Judged {
    segments: u64,
    commits: u64,
    findings: Vec<Finding>,
    stretches: BTreeMap<ConversationKey, Vec<ConversationEntry>>,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let archive = args.archive.of(&args.record.open("hansard-archive").await?);
    let segments = archive.segments(None).await?;
    let count = u64::try_from(segments.len()).unwrap_or(u64::MAX);
    let mut progress = Progress::begin("archive verify", Length::Items(count));
    let mut judged = Judged::default();
    for segment in &segments {
        judge(&archive, segment, &mut judged).await?;
        let commits = judged.commits;
        progress.advance(judged.segments, || format!("{} commits", grouped(commits)));
    }
    for (key, stretches) in std::mem::take(&mut judged.stretches) {
        if let Some((kind, why)) = gap(&archive, &key, stretches).await? {
            judged.findings.push(Finding {
                what: format!("{}/{}", key.tenant, key.conversation),
                kind,
                why,
            });
        }
    }
    for (store, object) in archive.unknown_objects().await? {
        judged.findings.push(Finding {
            what: object,
            kind: "object_unknown",
            why: format!(
                "is in {store}, and the catalogue does not know it: no erasure reaches it"
            ),
        });
    }
    progress.finish(&format!(
        "{} commits in {} segments, {} findings",
        grouped(judged.commits),
        grouped(judged.segments),
        judged.findings.len()
    ));
    tell(&judged, args.json)
}

/// Reads a segment. What keeps it from being read is a finding, unless the record itself does not answer.
async fn judge(
    archive: &Archive,
    segment: &CataloguedSegment,
    judged: &mut Judged,
) -> Result<(), ArchiveError> {
    judged.segments += 1;
    let (kind, why) = match archive.load(segment).await {
        Ok((index, messages)) => {
            judged.commits += index.messages();
            match audit(&messages) {
                Ok(conversations) if conversations == index.conversations => {
                    for entry in conversations {
                        let of_key = judged.stretches.entry(entry.key.clone());
                        of_key.or_default().push(entry);
                    }
                    return Ok(());
                }
                Ok(_) => (
                    "segment_corrupt",
                    "its index is not what its commits come to".to_owned(),
                ),
                Err(unsound) => ("commit_unsound", unsound.to_string()),
            }
        }
        Err(error @ (ArchiveError::Record(_) | ArchiveError::Catalogue(_))) => return Err(error),
        Err(error) => (kind_of(&error), format!("{:#}", anyhow::Error::new(error))),
    };
    judged.findings.push(Finding {
        what: segment.catalogued.entry.segment.to_string(),
        kind,
        why,
    });
    Ok(())
}

fn kind_of(error: &ArchiveError) -> &'static str {
    if matches!(error, ArchiveError::Unreachable { .. }) {
        "segment_missing"
    } else {
        "segment_corrupt"
    }
}

/// A finding's kind, and why.
type Gap = (&'static str, String);

/// What is missing between a conversation's stretches, or between them and the record; `None`: nothing.
async fn gap(
    archive: &Archive,
    key: &ConversationKey,
    mut stretches: Vec<ConversationEntry>,
) -> anyhow::Result<Option<Gap>> {
    stretches.sort_unstable_by_key(|stretch| stretch.first);
    let record = archive.record();
    let last = record.last_from_leader(key).await?;
    let head = last.map(|last| last.open_head()).transpose()?;
    if head
        .as_ref()
        .is_some_and(|head| head.status == Status::Erased)
    {
        let why = "is erased, and stands here: run `hansard archive sweep`";
        return Ok(Some(("erased", why.to_owned())));
    }
    let missing = |why: &str| Ok(Some(("stretch_gap", why.to_owned())));
    if let Some(why) = between(&stretches, head.as_ref()) {
        return missing(&why);
    }
    let Some(end) = stretches.last() else {
        return Ok(None);
    };
    let one = TailBounds {
        commits_max: 1,
        ..TailBounds::default()
    };
    let tail = record.tail(key, end.last, one).await?;
    let Some(next) = tail.commits.first() else {
        return missing("the record has no commit after the last one here");
    };
    let next = next.open()?.opened;
    let goes_on = next.commit.first_version == end.last_version.next()
        && next.commit.head.chain == ChainHash::next(end.chain, &next.body);
    if goes_on {
        return Ok(None);
    }
    missing("the record does not go on from the last commit here")
}

fn between(stretches: &[ConversationEntry], head: Option<&Head>) -> Option<String> {
    let forked = head.and_then(|head| head.forked_from.as_ref());
    let mut expected = forked.map_or(domain::Version(1), |point| point.version.next());
    for stretch in stretches {
        if stretch.first_version != expected {
            return Some(format!(
                "version {expected} is expected, and version {} is here",
                stretch.first_version
            ));
        }
        expected = stretch.last_version.next();
    }
    None
}

fn tell(judged: &Judged, json: bool) -> anyhow::Result<Exit> {
    let mut out = console::out();
    if json {
        for Finding { what, kind, why } in &judged.findings {
            writeln!(out, "{}", json!({"kind": kind, "of": what, "what": why}))?;
        }
        let summary = json!({"summary": {
            "segments": judged.segments, "commits": judged.commits, "findings": judged.findings.len(),
        }});
        writeln!(out, "{summary}")?;
    } else if !judged.findings.is_empty() {
        let row = |one: &Finding| [one.what.clone(), one.kind.to_owned(), one.why.clone()];
        let rows: Vec<_> = judged.findings.iter().map(row).collect();
        table::write(&mut out, ["OF", "KIND", "WHAT"], &rows)?;
    }
    Ok(if judged.findings.is_empty() {
        Exit::Done
    } else {
        Exit::Differs
    })
}

//! `hansard restore`: restores a record from its backup to an empty NATS server.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::{Archive, check_objects};
use event_log::{RecordConfig, Restore};
use futures::stream;
use serde_json::json;

use super::stores::{ArchiveAddress, NatsAddress};
use crate::backup::{Manifest, pieces, verified};
use crate::console;
use crate::erase::keys::public_key;
use crate::erase::{Job, RepeatedErasure, finish_all, read_receipts, scan_record};
use crate::exit::{Exit, UsageError};
use crate::progress::{Length, Progress, grouped};

/// Restore a record from its backup.
///
/// First verifies the backup, finds its archived segments, and checks that the server has no streams. Stop all roles before, and
/// give projectors an empty database, because rows may be newer than the backup. The backup contains what was erased after it:
/// give the receipts of those erasures, and the restore repeats them. After an interruption, run the same command again. Start
/// no role before it ends with exit code 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard restore /backups/2026-11-22 --receipts /backups/receipts --dry-run
  hansard restore /backups/2026-11-22 --receipts /backups/receipts --nats-url nats://new:4222")]
pub(crate) struct Args {
    /// Folder of the backup.
    folder: PathBuf,
    /// Folder with erasure receipts and ledgers of `hansard erase`: every `.json` file in it is read.
    #[arg(long, value_name = "FOLDER")]
    receipts: Option<PathBuf>,
    /// Public key of receipts that the backup does not contain, because `hansard receipt-key rotate` created it later; as
    /// `hansard receipt-key list` prints it. Repeat the option for several keys.
    #[arg(long = "receipt-key", value_name = "HEX", value_parser = public_key, requires = "receipts")]
    receipt_keys: Vec<String>,
    /// Verify the backup, the receipts and the server, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    nats: NatsAddress,
    #[command(flatten)]
    archive: ArchiveAddress,
}

/// The error for a missing segment.
const SEGMENTS_MISSING: &str = "archived segments are missing: bring them back, or name their store by --archive";

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let manifest = verified(&args.folder)?;
    let again = match &args.receipts {
        Some(folder) => {
            let keys = [manifest.all_receipt_keys(), args.receipt_keys.clone()].concat();
            read_receipts(folder, &manifest.record, &keys)?
        }
        None => Vec::new(),
    };
    let restoration = Restore::prepare(manifest.name(), config(&args, &manifest)?).await?;
    // A backup contains the archive's catalogue, but not the segments.
    let catalogue = manifest.catalogue.as_deref().unwrap_or_default();
    let segments = if restoration.is_resumed() {
        // The interrupted restore may have erased some segments already; the restored catalogue is checked later.
        0
    } else {
        let found = check_objects(catalogue, args.archive.url.as_ref()).await.context(SEGMENTS_MISSING);
        found.context("nothing was changed")?
    };
    let mut done = Done { resumed: restoration.is_resumed(), subjects: again.len(), segments, erased: 0 };
    if !args.dry_run {
        finish(&args, &manifest, &restoration, &again, &mut done).await.with_context(|| unfinished(again.len()))?;
    }
    print(&args, &manifest, &done)
}

fn config(args: &Args, manifest: &Manifest) -> Result<RecordConfig, UsageError> {
    Ok(RecordConfig {
        partitions: manifest.partitions,
        client_name: "hansard-restore".to_owned(),
        master_keys: args.nats.keys.read()?,
        ..RecordConfig::new(args.nats.nats_url.expose())
    })
}

/// The result of a restore.
struct Done {
    /// Whether this run resumed an interrupted restore.
    resumed: bool,
    /// Erasures to repeat.
    subjects: usize,
    /// Conversations that these erasures erased.
    erased: usize,
    /// Archived segments that exist.
    segments: usize,
}

/// The part of a restore that changes something. It can be repeated until it succeeds.
async fn finish(
    args: &Args,
    manifest: &Manifest,
    restoration: &Restore,
    again: &[RepeatedErasure],
    done: &mut Done,
) -> anyhow::Result<()> {
    if let Some(first) = manifest.streams.first() {
        restoration.begin(&first.description).await?;
    }
    restore(&args.folder, manifest, restoration).await?;
    let record = restoration.record().await?;
    let archive = args.archive.of(&record);
    // Erasures after the backup have changed the segments.
    archive.adopt().await.context(SEGMENTS_MISSING)?;
    done.segments = archive.check_reachable().await.context(SEGMENTS_MISSING)?;
    for one in again {
        done.erased += erase_again(&archive, one).await?;
    }
    // Erasures that were in progress when the backup was taken.
    finish_all(&record, &scan_record(&record, None).await?).await?;
    Ok(restoration.end().await?)
}

fn unfinished(erasures: usize) -> String {
    let pending = match erasures {
        0 => String::new(),
        _ => format!("{erasures} erasures may still have to be repeated, and until then their content is readable; "),
    };
    format!("the restore is not finished: {pending}start no role, and run the same command again to resume")
}

async fn restore(folder: &Path, manifest: &Manifest, restoration: &Restore) -> anyhow::Result<()> {
    let mut progress = Progress::begin("restore", Length::Bytes(manifest.size_bytes()));
    let mut bytes = 0;
    for archived in &manifest.streams {
        let pieces = stream::iter(pieces(folder, archived)?);
        let (name, description) = (&archived.name, &archived.description);
        restoration.stream(name, description, pieces).await?;
        bytes += archived.size_bytes;
        progress.advance(bytes, || format!("{} bytes", grouped(bytes)));
    }
    progress.finish(&format!("{} streams", manifest.streams.len()));
    Ok(())
}

/// Repeats an erasure. Returns the number of erased conversations.
async fn erase_again(archive: &Archive, again: &RepeatedErasure) -> anyhow::Result<usize> {
    let mut progress = Progress::begin("erase again", Length::Unknown);
    let job = Job {
        record: archive.record().clone(),
        archive: archive.clone(),
        subject: again.subject.clone(),
        forks: again.forks,
    };
    let erased = job.execute(&mut progress).await?.conversations.len();
    let tenant = job.subject.tenant();
    progress.finish(&format!("{erased} conversations of {tenant}"));
    Ok(erased)
}

fn print(args: &Args, manifest: &Manifest, done: &Done) -> anyhow::Result<Exit> {
    let (subjects, erased, segments) = (done.subjects, done.erased, done.segments);
    let messages: u64 = manifest.streams.iter().map(|stream| stream.messages).sum();
    let mut out = console::out();
    if args.json {
        let output = json!({
            "record": manifest.record,
            "begunAt": manifest.begun_at,
            "streams": manifest.streams.len(),
            "messages": messages,
            "subjectsErasedAgain": subjects,
            "conversationsErased": erased,
            "segmentsFound": segments,
            "restored": !args.dry_run,
            "resumed": done.resumed,
        });
        writeln!(out, "{output}")?;
        return Ok(Exit::Done);
    }
    let verb = match (args.dry_run, done.resumed) {
        (true, false) => "would restore",
        (true, true) => "would resume the restore of",
        (false, _) => "restored",
    };
    let (backup, messages) = (manifest.name(), grouped(messages));
    writeln!(out, "{verb} {backup}: {messages} messages")?;
    writeln!(out, "erasures to repeat: {subjects}, conversations erased: {erased}")?;
    if segments > 0 {
        writeln!(out, "archived segments found: {segments}")?;
    }
    Ok(Exit::Done)
}

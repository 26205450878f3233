//! `hansard restore`: a record from its backup, on a server that has none.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use archive::Archive;
use event_log::{Record, RecordConfig, Restoration};
use serde_json::json;

use super::stores::{ArchiveAddress, NatsAddress};
use crate::backup::{Manifest, archive, verified};
use crate::console;
use crate::erase::{Again, Job, finish_all, of_receipts, scan};
use crate::exit::{Exit, UsageError};
use crate::progress::{Length, Progress, grouped};

/// Make a record again from its backup.
///
/// The backup is verified before anything is touched, what it has archived is looked for, and the server must have no streams.
/// Stop every role first, and give projectors an empty database: rows may be ahead of the backup. What was erased since the
/// backup is in it: give the receipts of those erasures, and they are carried out again before this ends. Stopped at any
/// point, the same command goes on; start no role before it has ended with 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard restore /backups/2026-11-22 --receipts /backups/receipts --dry-run
  hansard restore /backups/2026-11-22 --receipts /backups/receipts --nats-url nats://new:4222")]
pub struct Args {
    /// The backup.
    folder: PathBuf,
    /// A folder with receipts of erasures, as `hansard erase` writes them: each `.json` in it.
    #[arg(long, value_name = "FOLDER")]
    receipts: Option<PathBuf>,
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

/// What is wrong when a segment is not there.
const ELSEWHERE: &str = "what is archived cannot all be read: bring the segments back, or name where they are with --archive";

/// Runs the command.
///
/// # Errors
/// The backup or a receipt is not whole, the server is not empty, or it does not answer.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let manifest = verified(&args.folder)?;
    let again = match &args.receipts {
        Some(folder) => of_receipts(folder, &manifest.record, &manifest.all_receipt_keys())?,
        None => Vec::new(),
    };
    let restoration = Restoration::of(manifest.name(), config(&args, &manifest)?).await?;
    // A backup names what is archived, and does not hold it.
    let catalogue = manifest.catalogue.as_deref().unwrap_or_default();
    let segments = if restoration.is_begun() {
        // What it erased so far may have emptied some of them; the catalogue that is restored knows.
        0
    } else {
        let found = args.archive.look_for(catalogue).await;
        found.context(ELSEWHERE).context("nothing was changed")?
    };
    let mut done = Done {
        resumed: restoration.is_begun(),
        subjects: again.len(),
        segments,
        erased: 0,
    };
    if !args.dry_run {
        let finished = finish(&args, &manifest, &restoration, &again, &mut done).await;
        finished.with_context(|| unfinished(again.len()))?;
    }
    tell(&args, &manifest, &done)
}

fn config(args: &Args, manifest: &Manifest) -> Result<RecordConfig, UsageError> {
    Ok(RecordConfig {
        partitions: manifest.partitions,
        client_name: "hansard-restore".to_owned(),
        master_keys: args.nats.keys.read()?,
        ..RecordConfig::new(args.nats.nats_url.clone())
    })
}

/// What a restore came to.
struct Done {
    /// Whether an earlier one of the backup had been cut short.
    resumed: bool,
    /// Erasures to carry out again.
    subjects: usize,
    /// Conversations that they erased.
    erased: usize,
    /// Archived segments that were found.
    segments: usize,
}

/// All that changes something, so that it can be gone on with until all of it is done.
async fn finish(
    args: &Args,
    manifest: &Manifest,
    restoration: &Restoration,
    again: &[Again],
    done: &mut Done,
) -> anyhow::Result<()> {
    if let Some(first) = manifest.streams.first() {
        restoration.begin(&first.description).await?;
    }
    restore(&args.folder, manifest, restoration).await?;
    let record = Record::open(config(args, manifest)?).await?;
    let archive = args.archive.of(&record);
    // What was erased since the backup was taken out of its segments since.
    archive.adopt().await.context(ELSEWHERE)?;
    done.segments = archive.check_reachable().await.context(ELSEWHERE)?;
    for one in again {
        done.erased += erase_again(&archive, one).await?;
    }
    // Erasures that were in progress when the backup was taken.
    finish_all(&record, &scan(&record, None).await?).await?;
    Ok(restoration.end().await?)
}

fn unfinished(erasures: usize) -> String {
    let due = if erasures > 0 {
        format!(
            "{erasures} erasures may still be due, and until they are carried out what they erased can be read; "
        )
    } else {
        String::new()
    };
    format!(
        "the restore is not finished: {due}start no role, and run the same command again, which goes on"
    )
}

async fn restore(
    folder: &Path,
    manifest: &Manifest,
    restoration: &Restoration,
) -> anyhow::Result<()> {
    let mut progress = Progress::begin("restore", Length::Bytes(manifest.size_bytes()));
    let mut bytes = 0;
    for archived in &manifest.streams {
        let pieces = archive(folder, archived)?;
        let name = &archived.name;
        restoration
            .stream(name, &archived.description, pieces)
            .await?;
        bytes += archived.size_bytes;
        progress.advance(bytes, || format!("{} bytes", grouped(bytes)));
    }
    progress.finish(&format!("{} streams", manifest.streams.len()));
    Ok(())
}

/// Carries an erasure out again; how many conversations are erased by it.
async fn erase_again(archive: &Archive, again: &Again) -> anyhow::Result<usize> {
    let mut progress = Progress::begin("erase again", Length::Unknown);
    let job = Job {
        record: archive.record().clone(),
        archive: archive.clone(),
        subject: again.subject.clone(),
        forks: again.forks,
    };
    let erased = job.carry_out(&mut progress).await?.conversations.len();
    progress.finish(&format!(
        "{erased} conversations of {}",
        job.subject.tenant()
    ));
    Ok(erased)
}

fn tell(args: &Args, manifest: &Manifest, done: &Done) -> anyhow::Result<Exit> {
    let Done {
        resumed,
        subjects,
        erased,
        segments,
    } = done;
    let messages: u64 = manifest.streams.iter().map(|stream| stream.messages).sum();
    let mut out = console::out();
    if args.json {
        let told = json!({
            "record": manifest.record,
            "begunAt": manifest.begun_at,
            "streams": manifest.streams.len(),
            "messages": messages,
            "subjectsErasedAgain": subjects,
            "conversationsErased": erased,
            "segmentsFound": segments,
            "restored": !args.dry_run,
            "resumed": resumed,
        });
        writeln!(out, "{told}")?;
        return Ok(Exit::Done);
    }
    let did = match (args.dry_run, resumed) {
        (true, false) => "would restore",
        (true, true) => "would go on to restore",
        (false, _) => "restored",
    };
    let (record, begun_at) = (&manifest.record, &manifest.begun_at);
    writeln!(
        out,
        "{did} record {record} as of {begun_at}: {} messages",
        grouped(messages)
    )?;
    writeln!(
        out,
        "erasures to carry out again: {subjects}, conversations erased: {erased}"
    )?;
    if *segments > 0 {
        writeln!(
            out,
            "archived segments that it names, and that are there: {segments}"
        )?;
    }
    Ok(Exit::Done)
}

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
use crate::erase::{Again, Job, of_receipts};
use crate::exit::Exit;
use crate::progress::{Length, Progress, grouped};

/// Make a record again from its backup.
///
/// The backup is verified before anything is touched, and the server must have no streams. Stop every role first, and give
/// projectors an empty database: rows may be ahead of the backup. What was erased since the backup is in it: give the
/// receipts of those erasures, and they are carried out again before this ends.
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
const ELSEWHERE: &str = "the record is restored, but what it has archived cannot all be read: bring the segments back, or name \
     where they are with --archive, and run `hansard archive verify`";

/// Runs the command.
///
/// # Errors
/// The backup or a receipt is not whole, the server is not empty, or it does not answer.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let manifest = verified(&args.folder)?;
    let again = match &args.receipts {
        Some(folder) => of_receipts(folder, &manifest.record, &manifest.receipt_key)?,
        None => Vec::new(),
    };
    let config = RecordConfig {
        partitions: manifest.partitions,
        client_name: "hansard-restore".to_owned(),
        ..RecordConfig::new(args.nats.nats_url.clone())
    };
    let restoration = Restoration::on_empty_server(config.clone()).await?;
    let (mut erased, mut segments) = (0, 0);
    if !args.dry_run {
        restore(&args.folder, &manifest, &restoration).await?;
        let archive = args.archive.of(&Record::open(config).await?);
        // A backup names what is archived, and does not hold it; what was erased since was taken out of it since.
        archive.adopt().await.context(ELSEWHERE)?;
        segments = archive.check_reachable().await.context(ELSEWHERE)?;
        for one in &again {
            erased += erase_again(&archive, one).await?;
        }
    }
    tell(&args, &manifest, (again.len(), erased, segments))
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

fn tell(
    args: &Args,
    manifest: &Manifest,
    (subjects, erased, segments): (usize, usize, usize),
) -> anyhow::Result<Exit> {
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
        });
        writeln!(out, "{told}")?;
        return Ok(Exit::Done);
    }
    let did = if args.dry_run {
        "would restore"
    } else {
        "restored"
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
    if segments > 0 {
        writeln!(
            out,
            "archived segments that it names, and that are there: {segments}"
        )?;
    }
    Ok(Exit::Done)
}

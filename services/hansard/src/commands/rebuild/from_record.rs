//! `hansard rebuild from-record`: gives up rows that the record does not have.

use anyhow::ensure;
use archive::Archive;
use divergence::find;
use projector::rebuild::{Switch, SwitchOutcome, switch};
use read_model::ReadModel;
use read_model::projections::search::forget;
use read_model::schemas::{LiveRows, SchemaBuild};
use read_model::shards;
use runtime::rate_limiter::RateLimiter;
use runtime::shutdown::Shutdown;

use super::conversations::Rebuild;
use super::lock;
use super::losses::{Losses, losses};
use super::report::{Form, Step};
use crate::commands::stores::Stores;
use crate::erase::{ForkRule, Job, Subject};
use crate::exit::Exit;
use crate::progress::{Length, Progress};

/// Compute rows and search again from the record as it is, and give up what the record does not have.
///
/// For rows and a record that do not belong together: the record was replaced, or restored from an older copy. Until then no role
/// answers. First restore the right record if there is one: see `hansard restore`. This command prints the conversations whose commits
/// are given up, repeats the erasures that an older record lacks, computes all rows in a new schema, switches to it, and lets
/// projectors index the search again. The previous schema is kept until `hansard rebuild drop`. Run the command for each database: give
/// that of a shard with `--database-url`. Then restart writers, projectors and gateways. After an interruption, run it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild from-record --dry-run
  hansard rebuild from-record --json")]
pub(super) struct Args {
    #[command(flatten)]
    stores: Stores,
    /// Print what would be given up, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print each step as a JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let archive = args.stores.open_archive("hansard-rebuild").await?;
    let model = args.stores.read_model.open_for_long_statements()?;
    model.check().await?;
    archive.check_reachable().await?;
    let archive = archive.of_tenants(shards::tenants(&model).await?);
    let form = Form::of(args.json);
    let diverged = find(archive.record(), &model).await?;
    form.print(&Step::Diverged { divergences: &diverged })?;
    if diverged.is_empty() {
        return Ok(Exit::Done);
    }
    let lost = losses(&archive, &model).await?;
    form.print(&Step::Lost { losses: &lost })?;
    if args.dry_run {
        return Ok(Exit::Done);
    }
    give_up(&archive, &model, &lost, form).await?;
    form.print(&Step::Restart)?;
    Ok(Exit::Done)
}

async fn give_up(archive: &Archive, model: &ReadModel, lost: &Losses, form: Form) -> anyhow::Result<()> {
    repeat_erasures(archive, lost).await?;
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    let lock = lock(model).await?;
    let rebuild = Rebuild { archive: archive.clone(), model: model.clone(), shutdown, form };
    // The rows may belong to the record, and the search not: then they are computed again all the same, with the same result.
    let building = rebuild.build(&lock, RateLimiter::new(None)).await?;
    replace(archive, model, &building).await?;
    form.print(&Step::Switched { live: building.name(), kept: building.live() })?;
    forget(model).await?;
    Ok(())
}

/// Erases again what the rows know as erased and an older record still has.
async fn repeat_erasures(archive: &Archive, lost: &Losses) -> anyhow::Result<()> {
    for (tenant, ids) in lost.erasures() {
        let subject = Subject::Conversations { tenant, ids };
        let job = Job { record: archive.record().clone(), archive: archive.clone(), subject, forks: ForkRule::Sever };
        let mut progress = Progress::begin("erase again", Length::Unknown);
        let erased = job.execute(&mut progress).await?;
        progress.finish(&format!("{} conversations", erased.conversations.len()));
    }
    Ok(())
}

async fn replace(archive: &Archive, model: &ReadModel, building: &SchemaBuild) -> anyhow::Result<()> {
    let switched = switch(Switch {
        archive,
        model,
        from: building.live(),
        to: building.name(),
        to_check: &[],
        live_rows: LiveRows::GivenUp,
    });
    let outcome = switched.await?;
    ensure!(outcome == SwitchOutcome::Done, "the schemas changed meanwhile: run the command again");
    Ok(())
}

//! `hansard rebuild rollback`: switches back to the previous live schema.

use anyhow::Context as _;
use projector::rebuild::{Switch, switch};
use read_model::schemas::{LiveRows, SchemaState, list};
use read_model::shards;
use runtime::shutdown::Shutdown;

use super::catch_up::catch_up;
use super::report::{Form, Step};
use super::{TemporaryProjector, check_continued, lock};
use crate::commands::stores::Stores;
use crate::exit::Exit;

/// Switch back to the previous live schema.
///
/// That schema is first brought up to date from the record. Reads and writes continue. The current live schema is kept, so a rollback can be undone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild rollback --dry-run
  hansard rebuild rollback")]
pub(super) struct Args {
    #[command(flatten)]
    stores: Stores,
    /// Print what would be done, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print each step as a JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let archive = args.stores.open_archive("hansard-rebuild").await?;
    archive.check_reachable().await?;
    let model = args.stores.read_model.open_for_long_statements()?;
    model.check().await?;
    let archive = archive.of_tenants(shards::tenants(&model).await?);
    let form = Form::of(args.json);
    let from = model.live_schema().await?;
    let schemas = list(&model).await?;
    let kept = schemas.iter().filter(|one| one.state == SchemaState::Kept);
    let to = kept
        .max_by_key(|one| one.left_at)
        .context("no previous schema is kept: run `hansard rebuild conversations` to build one")?;
    if args.dry_run {
        form.print(&Step::WouldSwitch { from, to: to.name })?;
        return Ok(Exit::Done);
    }
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    let _lock = lock(&model).await?;
    let other = model.in_schema(to.name);
    check_continued(archive.record(), &other).await?;
    let projector = TemporaryProjector::start(&archive, &other, &shutdown);
    catch_up(&model.in_schema(from), &other, &shutdown).await?;
    projector.stop().await?;
    let live_rows = LiveRows::Equal;
    switch(Switch { archive: &archive, model: &model, from, to: to.name, to_check: &[], live_rows }).await?;
    form.print(&Step::Switched { live: to.name, kept: from })?;
    Ok(Exit::Done)
}

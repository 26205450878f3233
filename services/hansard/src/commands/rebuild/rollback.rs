//! `hansard rebuild rollback`: back to a schema that was live before.

use projector::rebuild::{Switch, switch};
use read_model::schemas::{SchemaState, list};
use runtime::shutdown::Shutdown;

use super::caught_up::caught_up;
use super::following::Following;
use super::lock;
use super::report::{Form, Step};
use crate::commands::stores::Stores;
use crate::exit::Exit;

/// Go back to the schema that was live before.
///
/// It is brought up to date from the record first. Reads and writes go on. The schema that is left is kept, so that going back can be gone back on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild rollback --dry-run
  hansard rebuild rollback")]
pub(super) struct Args {
    #[command(flatten)]
    stores: Stores,
    /// Say what would be done, and do nothing.
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
    let form = Form::of(args.json);
    let from = model.live_schema().await?;
    let kept = list(&model).await?;
    let kept = kept.iter().filter(|one| one.state == SchemaState::Kept);
    let to = kept.max_by_key(|one| one.left_at);
    let to = to.ok_or_else(|| anyhow::anyhow!("no schema is kept: there is no way back"))?;
    if args.dry_run {
        form.tell(&Step::WouldSwitch { from, to: to.name })?;
        return Ok(Exit::Done);
    }
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    let _lock = lock(&model).await?;
    let other = model.in_schema(to.name);
    let following = Following::start(&archive, &other, &shutdown);
    caught_up(&model.in_schema(from), &other, &shutdown).await?;
    following.stop().await?;
    switch(Switch {
        archive: &archive,
        model: &model,
        from,
        to: to.name,
        to_check: &[],
    })
    .await?;
    form.tell(&Step::Switched {
        live: to.name,
        kept: from,
    })?;
    Ok(Exit::Done)
}

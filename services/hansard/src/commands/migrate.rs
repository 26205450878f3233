//! `hansard migrate`: migrates the schema of the read models, with a separate Postgres login.

use std::io::Write as _;

use read_model::schema_status;

use super::stores::ReadModelAddress;
use crate::console;
use crate::exit::Exit;

/// Migrate the Postgres schema of the read models.
///
/// Run it with the migration login before projectors of a new version start, and configure the projectors with
/// `migrates = false`. A repeated run changes nothing, and neither does one of an older program that supports the schema.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard migrate --database-url postgres://hansard_migrator@postgres/hansard")]
pub(crate) struct Args {
    #[command(flatten)]
    read_model: ReadModelAddress,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open_for_long_statements()?;
    model.migrate().await?;
    let found = schema_status(&model).await?.migrations.found;
    writeln!(console::out(), "the schema is at migration {found}")?;
    Ok(Exit::Done)
}

//! `hansard migrate`: the schema of the read models, brought up to date under a login of its own.

use std::io::Write as _;

use read_model::schema_standing;

use super::stores::ReadModelAddress;
use crate::console;
use crate::exit::Exit;

/// Bring the schema of the read models up to date.
///
/// Run it before projectors of a new version, with the login of migrations. Projectors then need `migrates = false`. Done twice,
/// it is done.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard migrate --database-url postgres://hansard_migrator@postgres/hansard")]
pub struct Args {
    #[command(flatten)]
    read_model: ReadModelAddress,
}

/// Runs the command.
///
/// # Errors
/// Postgres does not answer, the login may not, or a later program has been here.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open_for_long_statements()?;
    model.migrate().await?;
    let found = schema_standing(&model).await?.found;
    writeln!(console::out(), "the schema has migration {found}")?;
    Ok(Exit::Done)
}

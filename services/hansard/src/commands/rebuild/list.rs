//! `hansard rebuild list`: lists the schemas.

use domain::Timestamp;
use indicatif::HumanBytes;
use read_model::schemas::{SchemaInfo, SchemaState, list};
use serde_json::json;

use crate::commands::stores::ReadModelAddress;
use crate::exit::Exit;
use crate::table;
use crate::view::when;

/// List the schemas: the live one, kept ones, and one that is being built.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild list
  hansard rebuild list --json | jq -r 'select(.state == \"kept\") | .schema'")]
pub(super) struct Args {
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Print each schema as a JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open()?;
    model.check().await?;
    let schemas = list(&model).await?;
    let header = ["SCHEMA", "STATE", "PHASE", "SIZE", "MADE", "LEFT"];
    table::print_list(&schemas, args.json.then_some(object), header, row)?;
    Ok(Exit::Done)
}

fn row(schema: &SchemaInfo) -> [String; 6] {
    [
        schema.name.to_string(),
        word(schema.state).to_owned(),
        schema.phase.as_str().to_owned(),
        HumanBytes(schema.bytes).to_string(),
        time(schema.made_at),
        schema.left_at.map_or_else(String::new, time),
    ]
}

fn object(schema: &SchemaInfo) -> serde_json::Value {
    json!({
        "schema": schema.name.to_string(),
        "state": word(schema.state),
        "phase": schema.phase.as_str(),
        "bytes": schema.bytes,
        "madeAt": time(schema.made_at),
        "leftAt": schema.left_at.map(time),
    })
}

fn word(state: SchemaState) -> &'static str {
    match state {
        SchemaState::Live => "live",
        SchemaState::Building => "building",
        SchemaState::Kept => "kept",
    }
}

fn time(time: Timestamp) -> String {
    when::seconds(Some(&wire::time::to_proto(time)))
}

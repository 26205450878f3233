//! `--dry-run`: prints what a rebuild would do.

use std::io::Write as _;

use anyhow::Context as _;
use event_log::Record;
use indicatif::HumanBytes;
use read_model::ReadModel;
use read_model::schemas::{SchemaState, list};
use serde_json::json;

use super::copy::ends;
use super::report::Form;
use crate::console;
use crate::progress::grouped;

/// Prints what a rebuild would do, and changes nothing.
pub(super) async fn print(record: &Record, model: &ReadModel, form: Form) -> anyhow::Result<()> {
    let schemas = list(model).await?;
    let of = |state| schemas.iter().find(move |schema| schema.state == state);
    let live = of(SchemaState::Live).context("no schema is live")?;
    let resumed = of(SchemaState::Building);
    let commits: u64 = ends(record).await?.iter().map(|(_, end)| end.0).sum();
    let mut out = console::out();
    if form == Form::Json {
        let plan = json!({
            "live": live.name.to_string(),
            "liveBytes": live.bytes,
            "commits": commits,
            "resumes": resumed.map(|schema| schema.name.to_string()),
            "phase": resumed.map(|schema| schema.phase.as_str()),
        });
        return Ok(writeln!(out, "{plan}")?);
    }
    if let Some(schema) = resumed {
        let (name, phase) = (schema.name, schema.phase.as_str());
        writeln!(out, "would resume the schema {name} in the phase {phase}")?;
    } else {
        let (name, size) = (live.name, HumanBytes(live.bytes));
        writeln!(out, "would create a schema next to {name}, which is live and uses {size}")?;
    }
    let commits = grouped(commits);
    let then = "create indexes, project new commits, compare every conversation, and switch";
    Ok(writeln!(out, "would copy up to {commits} commits, {then}")?)
}

//! `hansard rebuild drop`: drops schemas that are not live.

use std::time::Duration;

use read_model::SchemaName;
use read_model::schemas::{DROP_GRACE, DropOutcome, SchemaInfo, SchemaState, SchemasLock, list};
use tokio::time::{Instant, sleep};

use super::lock;
use super::report::{Form, Step};
use crate::commands::stores::ReadModelAddress;
use crate::exit::{Exit, UsageError};

/// The interval of attempts while readers may still use the schema.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// The time after [`DROP_GRACE`] for which attempts continue.
const MARGIN: Duration = Duration::from_secs(2);

/// Drop schemas that are not live: kept ones, and one of an interrupted rebuild.
///
/// Their rows can be rebuilt from the record. Waits until readers have left a schema that was live recently.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild drop --dry-run
  hansard rebuild drop conversations_v1")]
pub(super) struct Args {
    /// Name of the schema; by default all that are not live.
    schema: Option<String>,
    #[command(flatten)]
    read_model: ReadModelAddress,
    /// Print what would be dropped, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print each step as a JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let model = args.read_model.open_for_long_statements()?;
    model.check().await?;
    let names = droppable(&list(&model).await?, args.schema.as_deref())?;
    let form = Form::of(args.json);
    if args.dry_run {
        for schema in names {
            form.print(&Step::WouldDrop { schema })?;
        }
        return Ok(Exit::Done);
    }
    let lock = lock(&model).await?;
    for schema in names {
        drop_one(&lock, schema).await?;
        form.print(&Step::Dropped { schema })?;
    }
    Ok(Exit::Done)
}

fn droppable(schemas: &[SchemaInfo], named: Option<&str>) -> Result<Vec<SchemaName>, UsageError> {
    let idle = schemas.iter().filter(|one| one.state != SchemaState::Live).map(|one| one.name);
    let Some(named) = named else {
        return Ok(idle.collect());
    };
    let found: Vec<_> = idle.filter(|name| name.to_string() == named).collect();
    let why = || format!("the schema {named} is live or does not exist: see `hansard rebuild list`");
    let found = Some(found).filter(|found| !found.is_empty());
    found.ok_or_else(|| UsageError(why()))
}

/// Drops a schema that is not live, as soon as no reader uses it.
pub(super) async fn drop_one(lock: &SchemasLock, schema: SchemaName) -> anyhow::Result<()> {
    let deadline = Instant::now() + DROP_GRACE + MARGIN;
    while lock.drop_schema(schema).await? == DropOutcome::Refused {
        anyhow::ensure!(
            Instant::now() < deadline,
            "the schema {schema} is still in use and was not dropped: try again later"
        );
        sleep(RETRY_INTERVAL).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use read_model::schemas::Phase;

    use super::*;

    #[test]
    fn the_live_schema_is_never_dropped() {
        let schema = |number: u32, state| SchemaInfo {
            name: SchemaName::parse(&format!("conversations_v{number}")).unwrap(),
            state,
            phase: Phase::Whole,
            made_at: Timestamp(0),
            left_at: None,
            bytes: 0,
        };
        let schemas = [schema(1, SchemaState::Kept), schema(2, SchemaState::Live), schema(3, SchemaState::Building)];
        let check = |named: Option<&str>, expected: Option<&[&str]>| {
            let found = droppable(&schemas, named).ok().map(|names| names.iter().map(ToString::to_string).collect());
            let expected: Option<Vec<String>> =
                expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(found, expected, "{named:?}");
        };
        check(None, Some(&["conversations_v1", "conversations_v3"]));
        check(Some("conversations_v1"), Some(&["conversations_v1"]));
        check(Some("conversations_v2"), None);
        check(Some("conversations_v9"), None);
    }
}

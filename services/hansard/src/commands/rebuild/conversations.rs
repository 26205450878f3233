//! `hansard rebuild conversations`: from the record to the live rows.

use std::time::Instant;

use archive::Archive;
use projector::rebuild::{Switch, Switched, switch};
use read_model::ReadModel;
use read_model::schemas::{Building, Phase, SchemaState, SchemasLock, list};
use runtime::pace::Pace;
use runtime::shutdown::Shutdown;

use super::caught_up::caught_up;
use super::compare::{Compared, compare};
use super::copy::copy;
use super::drop::drop_one;
use super::following::Following;
use super::report::{Form, Step};
use super::{lock, plan};
use crate::commands::stores::Stores;
use crate::exit::Exit;
use crate::progress::{Length, Progress};

/// Make conversations, events, listings and usage anew, and switch to them.
///
/// Reads and writes go on. The schema that was live is kept for `rollback`; those that earlier rebuilds left are dropped,
/// unless `--keep`. Nothing is switched when a conversation is not the same in both (exit code 5): `hansard rebuild drop`
/// drops what was made, `--accept-differences` switches all the same, as it must where the live rows are the wrong ones.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild conversations --dry-run
  hansard rebuild conversations --keep --json
  hansard rebuild conversations --rate 5000")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct Args {
    #[command(flatten)]
    stores: Stores,
    /// Keep all schemas that earlier rebuilds left, not only the one that this one leaves.
    #[arg(long)]
    keep: bool,
    /// Switch even if some conversations are not the same.
    #[arg(long)]
    accept_differences: bool,
    /// Copy at most so many events a second, to leave room for what is served meanwhile; as many as can be, unless given.
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print each step as a JSON object.
    #[arg(long)]
    json: bool,
}

/// A rebuild under way.
struct Rebuild {
    archive: Archive,
    model: ReadModel,
    shutdown: Shutdown,
    form: Form,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let rebuild = Rebuild {
        archive: args.stores.open_archive("hansard-rebuild").await?,
        model: args.stores.read_model.open_for_long_statements()?,
        shutdown: Shutdown::new(),
        form: Form::of(args.json),
    };
    rebuild.model.check().await?;
    // Before anything is made: rows without what is archived would be no rows of the record.
    rebuild.archive.check_reachable().await?;
    if args.dry_run {
        plan::tell(rebuild.archive.record(), &rebuild.model, rebuild.form).await?;
        return Ok(Exit::Done);
    }
    rebuild.shutdown.listen_for_signals()?;
    let lock = lock(&rebuild.model).await?;
    let building = rebuild.make(&lock, Pace::new(args.rate)).await?;
    let exit = rebuild.enter(&building, args.accept_differences).await?;
    if exit == Exit::Done && !args.keep {
        rebuild.drop_earlier(&lock, &building).await?;
    }
    Ok(exit)
}

impl Rebuild {
    /// Makes a schema that is filled and indexed, or finishes one.
    async fn make(&self, lock: &SchemasLock, pace: Pace) -> anyhow::Result<Building> {
        let mut building = lock.begin().await?;
        self.form.tell(&Step::Begun {
            schema: building.name(),
            live: building.live(),
            phase: building.phase().as_str(),
        })?;
        if building.phase() == Phase::Copying {
            copy(&self.archive, &building, pace, &self.shutdown, self.form).await?;
        }
        if building.phase() != Phase::Following {
            self.index(&mut building).await?;
        }
        Ok(building)
    }

    async fn index(&self, building: &mut Building) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut progress = Progress::begin("index", Length::Unknown);
        progress.advance(0, || "rows of conversations".to_owned());
        let work = async {
            building.place().await?;
            building.index(|name| progress.note(name)).await
        };
        tokio::select! {
            made = work => made?,
            () = self.shutdown.begun() => anyhow::bail!("stopped: run it again to go on"),
        }
        progress.finish("done");
        self.form.tell(&Step::Indexed {
            took: began.elapsed(),
        })
    }

    /// Follows the record in the new schema, compares, and switches.
    async fn enter(&self, building: &Building, accept_differences: bool) -> anyhow::Result<Exit> {
        let live = self.model.in_schema(building.live());
        let other = building.model();
        let following = Following::start(&self.archive, other, &self.shutdown);
        caught_up(&live, other, &self.shutdown).await?;
        let compared = compare(&live, other, &self.shutdown, self.form).await?;
        caught_up(&live, other, &self.shutdown).await?;
        following.stop().await?;
        let to_check = match compared {
            Compared::Differ(conversations) | Compared::Same(conversations)
                if accept_differences =>
            {
                self.differ(&conversations)?;
                Vec::new()
            }
            Compared::Differ(conversations) => return self.refuse(&conversations),
            Compared::Same(to_check) => to_check,
        };
        let switched = switch(Switch {
            archive: &self.archive,
            model: &self.model,
            from: building.live(),
            to: building.name(),
            to_check: &to_check,
        });
        if let Switched::Differs(conversations) = switched.await? {
            return self.refuse(&conversations);
        }
        self.form.tell(&Step::Switched {
            live: building.name(),
            kept: building.live(),
        })?;
        Ok(Exit::Done)
    }

    fn differ(&self, conversations: &[domain::ConversationKey]) -> anyhow::Result<()> {
        if conversations.is_empty() {
            return Ok(());
        }
        self.form.tell(&Step::Differ { conversations })
    }

    fn refuse(&self, conversations: &[domain::ConversationKey]) -> anyhow::Result<Exit> {
        self.differ(conversations)?;
        Ok(Exit::Differs)
    }

    /// Drops what earlier rebuilds left.
    async fn drop_earlier(&self, lock: &SchemasLock, building: &Building) -> anyhow::Result<()> {
        for schema in list(&self.model).await? {
            if schema.state == SchemaState::Kept && schema.name != building.live() {
                drop_one(lock, schema.name).await?;
                self.form.tell(&Step::Dropped {
                    schema: schema.name,
                })?;
            }
        }
        Ok(())
    }
}

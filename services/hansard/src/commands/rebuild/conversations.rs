//! `hansard rebuild conversations`: computes all rows again in a new schema and switches to it.

use std::time::Instant;

use archive::Archive;
use projector::rebuild::{Switch, SwitchOutcome, switch};
use read_model::ReadModel;
use read_model::schemas::{LiveRows, Phase, SchemaBuild, SchemaState, SchemasLock, list};
use read_model::shards;
use runtime::rate_limiter::RateLimiter;
use runtime::shutdown::Shutdown;

use super::catch_up::catch_up;
use super::compare::{Compared, compare};
use super::copy::copy;
use super::drop::drop_one;
use super::report::{Form, Step};
use super::{TemporaryProjector, check_continued, lock, plan};
use crate::commands::stores::{Stores, check_belong};
use crate::exit::Exit;
use crate::progress::{Length, Progress};

/// Compute conversations, events, listings and usage again in a new schema, and switch to it.
///
/// Reads and writes continue. The previous live schema is kept for `hansard rebuild rollback`; older schemas are dropped, unless
/// `--keep` is given. If a conversation differs between the two schemas, nothing is switched (exit code 5): drop the new schema
/// with `hansard rebuild drop`, or switch to it with `--accept-differences` if the live rows are wrong.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard rebuild conversations --dry-run
  hansard rebuild conversations --keep --json
  hansard rebuild conversations --rate 5000")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct Args {
    #[command(flatten)]
    stores: Stores,
    /// Keep the schemas of earlier rebuilds as well.
    #[arg(long)]
    keep: bool,
    /// Switch even if conversations differ.
    #[arg(long)]
    accept_differences: bool,
    /// Maximum number of copied events per second, to leave capacity for other work; by default unlimited.
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Print what would be done, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print each step as a JSON object.
    #[arg(long)]
    json: bool,
}

/// A running rebuild.
pub(super) struct Rebuild {
    pub(super) archive: Archive,
    pub(super) model: ReadModel,
    pub(super) shutdown: Shutdown,
    pub(super) form: Form,
}

pub(super) async fn run(args: Args) -> anyhow::Result<Exit> {
    let archive = args.stores.open_archive("hansard-rebuild").await?;
    let model = args.stores.read_model.open_for_long_statements()?;
    model.check().await?;
    check_belong(archive.record(), &model).await?;
    let rebuild = Rebuild {
        archive: archive.of_tenants(shards::tenants(&model).await?),
        model,
        shutdown: Shutdown::new(),
        form: Form::of(args.json),
    };
    // Checked first: without the archived commits the rows would be incomplete.
    rebuild.archive.check_reachable().await?;
    if args.dry_run {
        plan::print(rebuild.archive.record(), &rebuild.model, rebuild.form).await?;
        return Ok(Exit::Done);
    }
    rebuild.shutdown.listen_for_signals()?;
    let lock = lock(&rebuild.model).await?;
    let building = rebuild.build(&lock, RateLimiter::new(args.rate)).await?;
    let exit = rebuild.switch(&building, args.accept_differences).await?;
    if exit == Exit::Done && !args.keep {
        rebuild.drop_earlier(&lock, &building).await?;
    }
    Ok(exit)
}

impl Rebuild {
    /// Fills and indexes a new schema, or completes an interrupted one.
    pub(super) async fn build(&self, lock: &SchemasLock, pace: RateLimiter) -> anyhow::Result<SchemaBuild> {
        let mut building = lock.begin().await?;
        check_continued(self.archive.record(), building.model()).await?;
        self.form.print(&Step::Started {
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

    async fn index(&self, building: &mut SchemaBuild) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut progress = Progress::begin("index", Length::Unknown);
        progress.advance(0, || "rows of conversations".to_owned());
        let work = async {
            building.build_conversations().await?;
            building.index(|name| progress.note(name)).await
        };
        tokio::select! {
            indexed = work => indexed?,
            () = self.shutdown.begun() => anyhow::bail!("stopped: run the same command again to resume"),
        }
        progress.finish("done");
        self.form.print(&Step::Indexed { took: started.elapsed() })
    }

    /// Projects new commits into the new schema, compares it with the live one, and switches.
    async fn switch(&self, building: &SchemaBuild, accept_differences: bool) -> anyhow::Result<Exit> {
        let live = self.model.in_schema(building.live());
        let other = building.model();
        let projector = TemporaryProjector::start(&self.archive, other, &self.shutdown);
        catch_up(&live, other, &self.shutdown).await?;
        let compared = compare(&live, other, &self.shutdown, self.form).await?;
        catch_up(&live, other, &self.shutdown).await?;
        projector.stop().await?;
        let to_check = match compared {
            Compared::Differ(conversations) | Compared::Same(conversations) if accept_differences => {
                self.report(&conversations)?;
                Vec::new()
            }
            Compared::Differ(conversations) => return self.report(&conversations),
            Compared::Same(to_check) => to_check,
        };
        let switched = switch(Switch {
            archive: &self.archive,
            model: &self.model,
            from: building.live(),
            to: building.name(),
            to_check: &to_check,
            live_rows: LiveRows::Equal,
        });
        if let SwitchOutcome::Differs(conversations) = switched.await? {
            return self.report(&conversations);
        }
        self.form.print(&Step::Switched { live: building.name(), kept: building.live() })?;
        Ok(Exit::Done)
    }

    /// Prints the conversations that differ. Returns the exit code if they are not accepted.
    fn report(&self, conversations: &[domain::ConversationKey]) -> anyhow::Result<Exit> {
        if !conversations.is_empty() {
            self.form.print(&Step::Differ { conversations })?;
        }
        Ok(Exit::Differs)
    }

    /// Drops the schemas of earlier rebuilds.
    async fn drop_earlier(&self, lock: &SchemasLock, building: &SchemaBuild) -> anyhow::Result<()> {
        for schema in list(&self.model).await? {
            if schema.state == SchemaState::Kept && schema.name != building.live() {
                drop_one(lock, schema.name).await?;
                self.form.print(&Step::Dropped { schema: schema.name })?;
            }
        }
        Ok(())
    }
}

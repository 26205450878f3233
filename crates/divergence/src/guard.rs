//! Guards the record and the rows of a role.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_divergences` | 1 | prefixes of partitions that the rows contain and the record does not: no request is answered |

use std::time::Duration;

use domain::Position;
use event_log::{Record, Unavailable};
use futures::future::select_all;
use metrics::gauge;
use read_model::{ReadModel, ReadModelError, SchemaName};
use runtime::health::{Health, Probe};
use runtime::shutdown::Shutdown;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use wire::prefix::Prefix;

use crate::divergence::{Divergence, Holder};
use crate::find::{Held, compare, held_by};

/// The dependency that is down while rows and record do not belong together.
pub const ROWS_OF_RECORD: &str = "rows_of_record";
const DIVERGENCES: &str = "hansard_divergences";
/// Interval of comparisons on one connection.
const COMPARE_INTERVAL: Duration = Duration::from_secs(2);
/// Pause before a comparison for which a statement waits: the database may not answer, or have no tables yet.
const WANTED_PAUSE: Duration = Duration::from_millis(100);
/// Maximum time to read what a database holds. Then what it held before is compared.
const READ_MAX: Duration = Duration::from_secs(2);
/// Maximum divergences in a log line and a reason.
const NAMED_MAX: usize = 3;

/// Why a process answers nothing after an operator's decision.
const RESTART: &str = "an operator has decided about a divergence that this process has seen: restart it";

/// The guard of a role. Clones share it.
#[derive(Debug, Clone)]
pub struct Guard(watch::Receiver<Option<String>>);

/// Rows and record do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("rows and record do not belong together: {0}; see hansard rebuild from-record --dry-run")]
pub struct Diverged(String);

impl Guard {
    /// Guards a record and the databases of a model until `shutdown`. Returns after the first comparison, or when it is known that the
    /// record or a database does not answer. Until they were compared, requests wait; see [`Record::guard`] and [`ReadModel::guard`].
    ///
    /// # Errors
    /// [`Diverged`].
    pub async fn start(record: &Record, model: &ReadModel, shutdown: &Shutdown) -> Result<Self, Diverged> {
        record.guard();
        model.guard();
        let (found, guard) = watch::channel(None);
        let databases = model.databases().into_iter().map(Database::of);
        let mut watcher = Watcher { record: record.clone(), databases: databases.collect(), found, is_stale: false };
        watcher.compare().await;
        let guard = Self(guard);
        guard.check()?;
        shutdown.spawn_cancellable(async move { watcher.watch().await });
        Ok(guard)
    }

    /// Keeps the dependency [`ROWS_OF_RECORD`] of a role's health until `shutdown`.
    pub fn report(&self, health: &Health, shutdown: &Shutdown) {
        let guard = self.clone();
        shutdown.spawn_cancellable(health.clone().probe(ROWS_OF_RECORD, Probe::DEFAULT, move || {
            let checked = guard.check();
            async move { checked }
        }));
    }

    /// Whether rows and record belong together, as far as they were compared.
    fn check(&self) -> Result<(), Diverged> {
        self.0.borrow().clone().map_or(Ok(()), |found| Err(Diverged(found)))
    }
}

struct Watcher {
    record: Record,
    databases: Vec<Database>,
    found: watch::Sender<Option<String>>,
    /// Whether an operator has decided about a divergence that this process has seen: what it remembers may be of the given up rows.
    is_stale: bool,
}

/// A guarded database.
struct Database {
    guarded: ReadModel,
    unguarded: ReadModel,
    /// What it held when it answered last.
    held: Vec<Held>,
    live: Option<SchemaName>,
}

impl Database {
    fn of(guarded: ReadModel) -> Self {
        Self { unguarded: guarded.unguarded(), guarded, held: Vec::new(), live: None }
    }

    /// Reads what it holds. Returns whether another schema is live than before.
    async fn read(&mut self) -> Result<bool, ReadModelError> {
        let live = self.unguarded.live_schema().await?;
        self.held = held_by(&self.unguarded).await?;
        let before = self.live.replace(live);
        Ok(before.is_some_and(|before| before != live))
    }
}

impl Watcher {
    async fn watch(&mut self) {
        let mut connects = self.record.connects();
        loop {
            // A new connect is compared at once, and rows for which a statement waits soon.
            tokio::select! {
                _ = connects.changed() => {}
                () = self.wanted() => sleep(WANTED_PAUSE).await,
                () = sleep(COMPARE_INTERVAL) => {}
            }
            self.compare().await;
        }
    }

    /// Returns when a statement waits for the first comparison of a database.
    async fn wanted(&self) {
        let wanted = self.databases.iter().map(|database| Box::pin(database.guarded.comparison_wanted()));
        select_all(wanted).await;
    }

    /// Compares once, and admits or refuses requests. Without an answer of the record, the state stays: a new connect stays closed.
    async fn compare(&mut self) {
        let connect = self.record.connect();
        let mut answered = Vec::new();
        for (index, database) in self.databases.iter_mut().enumerate() {
            if let Ok(Ok(is_switched)) = timeout(READ_MAX, database.read()).await {
                answered.push(index);
                self.is_stale |= is_switched && self.found.borrow().is_some();
            }
        }
        if self.is_stale {
            self.found.send_replace(Some(RESTART.to_owned()));
            return;
        }
        match self.divergences().await {
            Ok(divergences) if divergences.is_empty() => self.admit(connect, &answered),
            Ok(divergences) => self.refuse(&divergences),
            Err(_) => {}
        }
    }

    async fn divergences(&self) -> Result<Vec<Divergence>, Unavailable> {
        let held: Vec<Held> = self.databases.iter().flat_map(|database| database.held.clone()).collect();
        let mut divergences = compare(&self.record, &held).await?;
        let compared: Vec<Prefix> = held.into_iter().map(|(_, prefix)| prefix).collect();
        if divergences.is_empty()
            && let Some((end, mismatch)) = self.record.compare_known_ends(&compared).await?
        {
            let (partition, end) = (end.partition, end.sequence);
            divergences.push(Divergence { holder: Holder::Acknowledged, partition, end, mismatch });
        }
        Ok(divergences)
    }

    fn admit(&self, connect: u64, answered: &[usize]) {
        let held = self.databases.iter().flat_map(|database| &database.held);
        let ends = held.map(|(_, prefix)| Position { partition: prefix.partition, sequence: prefix.end });
        self.record.admit(connect, ends);
        answered.iter().filter_map(|index| self.databases.get(*index)).for_each(|database| database.guarded.admit());
        gauge!(DIVERGENCES).set(0.0);
        let was_refused = self.found.send_replace(None).is_some();
        if was_refused {
            tracing::info!("rows and record belong together again; requests are answered");
        }
    }

    fn refuse(&self, divergences: &[Divergence]) {
        self.record.refuse();
        self.databases.iter().for_each(|database| database.guarded.refuse());
        gauge!(DIVERGENCES).set(f64::from(u32::try_from(divergences.len()).unwrap_or(u32::MAX)));
        let text = described(divergences);
        self.found.send_if_modified(|found| {
            if found.is_none() {
                tracing::error!(
                    divergences = text,
                    "rows and record do not belong together; nothing is read or written until an operator has decided: see hansard rebuild from-record --dry-run"
                );
            }
            found.replace(text).is_none()
        });
    }
}

/// The first divergences, and the number of the others.
fn described(divergences: &[Divergence]) -> String {
    let named = divergences.iter().take(NAMED_MAX).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    match divergences.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

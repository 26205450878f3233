//! The replica that a handle reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::{TenantAccess, TenantId};
use sqlx::postgres::{PgArguments, PgRow};
use tokio::select;

use super::{Fallback, Replica};
use crate::connections::Connections;
use crate::error::ReadModelError;
use crate::model::{Failure, ReadModel, ReadTransactionError};

/// What a handle does if its replica does not answer a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    /// It reads from the primary, now and later.
    UsePrimary,
    /// It returns the error.
    Fail,
}

/// The replica that a handle and its clones read.
#[derive(Debug, Clone)]
pub(crate) struct Pin {
    replica: Arc<Replica>,
    place: ReplicaUse,
    is_released: Arc<AtomicBool>,
    on_failure: OnFailure,
}

/// A replica that a request reads. Reads of several requests can share a statement if their values are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaUse {
    index: usize,
    generation: u64,
}

impl ReplicaUse {
    /// The number of the replica, from 0, in the order of the configuration.
    #[must_use]
    pub fn index(self) -> usize {
        self.index
    }
}

impl Pin {
    pub(super) fn new(replica: Arc<Replica>, index: usize, generation: u64) -> Self {
        Self {
            replica,
            place: ReplicaUse { index, generation },
            is_released: Arc::default(),
            on_failure: OnFailure::UsePrimary,
        }
    }

    /// Whether the replica is still read: it lost no connection since the request began.
    fn is_valid(&self) -> bool {
        let generation = self.replica.health.borrow().generation;
        generation == self.place.generation && !self.is_released.load(Ordering::Relaxed)
    }

    /// The result of work on the replica, if it loses no connection meanwhile. So work on a server that is frozen ends as soon
    /// as a measurement fails.
    async fn unless_lost<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let generation = self.place.generation;
        let mut health = self.replica.health.subscribe();
        let lost = health.wait_for(|health| health.generation != generation);
        let result = select! {
            biased;
            _ = lost => None,
            result = work => Some(result),
        };
        result.filter(|_| self.is_valid())
    }

    /// Runs work on the replica, and counts its outcome.
    async fn run<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, ReadModelError> {
        if !self.is_valid() {
            return Err(no_answer());
        }
        match self.unless_lost(work).await {
            Some(Ok(result)) => {
                self.replica.statements.increment(1);
                Ok(result)
            }
            Some(Err(failure)) => Err(self.note(failure)),
            None => {
                self.replica.count_fallback(Fallback::Unreachable);
                Err(no_answer())
            }
        }
    }

    fn note(&self, failure: Failure) -> ReadModelError {
        self.replica.count_fallback(match &failure {
            Failure::Lost(_) => Fallback::Unreachable,
            Failure::Conflict(_) => Fallback::Conflict,
            Failure::Missing(_) | Failure::Final(_) => Fallback::Failed,
        });
        match &failure {
            Failure::Lost(_) => self.replica.lose(self.place.generation),
            Failure::Missing(_) => self.replica.connections.close_idle(),
            Failure::Conflict(_) | Failure::Final(_) => {}
        }
        failure.into_error()
    }
}

fn no_answer() -> ReadModelError {
    ReadModelError::unavailable("the replica does not answer")
}

impl ReadModel {
    /// A handle of the tenant's database for the reads of one request. If the database has replicas, it reads from one of them;
    /// a handle of a request is returned unchanged.
    #[must_use]
    pub fn for_request(&self, tenant: &TenantId) -> Self {
        if let Some(shard) = self.shard_of(tenant) {
            return shard.for_request(tenant);
        }
        let pin = match &self.replicas {
            Some(replicas) => replicas.choose(),
            None => self.pin.clone(),
        };
        Self { pin, replicas: None, ..self.clone() }
    }

    /// The number of replicas that requests read.
    #[must_use]
    pub fn replica_count(&self) -> usize {
        let replicas = self.replicas.as_ref();
        replicas.map_or(0, |replicas| replicas.all.len())
    }

    /// The replica that this handle reads at present; `None`: it reads the primary.
    #[must_use]
    pub fn replica(&self) -> Option<ReplicaUse> {
        let pin = self.pin.as_ref().filter(|pin| pin.is_valid());
        pin.map(|pin| pin.place)
    }

    /// Whether the first reads of this handle may be from a replica: it was read then, or is read at present.
    #[must_use]
    pub fn began_on_replica(&self) -> bool {
        self.pin.is_some()
    }

    /// A handle that reads only from that replica: if it does not answer, reads fail. `None`: the process has no such replica.
    #[must_use]
    pub fn only_on(&self, replica: ReplicaUse) -> Option<Self> {
        let replicas = self.replicas.as_ref()?;
        let found = Arc::clone(replicas.all.get(replica.index)?);
        let pin = Pin { on_failure: OnFailure::Fail, ..Pin::new(found, replica.index, replica.generation) };
        Some(Self { pin: Some(pin), replicas: None, ..self.clone() })
    }

    /// Makes this handle and its clones read from the primary.
    pub fn use_primary(&self) {
        let Some(pin) = &self.pin else { return };
        if !pin.is_released.swap(true, Ordering::Relaxed) {
            // The replica may have followed a switch to another schema that this process has not read from the primary yet.
            self.connections.expire_live_schema();
        }
    }

    /// As [`ReadModel::use_primary`], since the rows of the replica do not contain what the caller needs.
    pub fn use_newer_rows(&self) {
        if let Some(pin) = self.pin.as_ref().filter(|pin| pin.is_valid()) {
            pin.replica.count_fallback(Fallback::Behind);
        }
        self.use_primary();
    }

    /// The connections of reads: those of the replica, or of the primary.
    pub(crate) fn reading_connections(&self) -> &Connections {
        let pin = self.pin.as_ref().filter(|pin| pin.is_valid());
        pin.map_or(&self.connections, |pin| &pin.replica.connections)
    }

    /// Runs one statement on the replica of the handle. `None`: the primary answers it.
    pub(crate) async fn fetch_from_replica(
        &self,
        access: Option<&TenantAccess>,
        sql: &'static str,
        arguments: impl Fn() -> PgArguments,
    ) -> Option<Result<Vec<PgRow>, ReadModelError>> {
        let pin = self.pin.as_ref()?;
        let fetch = self.fetch_once(&pin.replica.connections, access, sql, arguments());
        match (pin.run(fetch).await, pin.on_failure) {
            (Err(_), OnFailure::UsePrimary) => {
                self.use_primary();
                None
            }
            (answer, _) => Some(answer),
        }
    }

    /// Runs a transaction of reads on the replica of the handle. `None`: the primary runs it.
    pub(crate) async fn transact_on_replica<T>(
        &self,
        work: impl Future<Output = Result<T, ReadTransactionError>>,
    ) -> Option<T> {
        let pin = self.pin.as_ref()?;
        let work = async { work.await.map_err(Failure::from) };
        let result = pin.run(work).await;
        if result.is_err() {
            self.use_primary();
        }
        result.ok()
    }
}

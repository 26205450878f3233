//! Switches readers and projectors to another schema.
//!
//! The switch takes all leases of both schemas, so that no projector writes. It brings both to the same checkpoints, compares
//! the given conversations and moves the pointer. Reads continue, from rows and tail.

use archive::Archive;
use domain::{ConversationKey, Sequence};
use read_model::projections::conversations::lease::{self, Checkpoint, Holder, LEASE_TTL_MS, Lease};
use read_model::schemas::compare::differing_among;
use read_model::schemas::{Flip, FlipOutcome, LiveRows, flip};
use read_model::{ReadModel, ReadModelError, SchemaName};
use thiserror::Error;

use super::catch_up::{CatchUpError, catch_up};

/// Maximum number of attempts after conflicts.
pub const SWITCH_ATTEMPTS_MAX: u32 = 5;

/// The input of a switch.
#[derive(Debug, Clone, Copy)]
pub struct Switch<'a> {
    /// The record and its archive, to catch up both schemas.
    pub archive: &'a Archive,
    /// A handle to the read models.
    pub model: &'a ReadModel,
    /// The live schema.
    pub from: SchemaName,
    /// The schema that becomes live; no projector may write to it.
    pub to: SchemaName,
    /// Conversations that must be equal in both schemas; otherwise the switch fails.
    pub to_check: &'a [ConversationKey],
    /// What becomes of the live rows. If they are given up, neither schema is brought further.
    pub live_rows: LiveRows,
}

/// The result of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchOutcome {
    /// The other schema is live.
    Done,
    /// Nothing changed: these conversations differ at the same checkpoints.
    Differs(Vec<ConversationKey>),
}

/// Why a switch failed.
#[derive(Debug, Error)]
pub enum SwitchError {
    /// The schemas could not be brought to the same checkpoints.
    #[error(transparent)]
    CatchUp(#[from] CatchUpError),
    /// The read model failed. The pointer may have moved if the answer was lost.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
    /// Other processes took leases in each attempt, or moved the pointer.
    #[error("other processes changed the schemas in each of {SWITCH_ATTEMPTS_MAX} attempts: run the command again")]
    Conflict,
}

/// Switches to the other schema, or changes nothing.
///
/// # Errors
/// [`SwitchError`].
pub async fn switch(switch: Switch<'_>) -> Result<SwitchOutcome, SwitchError> {
    let mut outcome = Err(SwitchError::Conflict);
    for _ in 0..SWITCH_ATTEMPTS_MAX {
        outcome = attempt(switch).await;
        let Err(SwitchError::Conflict | SwitchError::CatchUp(_)) = outcome else {
            break;
        };
    }
    outcome
}

/// A schema with all its leases, so that no projector writes it.
struct Frozen {
    model: ReadModel,
    held: Vec<Checkpoint>,
}

async fn attempt(switch: Switch<'_>) -> Result<SwitchOutcome, SwitchError> {
    let mut from = freeze(switch, switch.from).await?;
    let mut to = freeze(switch, switch.to).await?;
    let outcome = switch_frozen(switch, &mut from, &mut to).await;
    if !matches!(outcome, Ok(SwitchOutcome::Done)) {
        // Lets projectors continue at once, not only when the leases expire.
        from.release().await;
        to.release().await;
    }
    outcome
}

async fn switch_frozen(switch: Switch<'_>, from: &mut Frozen, to: &mut Frozen) -> Result<SwitchOutcome, SwitchError> {
    if switch.live_rows == LiveRows::Equal {
        let sequences = from.held.iter().zip(&to.held);
        let targets: Vec<Sequence> = sequences.map(|(from, to)| from.sequence.max(to.sequence)).collect();
        let archive = switch.archive;
        (from.held, to.held) = tokio::try_join!(
            catch_up(archive, &from.model, &from.held, &targets),
            catch_up(archive, &to.model, &to.held, &targets)
        )?;
    }
    let differing = differing_among(&from.model, &to.model, switch.to_check).await?;
    if !differing.is_empty() {
        return Ok(SwitchOutcome::Differs(differing));
    }
    let pointer = Flip {
        from: switch.from,
        from_held: from.held.clone(),
        to: switch.to,
        to_held: to.held.clone(),
        live_rows: switch.live_rows,
    };
    match flip(&from.model, &pointer).await? {
        FlipOutcome::Done => Ok(SwitchOutcome::Done),
        FlipOutcome::Conflict => Err(SwitchError::Conflict),
    }
}

async fn freeze(switch: Switch<'_>, schema: SchemaName) -> Result<Frozen, SwitchError> {
    let model = switch.model.in_schema(schema);
    lease::ensure(&model, switch.archive.record().partitions()).await?;
    let holder = Holder(format!("switch-{}", uuid::Uuid::now_v7()));
    let held = lease::take_all(&model, &holder, LEASE_TTL_MS).await?;
    Ok(Frozen { model, held })
}

impl Frozen {
    async fn release(&self) {
        let leases: Vec<Lease> = self.held.iter().map(|one| one.lease).collect();
        if let Err(error) = lease::release(&self.model, &leases).await {
            tracing::warn!(%error, "leases could not be released; projectors wait until they expire");
        }
    }
}

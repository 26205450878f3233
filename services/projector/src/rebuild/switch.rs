//! Switching readers and projectors to another schema.
//!
//! For a moment nobody projects: the partitions of both schemas are seized, both are brought to the same place, what was to be
//! compared is compared while both stand still, and the pointer moves. Reads go on throughout, by rows and tail.

use archive::Archive;
use domain::{ConversationKey, Sequence};
use read_model::projections::conversations::lease::{
    self, Checkpoint, Holder, LEASE_TTL_MS, Lease,
};
use read_model::schemas::compare::differing_among;
use read_model::schemas::{Flip, Flipped, flip};
use read_model::{ReadModel, ReadModelError, SchemaName};
use thiserror::Error;

use super::catch_up::{CatchUpError, catch_up};

/// How often a switch that was overtaken is begun again.
pub const SWITCH_ATTEMPTS_MAX: u32 = 5;

/// From where to where.
#[derive(Debug, Clone, Copy)]
pub struct Switch<'a> {
    /// The record and its archive, for what either schema lacks.
    pub archive: &'a Archive,
    /// The read models.
    pub model: &'a ReadModel,
    /// The live schema.
    pub from: SchemaName,
    /// The schema that becomes live; nobody may project into it.
    pub to: SchemaName,
    /// Conversations that must be the same in both, or nothing is switched.
    pub to_check: &'a [ConversationKey],
}

/// What became of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Switched {
    /// The other schema is live.
    Done,
    /// Nothing changed: these conversations are not the same in both, at the same place of the record.
    Differs(Vec<ConversationKey>),
}

/// Why nothing was switched.
#[derive(Debug, Error)]
pub enum SwitchError {
    /// The schemas could not be brought to one place.
    #[error(transparent)]
    CatchUp(#[from] CatchUpError),
    /// The read model cannot be read or written. The pointer may have moved when its answer was lost.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
    /// Others took the partitions each time, or the pointer was moved by somebody else.
    #[error("the schemas did not stand still in {SWITCH_ATTEMPTS_MAX} attempts")]
    Overtaken,
}

/// Switches, or changes nothing.
///
/// # Errors
/// [`SwitchError`].
pub async fn switch(switch: Switch<'_>) -> Result<Switched, SwitchError> {
    let mut outcome = Err(SwitchError::Overtaken);
    for _ in 0..SWITCH_ATTEMPTS_MAX {
        outcome = attempt(switch).await;
        let again = matches!(
            outcome,
            Err(SwitchError::Overtaken | SwitchError::CatchUp(_))
        );
        if !again {
            break;
        }
    }
    outcome
}

/// A schema whose partitions nobody else projects.
struct Frozen {
    model: ReadModel,
    held: Vec<Checkpoint>,
}

async fn attempt(switch: Switch<'_>) -> Result<Switched, SwitchError> {
    let mut from = freeze(switch, switch.from).await?;
    let mut to = freeze(switch, switch.to).await?;
    let outcome = switch_frozen(switch, &mut from, &mut to).await;
    if !matches!(outcome, Ok(Switched::Done)) {
        // Projectors go on at once; without this, when the leases run out.
        from.thaw().await;
        to.thaw().await;
    }
    outcome
}

async fn switch_frozen(
    switch: Switch<'_>,
    from: &mut Frozen,
    to: &mut Frozen,
) -> Result<Switched, SwitchError> {
    let sequences = from.held.iter().zip(&to.held);
    let targets: Vec<Sequence> = sequences
        .map(|(from, to)| from.sequence.max(to.sequence))
        .collect();
    let archive = switch.archive;
    (from.held, to.held) = tokio::try_join!(
        catch_up(archive, &from.model, &from.held, &targets),
        catch_up(archive, &to.model, &to.held, &targets)
    )?;
    let differing = differing_among(&from.model, &to.model, switch.to_check).await?;
    if !differing.is_empty() {
        return Ok(Switched::Differs(differing));
    }
    let pointer = Flip {
        from: switch.from,
        from_held: from.held.clone(),
        to: switch.to,
        to_held: to.held.clone(),
    };
    match flip(&from.model, &pointer).await? {
        Flipped::Done => Ok(Switched::Done),
        Flipped::Overtaken => Err(SwitchError::Overtaken),
    }
}

async fn freeze(switch: Switch<'_>, schema: SchemaName) -> Result<Frozen, SwitchError> {
    let model = switch.model.in_schema(schema);
    lease::ensure(&model, switch.archive.record().partitions()).await?;
    let holder = Holder(format!("switch-{}", uuid::Uuid::now_v7()));
    let held = lease::seize(&model, &holder, LEASE_TTL_MS).await?;
    Ok(Frozen { model, held })
}

impl Frozen {
    async fn thaw(&self) {
        let leases: Vec<Lease> = self
            .held
            .iter()
            .map(|checkpoint| checkpoint.lease)
            .collect();
        if let Err(error) = lease::release(&self.model, &leases).await {
            tracing::warn!(%error, "leases could not be given back: projectors wait until they run out");
        }
    }
}

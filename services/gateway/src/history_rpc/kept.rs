//! The history that is kept under a key, read as its channel's.

use domain::Owner;

use super::asked::Keyed;
use super::stored::{self, End, History};
use super::warning::Warning;
use crate::Gateway;

/// Reads it; `None`: nothing is stored yet, or it was erased.
///
/// # Errors
/// It cannot be read, or the conversation belongs to another owner than the key's channel: its id alone is no proof.
pub(super) async fn read(
    gateway: &Gateway,
    keyed: &Keyed,
    end: End,
) -> Result<Option<History>, Warning> {
    let history = stored::read(gateway, &keyed.target, end).await;
    let history = history.map_err(|_| Warning::Unavailable)?;
    let owner = Owner::Channel(keyed.channel.clone());
    match history {
        Some(history) if history.owner.as_ref() != Some(&owner) => Err(Warning::OwnerMismatch),
        history => Ok(history),
    }
}

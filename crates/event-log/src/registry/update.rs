//! Changes of an entry, which are retried after concurrent changes.

use prost::Message;

use super::{CHANGES_MAX, Entries, Entry, PutOutcome, RegistryError, Shared};
use crate::Unavailable;

/// Every attempt of a change met a concurrent change.
pub(super) const CONTENDED: Unavailable =
    Unavailable::new("an entry of the registry keeps changing");

impl Shared {
    /// Changes an entry, which `find` reads from memory; retries after a concurrent change.
    pub(super) async fn update<T, E>(
        &self,
        what: &'static str,
        find: impl Fn(&Entries) -> Option<Entry<T>>,
        key: impl Fn(&T) -> String,
        change: impl Fn(&mut T) -> Result<(), E>,
    ) -> Result<T, E>
    where
        T: Message + Clone + PartialEq,
        E: From<RegistryError>,
    {
        for _ in 0..CHANGES_MAX {
            let Some(Entry { revision, value }) = self.read(&find) else {
                return Err(RegistryError::NotFound { what }.into());
            };
            let mut changed = value.clone();
            change(&mut changed)?;
            if changed == value {
                return Ok(value);
            }
            let put = self.put(&key(&changed), &changed, Some(revision)).await;
            if put.map_err(RegistryError::from)? == PutOutcome::Stored {
                return Ok(changed);
            }
        }
        Err(RegistryError::from(CONTENDED).into())
    }
}

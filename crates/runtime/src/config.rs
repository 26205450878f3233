//! Layered configuration: defaults, then a TOML file, then the environment, then flags.
//!
//! This module reads, merges and checks settings; each service defines its own. The errors of all layers are
//! reported together, each with its key, its source and its correction. The error for a wrong type does not
//! contain the value, so that no secret is printed.

mod error;
mod leaf;
mod removed;
mod secret;
mod service_link;
mod sources;
mod validate;

use std::collections::BTreeMap;

use figment::value::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::{ConfigError, ConfigErrors, ErrorKind, Origin};
pub use secret::Secret;
pub use sources::{CONFIG_FILE_BYTES_MAX, CONFIG_PATH_VARIABLE, ENV_PREFIX, Sources};
pub use validate::{Bounds, Checks, Validate};

/// Reads, merges and checks the configuration `T`; a later source replaces an earlier one.
///
/// `T::default()` is the first layer and the list of known keys. A list is one value: a later layer
/// replaces the whole list. An empty map in the defaults accepts any key.
///
/// # Errors
/// All unknown keys, wrong types and values out of bounds of all layers.
pub fn load<T>(sources: &Sources) -> Result<T, ConfigErrors>
where
    T: Serialize + DeserializeOwned + Default + Validate,
{
    let defaults = Value::serialize(T::default()).map_err(|error| ConfigErrors(vec![unreadable(&error)]))?;
    let mut errors = Vec::new();
    let mut merged = defaults.clone();
    let mut origins = BTreeMap::new();
    for leaf in sources.leaves(&defaults, &mut errors) {
        match leaf.accepted::<T>(&defaults) {
            Ok(value) => {
                leaf::set(&mut merged, &leaf.path, value);
                origins.insert(leaf.key(), leaf.origin);
            }
            Err(kind) => errors.push(kind.at(leaf.key(), leaf.origin)),
        }
    }
    match merged.deserialize::<T>() {
        Ok(config) => {
            config.validate(&mut Checks::new(&origins, &mut errors));
            if errors.is_empty() {
                return Ok(config);
            }
        }
        Err(error) => errors.push(unreadable(&error)),
    }
    Err(ConfigErrors(errors))
}

/// The error for settings that are valid alone and invalid together, or for invalid defaults.
fn unreadable(error: &figment::Error) -> ConfigError {
    let reason = &error.kind;
    let message = format!("is invalid together with the other settings: {reason}; correct it");
    ErrorKind::Invalid(message).at(error.path.join("."), Origin::Default)
}

#[cfg(test)]
mod tests;

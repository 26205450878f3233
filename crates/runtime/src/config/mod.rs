//! Layered configuration: defaults, then a TOML file, then the environment, then flags.
//!
//! Owns how settings are read, merged and checked; knows no setting of any service. Every mistake
//! of every layer is reported at once, each with its key, where it came from and how to mend it.
//! A value is never printed when it has the wrong type, so that no secret can leak that way.

mod error;
mod leaf;
mod secret;
mod sources;
mod validate;

use std::collections::BTreeMap;

use figment::value::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::{ConfigErrors, Fault, Mistake, Origin};
pub use secret::Secret;
pub use sources::{CONFIG_FILE_BYTES_MAX, CONFIG_PATH_VARIABLE, ENV_PREFIX, Sources};
pub use validate::{Bounds, Checks, Validate};

/// Reads, merges and checks the configuration `T`; a later source wins over an earlier one.
///
/// `T::default()` is the first layer and also the list of known keys. A list is one value: a
/// later layer replaces it whole. An empty map in the defaults accepts any key.
///
/// # Errors
/// Every unknown key, wrong type and value out of bounds of all layers together.
pub fn load<T>(sources: &Sources) -> Result<T, ConfigErrors>
where
    T: Serialize + DeserializeOwned + Default + Validate,
{
    let defaults =
        Value::serialize(T::default()).map_err(|error| ConfigErrors(vec![unreadable(&error)]))?;
    let mut mistakes = Vec::new();
    let mut merged = defaults.clone();
    let mut origins = BTreeMap::new();
    for leaf in sources.leaves(&defaults, &mut mistakes) {
        match leaf.fit::<T>(&defaults) {
            Ok(value) => {
                leaf::set(&mut merged, &leaf.path, value);
                origins.insert(leaf.key(), leaf.origin);
            }
            Err(fault) => mistakes.push(Mistake {
                key: leaf.key(),
                origin: leaf.origin,
                fault,
            }),
        }
    }
    match merged.deserialize::<T>() {
        Ok(config) => {
            config.validate(&mut Checks::new(&origins, &mut mistakes));
            if mistakes.is_empty() {
                Ok(config)
            } else {
                Err(ConfigErrors(mistakes))
            }
        }
        Err(error) => {
            mistakes.push(unreadable(&error));
            Err(ConfigErrors(mistakes))
        }
    }
}

/// Settings that fit alone and not together, or defaults that their own type refuses.
fn unreadable(error: &figment::Error) -> Mistake {
    let fault = Fault::Invalid(format!(
        "is refused with the others: {}; correct it",
        error.kind
    ));
    Mistake {
        key: error.path.join("."),
        origin: Origin::Default,
        fault,
    }
}

#[cfg(test)]
mod tests;

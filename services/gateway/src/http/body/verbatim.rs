//! JSON that is written as it was recorded.

use domain::JsonText;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A JSON document, byte for byte as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, ToSchema)]
#[schema(value_type = serde_json::Value)]
pub struct Verbatim(pub JsonText);

impl Serialize for Verbatim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document: &RawValue = serde_json::from_str(self.0.as_str())
            .map_err(|_| S::Error::custom("a recorded document is not JSON"))?;
        document.serialize(serializer)
    }
}

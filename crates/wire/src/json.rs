//! Protobuf messages as JSON, by the canonical mapping, as gRPC clients print it.
//!
//! Source: <https://protobuf.dev/programming-guides/json/>. 64-bit numbers are strings, bytes are base64.

use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use serde_json::Value;
use thiserror::Error;

/// A message that cannot be converted.
#[derive(Debug, Error)]
pub enum JsonError {
    /// The name is not that of a message of Hansard.
    #[error("the message type {0} is unknown")]
    UnknownType(String),
    /// The message has another type than the name.
    #[error("the message is not a {0}")]
    OtherType(String),
    /// The text is not a single message of the type.
    #[error("not a {name}")]
    Malformed {
        /// The name of the type.
        name: String,
        /// The error and its location.
        #[source]
        error: serde_json::Error,
    },
}

static POOL: LazyLock<Option<DescriptorPool>> =
    LazyLock::new(|| DescriptorPool::decode(crate::proto::FILE_DESCRIPTOR_SET).ok());

/// Converts a message to JSON; `name` is its full name, such as `hansard.read.v1.Conversation`.
///
/// # Errors
/// [`JsonError::UnknownType`] or [`JsonError::OtherType`].
pub fn of(name: &str, message: &impl Message) -> Result<Value, JsonError> {
    let other = || JsonError::OtherType(name.to_owned());
    let bytes = message.encode_to_vec();
    let dynamic = DynamicMessage::decode(descriptor(name)?, bytes.as_slice());
    serde_json::to_value(dynamic.map_err(|_| other())?).map_err(|_| other())
}

/// Parses a message that [`of`] printed.
///
/// # Errors
/// [`JsonError`].
pub fn read<M: Message + Default>(name: &str, text: &str) -> Result<M, JsonError> {
    let malformed = |error| JsonError::Malformed { name: name.to_owned(), error };
    let mut reader = serde_json::Deserializer::from_str(text);
    let dynamic = DynamicMessage::deserialize(descriptor(name)?, &mut reader).map_err(malformed)?;
    reader.end().map_err(malformed)?;
    dynamic.transcode_to().map_err(|_| JsonError::OtherType(name.to_owned()))
}

pub(crate) fn descriptor(name: &str) -> Result<MessageDescriptor, JsonError> {
    let found = POOL.as_ref().and_then(|pool| pool.get_message_by_name(name));
    found.ok_or_else(|| JsonError::UnknownType(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::proto::operate::v1::ServiceToken;

    #[test]
    fn messages_use_the_canonical_mapping() {
        let token = ServiceToken {
            service_token_id: "abc".to_owned(),
            scopes: vec![1, 2],
            created_at: Some(prost_types::Timestamp { seconds: 0, nanos: 500_000_000 }),
            ..ServiceToken::default()
        };
        let name = "hansard.operate.v1.ServiceToken";
        let printed = of(name, &token).unwrap();
        let again: ServiceToken = read(name, &printed.to_string()).unwrap();
        assert_eq!(again, token);
        assert!(read::<ServiceToken>(name, r#"{"other": 1}"#).is_err());
        assert_eq!(
            printed,
            json!({
                "serviceTokenId": "abc",
                "scopes": ["SCOPE_APPEND", "SCOPE_READ"],
                "createdAt": "1970-01-01T00:00:00.500Z",
            })
        );
        assert!(of("hansard.operate.v1.Nothing", &token).is_err());
    }
}

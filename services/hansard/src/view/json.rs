//! Protobuf messages as JSON, by the canonical mapping, as gRPC clients print it.
//!
//! Source: <https://protobuf.dev/programming-guides/json/>. 64-bit numbers are strings, bytes are base64.

use std::sync::LazyLock;

use anyhow::Context as _;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use serde_json::Value;

static POOL: LazyLock<Option<DescriptorPool>> =
    LazyLock::new(|| DescriptorPool::decode(wire::proto::FILE_DESCRIPTOR_SET).ok());

/// Converts a message to JSON; `name` is its full name, such as `hansard.read.v1.Conversation`.
pub(crate) fn of(name: &str, message: &impl Message) -> anyhow::Result<Value> {
    let bytes = message.encode_to_vec();
    let dynamic = DynamicMessage::decode(descriptor(name)?, bytes.as_slice())?;
    Ok(serde_json::to_value(dynamic)?)
}

/// Parses a message that [`of`] printed.
pub(crate) fn read<M: Message + Default>(name: &str, text: &str) -> anyhow::Result<M> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let dynamic = DynamicMessage::deserialize(descriptor(name)?, &mut reader);
    let dynamic = dynamic.with_context(|| format!("not a {name}"))?;
    let end = reader.end();
    end.with_context(|| format!("not a single {name}"))?;
    Ok(dynamic.transcode_to()?)
}

fn descriptor(name: &str) -> anyhow::Result<MessageDescriptor> {
    POOL.as_ref()
        .and_then(|pool| pool.get_message_by_name(name))
        .ok_or_else(|| anyhow::anyhow!("the message type {name} is unknown"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wire::proto::operate::v1::ServiceToken;

    use super::*;

    #[test]
    fn messages_use_the_canonical_mapping() {
        let token = ServiceToken {
            service_token_id: "abc".to_owned(),
            scopes: vec![1, 2],
            created_at: Some(prost_types::Timestamp {
                seconds: 0,
                nanos: 500_000_000,
            }),
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

//! Conversions of metered model calls, and their encoding in their stream.

use bytes::Bytes;
use domain::{AgentId, LogId, MeteredCall, OwnerDigest, Violation};
use prost::Message as _;

use crate::commit::CorruptCommit;
use crate::optional;
use crate::proto::run::v1 as proto;

/// A call as protobuf.
#[must_use]
pub fn metered_to_proto(call: &MeteredCall) -> proto::MeteredCall {
    let owner = call.owner.as_ref().map(OwnerDigest::as_str);
    proto::MeteredCall {
        call_id: call.id.to_string(),
        agent_id: call.agent.as_str().to_owned(),
        api_key_id: optional::label_text(call.api_key.as_ref()),
        owner_digest: owner.unwrap_or_default().to_owned(),
        input_tokens: call.input_tokens,
        output_tokens: call.output_tokens,
    }
}

/// A call as the domain type.
///
/// # Errors
/// The first field that breaks a rule, by its path in the call.
pub fn metered_from_proto(call: proto::MeteredCall) -> Result<MeteredCall, Violation> {
    let within = |field: &'static str| move |violation: Violation| violation.within(field);
    let owner = match call.owner_digest.as_str() {
        "" => None,
        digest => Some(OwnerDigest::parse(digest).map_err(within("owner_digest"))?),
    };
    Ok(MeteredCall {
        id: LogId::parse(&call.call_id).map_err(within("call_id"))?,
        agent: AgentId::parse(call.agent_id).map_err(within("agent_id"))?,
        api_key: optional::label(call.api_key_id, "api_key_id")?,
        owner,
        input_tokens: call.input_tokens,
        output_tokens: call.output_tokens,
    })
}

/// Encodes a call for its stream.
#[must_use]
pub fn encode_metered(call: &MeteredCall) -> Bytes {
    metered_to_proto(call).encode_to_vec().into()
}

/// Decodes a call of its stream.
///
/// # Errors
/// [`CorruptCommit`].
pub fn decode_metered(bytes: Bytes) -> Result<MeteredCall, CorruptCommit> {
    let stored = proto::MeteredCall::decode(bytes).map_err(|_| CorruptCommit::Body)?;
    metered_from_proto(stored).map_err(|violation| CorruptCommit::Field(violation.field))
}

#[cfg(test)]
mod tests {
    use domain::{Label, Owner, UserId};
    use uuid::Uuid;

    use super::*;

    fn check(call: &MeteredCall) {
        assert_eq!(decode_metered(encode_metered(call)).as_ref(), Ok(call));
    }

    #[test]
    fn a_call_comes_back_as_it_was() {
        let bare = MeteredCall {
            id: LogId(Uuid::nil()),
            agent: AgentId::parse("support").unwrap(),
            api_key: None,
            owner: None,
            input_tokens: 0,
            output_tokens: u64::MAX,
        };
        check(&bare);
        let owner = Owner::User(UserId::parse("ada").unwrap());
        check(&MeteredCall { api_key: Label::parse("k-1").ok(), owner: Some(OwnerDigest::of(&owner)), ..bare });
    }

    #[test]
    fn what_is_stored_is_checked() {
        let valid = proto::MeteredCall {
            call_id: Uuid::nil().to_string(),
            agent_id: "support".to_owned(),
            ..proto::MeteredCall::default()
        };
        let check = |change: fn(&mut proto::MeteredCall), field: &str| {
            let mut call = valid.clone();
            change(&mut call);
            let stored = decode_metered(call.encode_to_vec().into());
            assert_eq!(stored, Err(CorruptCommit::Field(field.into())));
        };
        check(|call| call.call_id = "1".to_owned(), "call_id");
        check(|call| call.agent_id.clear(), "agent_id");
        check(|call| call.api_key_id = "k".repeat(257), "api_key_id");
        check(|call| call.owner_digest = "ada".to_owned(), "owner_digest");
    }
}

//! Compares a context that is assembled again with its receipt.

use wire::proto::read::v1 as proto;
use wire::proto::read::v1::assemble_context_request::Policy;

/// The request of the context of a receipt. Without `policy`, a policy that its tenant has set.
#[must_use]
pub fn request(receipt: &proto::Receipt, policy: Option<String>) -> proto::AssembleContextRequest {
    let digest = Policy::PolicyDigest(receipt.policy_digest.clone());
    proto::AssembleContextRequest {
        target: Some(proto::ReadTarget {
            agent_id: receipt.agent_id.clone(),
            conversation_id: receipt.conversation_id.clone(),
            ..proto::ReadTarget::default()
        }),
        messages_max: receipt.messages_max,
        at_version: receipt.version,
        format: receipt.format,
        policy: Some(policy.map_or(digest, Policy::PolicyJson)),
        render: receipt.render,
        ..proto::AssembleContextRequest::default()
    }
}

/// Whether a context is equal to its receipt. With another revision, only bytes and policy must be equal.
#[must_use]
pub fn is_same(receipt: &proto::Receipt, assembled: &proto::Receipt) -> bool {
    let is_other_revision = receipt.assembly_revision != assembled.assembly_revision;
    let same_bytes = receipt.body_sha256 == assembled.body_sha256 && receipt.policy_digest == assembled.policy_digest;
    assembled == receipt || is_other_revision && same_bytes
}

/// How a context differs from its receipt.
#[must_use]
pub fn difference(receipt: &proto::Receipt, assembled: &proto::Receipt) -> String {
    let (expected, found) = (&receipt.body_sha256, &assembled.body_sha256);
    let (then, now) = (receipt.assembly_revision, assembled.assembly_revision);
    if expected != found && then != now {
        return format!(
            "cannot be compared: the receipt has assembly revision {then}, this gateway has revision {now}: verify it with a \
             release of revision {then}"
        );
    }
    if expected != found {
        let (expected, found) = (hex::encode(expected), hex::encode(found));
        return format!("different: sha256 {found}, expected {expected}");
    }
    if receipt.policy_digest != assembled.policy_digest {
        return "different policy, with equal bytes".to_owned();
    }
    "equal bytes, but other fields of the receipt differ".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receipts as (sha256, revision, turns), and the message if they differ.
    fn check(receipt: (u8, u32, u32), assembled: (u8, u32, u32), expected: Option<&str>) {
        let of = |(sha256, assembly_revision, turns)| proto::Receipt {
            body_sha256: vec![sha256].into(),
            assembly_revision,
            turns,
            ..proto::Receipt::default()
        };
        let (receipt, assembled) = (of(receipt), of(assembled));
        match expected {
            None => assert!(is_same(&receipt, &assembled)),
            Some(expected) => {
                assert!(!is_same(&receipt, &assembled));
                let output = difference(&receipt, &assembled);
                assert!(output.starts_with(expected), "{output}");
            }
        }
    }

    #[test]
    fn equal_bytes_of_another_revision_are_equal() {
        check((1, 1, 1), (1, 1, 1), None);
        check((1, 1, 1), (2, 1, 1), Some("different: sha256 02"));
        check((1, 1, 1), (1, 1, 2), Some("equal bytes, but"));
        check((1, 0, 1), (1, 1, 2), None);
        check((1, 0, 1), (2, 1, 1), Some("cannot be compared: the receipt has assembly revision 0,"));
        check((1, 2, 1), (2, 1, 1), Some("cannot be compared: the receipt has assembly revision 2,"));
    }
}

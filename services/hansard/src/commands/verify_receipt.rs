//! `hansard verify-receipt`: assembles a context again and compares it with its receipt.

use std::io::Write as _;
use std::path::PathBuf;

use wire::proto::read::v1 as proto;
use wire::proto::read::v1::assemble_context_request::Policy;

use super::address::GatewayAddress;
use super::context::{RECEIPT, assemble, policy_json};
use crate::console;
use crate::exit::Exit;
use wire::json;

/// Assemble a context again and compare it byte for byte with its receipt.
///
/// Exit code 0: the context is equal; 5: it differs, or it cannot be compared because the gateway has another assembly revision.
/// Needs a service token with the scope `read`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard context conversation-1 --agent support --format anthropic --receipt receipt.json > body.json
  hansard verify-receipt receipt.json
  hansard verify-receipt receipt.json --policy policy.json --json")]
pub(crate) struct Args {
    /// File with the context receipt, as `hansard context --receipt` writes it.
    receipt: PathBuf,
    /// File with the context policy, if the policy was never set for the agent.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let file = args.receipt.display();
    let text = std::fs::read_to_string(&args.receipt)
        .map_err(|error| anyhow::anyhow!("cannot read {file}: {error}"))?;
    let receipt: proto::Receipt = json::read(RECEIPT, &text)?;
    let policy = args.policy.as_deref().map(policy_json).transpose()?;
    let context = assemble(&args.address.service()?, &request(&receipt, policy)).await?;
    let assembled = context.receipt.unwrap_or_default();
    let is_same = is_same(&receipt, &assembled);
    let mut out = console::out();
    if args.json {
        let output = serde_json::json!({
            "same": is_same,
            "sha256": hex::encode(&assembled.body_sha256),
            "expectedSha256": hex::encode(&receipt.body_sha256),
            "assemblyRevision": assembled.assembly_revision,
            "expectedAssemblyRevision": receipt.assembly_revision,
        });
        writeln!(out, "{output}")?;
    } else if is_same {
        let sha256 = hex::encode(&assembled.body_sha256);
        writeln!(out, "equal: version {}, sha256 {sha256}", assembled.version)?;
    } else {
        writeln!(out, "{}", difference(&receipt, &assembled))?;
    }
    Ok(if is_same { Exit::Done } else { Exit::Differs })
}

fn request(receipt: &proto::Receipt, policy: Option<String>) -> proto::AssembleContextRequest {
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

/// With another revision, only bytes and policy must be equal.
fn is_same(receipt: &proto::Receipt, assembled: &proto::Receipt) -> bool {
    let is_other_revision = receipt.assembly_revision != assembled.assembly_revision;
    let same_bytes = receipt.body_sha256 == assembled.body_sha256
        && receipt.policy_digest == assembled.policy_digest;
    assembled == receipt || is_other_revision && same_bytes
}

fn difference(receipt: &proto::Receipt, assembled: &proto::Receipt) -> String {
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
        check(
            (1, 0, 1),
            (2, 1, 1),
            Some("cannot be compared: the receipt has assembly revision 0,"),
        );
        check(
            (1, 2, 1),
            (2, 1, 1),
            Some("cannot be compared: the receipt has assembly revision 2,"),
        );
    }
}

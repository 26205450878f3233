//! `hansard verify-receipt`: makes a context again and compares it with its receipt.

use std::io::Write as _;
use std::path::PathBuf;

use wire::proto::read::v1 as proto;
use wire::proto::read::v1::assemble_context_request::Policy;

use super::address::GatewayAddress;
use super::context::{RECEIPT, assemble, policy_json};
use crate::console;
use crate::exit::Exit;
use crate::view::json;

/// Make a context again, and compare it byte for byte with its receipt.
///
/// Exit code 0: it is the same; 5: it is not, or another revision of the assembly's rules makes other bytes, which proves
/// nothing. Needs a service token with the scope `read`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard context conversation-1 --agent support --format anthropic --receipt receipt.json > body.json
  hansard verify-receipt receipt.json
  hansard verify-receipt receipt.json --policy policy.json --json")]
pub struct Args {
    /// The receipt, as `hansard context --receipt` writes it.
    receipt: PathBuf,
    /// The policy's file, where the agent's tenant has not set it.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    address: GatewayAddress,
}

/// Runs the command.
///
/// # Errors
/// The receipt cannot be read, or what the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let file = args.receipt.display();
    let text = std::fs::read_to_string(&args.receipt)
        .map_err(|error| anyhow::anyhow!("cannot read {file}: {error}"))?;
    let receipt: proto::Receipt = json::read(RECEIPT, &text)?;
    let policy = args.policy.as_deref().map(policy_json).transpose()?;
    let context = assemble(&args.address.service()?, &request(&receipt, policy)).await?;
    let again = context.receipt.unwrap_or_default();
    let is_same = is_same(&receipt, &again);
    let mut out = console::out();
    if args.json {
        let told = serde_json::json!({
            "same": is_same,
            "sha256": hex::encode(&again.body_sha256),
            "expectedSha256": hex::encode(&receipt.body_sha256),
            "assemblyRevision": again.assembly_revision,
            "expectedAssemblyRevision": receipt.assembly_revision,
        });
        writeln!(out, "{told}")?;
    } else if is_same {
        let sha256 = hex::encode(&again.body_sha256);
        writeln!(out, "the same: version {}, sha256 {sha256}", again.version)?;
    } else {
        writeln!(out, "{}", difference(&receipt, &again))?;
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
    }
}

/// Another revision may account otherwise for the same bytes.
fn is_same(receipt: &proto::Receipt, again: &proto::Receipt) -> bool {
    let is_other_revision = receipt.assembly_revision != again.assembly_revision;
    let same_bytes =
        receipt.body_sha256 == again.body_sha256 && receipt.policy_digest == again.policy_digest;
    again == receipt || is_other_revision && same_bytes
}

fn difference(receipt: &proto::Receipt, again: &proto::Receipt) -> String {
    let (expected, found) = (&receipt.body_sha256, &again.body_sha256);
    let (then, now) = (receipt.assembly_revision, again.assembly_revision);
    if expected != found && then != now {
        return format!(
            "cannot be compared: the receipt is of revision {then} of the assembly's rules, and this gateway assembles by \
             revision {now}: verify it with a release of revision {then}"
        );
    }
    if expected != found {
        let (expected, found) = (hex::encode(expected), hex::encode(found));
        return format!("not the same: sha256 {found}, the receipt says {expected}");
    }
    if receipt.policy_digest != again.policy_digest {
        return "not the same policy, though the bytes are the same".to_owned();
    }
    "the bytes are the same, but not the account of them".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Receipts as (sha256, revision, turns): whether they are the same, and what is said otherwise.
    fn check(receipt: (u8, u32, u32), again: (u8, u32, u32), expected: Option<&str>) {
        let of = |(sha256, assembly_revision, turns)| proto::Receipt {
            body_sha256: vec![sha256].into(),
            assembly_revision,
            turns,
            ..proto::Receipt::default()
        };
        let (receipt, again) = (of(receipt), of(again));
        match expected {
            None => assert!(is_same(&receipt, &again)),
            Some(expected) => {
                assert!(!is_same(&receipt, &again));
                let told = difference(&receipt, &again);
                assert!(told.starts_with(expected), "{told}");
            }
        }
    }

    #[test]
    fn another_revision_is_no_tampering() {
        check((1, 1, 1), (1, 1, 1), None);
        check((1, 1, 1), (2, 1, 1), Some("not the same: sha256 02"));
        check((1, 1, 1), (1, 1, 2), Some("the bytes are the same, but"));
        check((1, 0, 1), (1, 1, 2), None);
        check(
            (1, 0, 1),
            (2, 1, 1),
            Some("cannot be compared: the receipt is of revision 0 "),
        );
        check(
            (1, 2, 1),
            (2, 1, 1),
            Some("cannot be compared: the receipt is of revision 2 "),
        );
    }
}

//! `hansard verify-receipt`: assembles a context again and compares it with its receipt.

use std::io::Write as _;
use std::path::PathBuf;

use conversations::assembly::verification::{difference, is_same, request};
use wire::proto::read::v1 as proto;

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
    let text =
        std::fs::read_to_string(&args.receipt).map_err(|error| anyhow::anyhow!("cannot read {file}: {error}"))?;
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

//! The same work by other tools that keep conversations: small programs in `bench/peers`, run by its script.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::process::Command;

use crate::Plan;
use crate::addresses::Addresses;
use crate::report::PeerFigures;
use crate::target::Target;

pub(super) const TITLE: &str = "appends and reads of other tools";
/// The script, which installs the tools and runs the programs.
const SCRIPT: &str = "peers/run";

/// Installs the tools, and measures each with one and with 32 callers, on the Postgres of the stack.
pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Vec<PeerFigures>> {
    let addresses = &target.addresses;
    let servers = addresses.servers.as_ref().context("peers use Postgres: give --nats-url and --database-url")?;
    run(script().arg("install")).await?;
    let mut script = script();
    script.args(["measure", "--json", "--database-url"]);
    script.arg(&servers.database_url);
    script.args(["--seconds", &plan.duration.as_secs().to_string()]);
    let Addresses { writer_url, gateway_url, token, agent, .. } = addresses;
    script.env("HANSARD_WRITER_URL", writer_url);
    script.env("HANSARD_GATEWAY_URL", gateway_url);
    script.env("HANSARD_TOKEN", token).env("HANSARD_AGENT", agent);
    let figures = run(&mut script).await?;
    serde_json::from_slice(&figures).context("the figures of the peers cannot be decoded")
}

fn script() -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(SCRIPT));
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs a command; returns its output. Its progress and errors go to standard error.
async fn run(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.stderr(Stdio::inherit()).output().await.context("bench/peers/run cannot be run")?;
    anyhow::ensure!(output.status.success(), "bench/peers/run failed");
    Ok(output.stdout)
}

//! The command line: measures a running stack and, for comparison, NATS and Postgres alone.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, ValueEnum as _};
use event_log::RecordConfig;
use hansard::commands::address::{GATEWAY_PORT, WRITER_PORT};
use hansard::console;
use hansard::exit::UsageError;
use runtime::shutdown::Shutdown;

use crate::addresses::{Addresses, Servers};
use crate::own_stack::OwnStack;
use crate::report::Report;
use crate::target::Target;
use crate::{Plan, Suite, print};

/// The exit code of `--check` when a figure misses its threshold.
const PAST_THRESHOLD: u8 = 4;

/// Measure a running stack and, for comparison, NATS and Postgres alone.
///
/// Both sides of a comparison alternate in the same run. Figures are medians of the ratios of all rounds and are printed
/// with their thresholds. The measured conversations are new and stay in the agent's tenant. The streams and the schema
/// of the baselines (`HANSARD_BENCH_*`, `hansard_bench`) are removed.
#[derive(Parser)]
#[command(
    name = "bench",
    version,
    after_help = "\
Examples:
  bench --own-stack
  bench --own-stack --suite append,stream --in-flight 512 --json
  bench --agent demo --nats-url nats://127.0.0.1:7320 --database-url postgres://hansard@127.0.0.1:7330/hansard
  bench --own-stack --check || echo 'a figure misses its threshold'

Exit codes:
  0    done
  1    failed; see standard error
  2    wrong arguments; nothing was done
  4    --check: a figure misses its threshold"
)]
pub(crate) struct Args {
    /// Start an own stack in a temporary folder, one process per role, and stop it afterwards.
    #[arg(long)]
    own_stack: bool,
    /// The `hansard` binary for the roles of the own stack; default: this build.
    #[arg(long, value_name = "PATH", requires = "own_stack")]
    program: Option<PathBuf>,
    /// The parent of the temporary folder, on a real disk. As root, an unprivileged Postgres must be able to enter it.
    #[arg(long, value_name = "FOLDER", requires = "own_stack")]
    data_dir: Option<PathBuf>,
    /// A setting of a role of the own stack, such as `projector.lanes=4`; repeatable.
    #[arg(long = "set", value_name = "ROLE.KEY=VALUE", requires = "own_stack")]
    set: Vec<String>,
    #[command(flatten)]
    running: Running,
    #[command(flatten)]
    plan: Plan,
    /// What to measure; default: everything except peers.
    #[arg(long, value_enum, value_delimiter = ',')]
    suite: Vec<Suite>,
    /// Exit with 4 when a figure misses its threshold.
    #[arg(long)]
    check: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A running stack.
#[derive(Clone, clap::Args)]
struct Running {
    /// The writer's address.
    #[arg(
        long, value_name = "URL", env = "HANSARD_WRITER_URL", hide_env_values = true,
        default_value_t = format!("http://127.0.0.1:{WRITER_PORT}")
    )]
    writer: String,
    /// The gateway's address.
    #[arg(
        long, value_name = "URL", env = "HANSARD_GATEWAY_URL", hide_env_values = true,
        default_value_t = format!("http://127.0.0.1:{GATEWAY_PORT}")
    )]
    gateway: String,
    /// A service token with the scopes append and read.
    #[arg(long, env = "HANSARD_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The agent id.
    #[arg(long, env = "HANSARD_AGENT", hide_env_values = true)]
    agent: Option<String>,
    /// The stack's NATS, for comparison.
    #[arg(long, value_name = "URL", requires = "database_url")]
    nats_url: Option<String>,
    /// The stack's Postgres, for comparison.
    #[arg(long, value_name = "URL", requires = "nats_url")]
    database_url: Option<String>,
    /// The number of partitions of the record.
    #[arg(long, default_value_t = RecordConfig::default().partitions)]
    partitions: u16,
}

/// Runs the command.
pub(crate) async fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    let shutdown = Shutdown::new();
    shutdown.listen_for_signals()?;
    if args.suite.is_empty() {
        let all = Suite::value_variants().iter().copied();
        args.suite = all.filter(|suite| *suite != Suite::Peers).collect();
    }
    args.plan.conversations = args.plan.conversations.max(args.plan.in_flight_max());
    let report = tokio::select! {
        report = measure(&args) => report?,
        // Dropping the measurement stops its own servers and roles.
        () = shutdown.begun() => anyhow::bail!("interrupted"),
    };
    if args.json {
        writeln!(console::out(), "{}", serde_json::to_string(&report)?)?;
    } else {
        print::write(&mut console::out(), &report)?;
    }
    Ok(if args.check && !report.kept() { ExitCode::from(PAST_THRESHOLD) } else { ExitCode::SUCCESS })
}

async fn measure(args: &Args) -> anyhow::Result<Report> {
    let (suites, plan) = (&args.suite, &args.plan);
    if !args.own_stack {
        let target = Target::connect(&args.running.addresses()?, plan.writers, plan.readers_max()).await?;
        return crate::run(suites, plan, &target).await;
    }
    let parent = match &args.data_dir {
        Some(parent) => parent.clone(),
        None => devstack::default_data_dir()?,
    };
    let program = match &args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe()?,
    };
    let own = OwnStack::start(program, parent, &args.set, args.running.partitions).await?;
    let mut target = Target::connect(&own.addresses, plan.writers, plan.readers_max()).await?;
    target.projector = Some(Arc::clone(&own.projector));
    target.gateways = Some(own.gateways.clone());
    target.cpu = Some(own.cpu_meter().await);
    let outcome = crate::run(suites, plan, &target).await;
    let memory = own.memory().await;
    drop(target);
    own.stop().await;
    let mut report = outcome?;
    report.memory = memory;
    Ok(report)
}

impl Running {
    fn addresses(&self) -> Result<Addresses, UsageError> {
        let missing = |what: &str| UsageError(format!("give {what} of the running stack, or use --own-stack"));
        let servers = match (&self.nats_url, &self.database_url) {
            (Some(nats_url), Some(database_url)) => Some(Servers {
                record: RecordConfig {
                    partitions: self.partitions,
                    client_name: "hansard-bench".to_owned(),
                    ..RecordConfig::new(nats_url)
                },
                database_url: database_url.clone(),
            }),
            _ => None,
        };
        Ok(Addresses {
            writer_url: self.writer.clone(),
            gateway_url: self.gateway.clone(),
            token: self.token.clone().ok_or_else(|| missing("--token"))?,
            agent: self.agent.clone().ok_or_else(|| missing("--agent"))?,
            servers,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// The wrap width of the help.
    const COLUMNS: usize = 100;

    #[test]
    fn help_names_every_argument() {
        let mut command = Args::command().term_width(COLUMNS).color(clap::ColorChoice::Never);
        command.build();
        insta::assert_snapshot!("help", command.render_long_help());
    }

    #[test]
    fn conflicting_arguments_are_rejected() {
        let check = |line: &str, understood| {
            let outcome = Args::try_parse_from(line.split(' '));
            assert_eq!(outcome.is_ok(), understood, "{line}: {:?}", outcome.err());
        };
        check("bench --own-stack --suite append,lag --check", true);
        check("bench --own-stack --program target/release/hansard", true);
        check("bench --suite nothing", false);
        check("bench --data-dir x", false);
        check("bench --program x", false);
        check("bench --nats-url x", false);
    }
}

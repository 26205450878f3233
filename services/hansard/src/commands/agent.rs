//! `hansard agent`: the assistants of a tenant.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use event_log::registry::take_quota;
use models::ECHO;
use prost_types::FieldMask;
use wire::proto::event::v1::Role;
use wire::proto::operate::v1::{
    Agent, AgentSettings, Approvers, CreateAgentRequest, IdentityMode, ListAgentsRequest,
    ModelSettings, ProviderLogDetail, Quotas, RotateWebhookSecretRequest, SetAgentSettingsRequest,
};

use super::registry::{AsJson, Call, print_json, print_secret};
use super::{input_file, quota};
use crate::client::{Failure, Registrar};
use crate::exit::{Exit, UsageError};
use crate::view::{json, when};
use crate::{console, table};

const MESSAGE: &str = "hansard.operate.v1.Agent";
const SETTINGS: &str = "hansard.operate.v1.AgentSettings";
/// Most bytes of a file of settings: JSON is longer than what it stands for.
const SETTINGS_FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Make agents, list them, and set how they work.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard agent create support --tenant acme --name 'Support'
  hansard agent list --tenant acme
  hansard agent set support --model ollama/qwen3:4b --identity-mode signed
  hansard agent set support --model echo --provider-logs bodies
  hansard agent set support --approvers administrator
  hansard agent rotate-webhook-secret support --overlap-seconds 86400
  hansard agent set support --identity-mode open --allow-role system --allow-role assistant
  hansard agent set support --quota owner.runs=4 --quota owner.model_tokens_per_day=50000
  hansard agent set support --settings-file settings.json --json
  hansard agent set support --reset")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make an agent.
    Create {
        /// Its id, unique among all tenants: 1 to 64 of `A-Z a-z 0-9 _ -`. A token that is bound to a tenant gets the id with
        /// the tenant's namespace at its end, and at most 51 characters before it; the answer shows the whole id.
        agent: String,
        /// Whose it is.
        #[arg(long)]
        tenant: String,
        /// Its name, as people see it.
        #[arg(long, default_value = "")]
        name: String,
    },
    /// Set how an agent works: what is not named stays as it is.
    Set(Set),
    /// Make a new secret by which the calls of an agent's webhooks are signed.
    RotateWebhookSecret {
        /// The agent.
        agent: String,
        /// For how long calls are signed with the secret before, too; at most 30 days.
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        overlap_seconds: u32,
    },
    /// List every agent of a tenant.
    List {
        /// Whose agents.
        #[arg(long)]
        tenant: String,
    },
}

#[derive(Debug, clap::Args)]
struct Set {
    /// The agent.
    agent: String,
    /// The model that answers, after the server that the gateway's configuration names; `echo` is built in. Without a model
    /// the agent answers nobody.
    #[arg(long, value_name = "SERVER/MODEL")]
    model: Option<String>,
    /// How callers of its API keys are identified.
    #[arg(long, value_name = "MODE")]
    identity_mode: Option<Mode>,
    /// Who may approve calls of tools that need it; administrators always may.
    #[arg(long, value_name = "WHO")]
    approvers: Option<Who>,
    /// A role that messages of public callers may have beside `user`; may be given several times. It replaces the roles
    /// that were allowed before.
    #[arg(long, value_name = "ROLE")]
    allow_role: Vec<AllowedRole>,
    /// What is kept of what its model servers are asked and answer.
    #[arg(long, value_name = "DETAIL")]
    provider_logs: Option<LogDetail>,
    /// For how many days it is kept: 1 to 90, 14 where nothing was ever said.
    #[arg(long, value_name = "DAYS", requires = "provider_logs")]
    provider_logs_days: Option<u32>,
    /// A quota, such as `owner.runs=8`; `default` takes it back. Scopes: agent, key, owner, address. Quotas: `runs`,
    /// `model_tokens_per_day`, `conversations`, `stored_bytes`, `appended_bytes_per_minute`.
    #[arg(long, value_name = "SCOPE.QUOTA=NUMBER")]
    quota: Vec<String>,
    /// All settings, as JSON of `hansard.operate.v1.AgentSettings`: what is not in it is as by default from then on. The
    /// other options stand above it.
    #[arg(long, value_name = "FILE")]
    settings_file: Option<PathBuf>,
    /// Begin from none: what is not named is as by default from then on.
    #[arg(long)]
    reset: bool,
}

/// How callers are identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// By a session that `POST /api/sessions` issued.
    Issued,
    /// By a user's token that the tenant has signed, else by an issued session.
    Signed,
    /// By a user's name as the frontend gives it, else by an issued session.
    Trust,
    /// By ids that the caller chooses: for development, and for back ends that keep the key secret.
    Open,
}

impl From<Mode> for IdentityMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Issued => Self::Issued,
            Mode::Signed => Self::Signed,
            Mode::Trust => Self::Trust,
            Mode::Open => Self::Open,
        }
    }
}

/// A role that public callers may be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AllowedRole {
    /// The model.
    Assistant,
    /// Instructions.
    System,
    /// Instructions, as newer models name them.
    Developer,
}

impl From<AllowedRole> for Role {
    fn from(role: AllowedRole) -> Self {
        match role {
            AllowedRole::Assistant => Self::Assistant,
            AllowedRole::System => Self::System,
            AllowedRole::Developer => Self::Developer,
        }
    }
}

/// Who may approve calls of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Who {
    /// The owner of the conversation, a session too.
    Owner,
    /// The owner, where it is a user whom a token names.
    User,
    /// Administrators of the tenant alone.
    Administrator,
}

impl From<Who> for Approvers {
    fn from(who: Who) -> Self {
        match who {
            Who::Owner => Self::Owner,
            Who::User => Self::User,
            Who::Administrator => Self::Administrator,
        }
    }
}

/// What is kept of model servers' calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogDetail {
    /// Nothing.
    Off,
    /// When, how long, how large, how it ended, what it cost.
    Facts,
    /// That, and what was said, without secrets.
    Bodies,
}

impl From<LogDetail> for ProviderLogDetail {
    fn from(detail: LogDetail) -> Self {
        match detail {
            LogDetail::Off => Self::Off,
            LogDetail::Facts => Self::Facts,
            LogDetail::Bodies => Self::Bodies,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// What the service says.
pub async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registrar = args.call.registrar()?;
    let agents = match args.action {
        Action::Create {
            agent,
            tenant,
            name,
        } => {
            let request = CreateAgentRequest {
                tenant_id: tenant,
                agent_id: agent,
                display_name: name,
            };
            create(&mut registrar, request).await?
        }
        Action::Set(given) => set(&mut registrar, requested(given)?).await?,
        Action::RotateWebhookSecret {
            agent,
            overlap_seconds,
        } => {
            let secret = rotate(&mut registrar, &agent, overlap_seconds).await?;
            print_secret(AsJson(args.call.json), "agentId", &agent, &secret)?;
            return Ok(Exit::Done);
        }
        Action::List { tenant } => list(&mut registrar, tenant).await?,
    };
    if args.call.json {
        print_json(MESSAGE, &agents)?;
    } else {
        let rows: Vec<[String; 6]> = agents.into_iter().map(row).collect();
        table::write(
            &mut console::out(),
            ["AGENT", "TENANT", "NAME", "MODEL", "IDENTITY", "CREATED"],
            &rows,
        )?;
    }
    Ok(Exit::Done)
}

fn row(agent: Agent) -> [String; 6] {
    let created = when::seconds(agent.created_at.as_ref());
    let settings = agent.settings.unwrap_or_default();
    let mode = match settings.identity_mode() {
        IdentityMode::Unspecified | IdentityMode::Issued => "issued",
        IdentityMode::Signed => "signed",
        IdentityMode::Trust => "trust",
        IdentityMode::Open => "open",
    };
    let model = settings
        .model
        .map(|model| format!("{}/{}", model.server, model.model));
    let model = model.unwrap_or_else(|| "-".to_owned());
    let model = model.trim_end_matches('/').to_owned();
    [
        agent.agent_id,
        agent.tenant_id,
        agent.display_name,
        model,
        mode.to_owned(),
        created,
    ]
}

/// The request for what is named, which the writer puts into the settings as they are then; for all of them, where they
/// begin from a file or from none.
fn requested(given: Set) -> anyhow::Result<SetAgentSettingsRequest> {
    let is_whole = given.reset || given.settings_file.is_some();
    let mut settings = settings(given.settings_file.as_deref())?;
    let mut named = Vec::new();
    if let Some(model) = given.model {
        name_model(&mut settings, &model)?;
        named.extend(["model.server", "model.model"]);
    }
    if let Some(mode) = given.identity_mode {
        settings.set_identity_mode(mode.into());
        named.push("identity_mode");
    }
    if let Some(who) = given.approvers {
        settings.set_approvers(who.into());
        named.push("approvers");
    }
    if !given.allow_role.is_empty() {
        let roles = given
            .allow_role
            .into_iter()
            .map(|role| Role::from(role).into());
        settings.allowed_roles = roles.collect();
        named.push("allowed_roles");
    }
    if let Some(detail) = given.provider_logs {
        let logs = settings.provider_logs.get_or_insert_default();
        logs.set_detail(detail.into());
        named.push("provider_logs.detail");
    }
    if let Some(days) = given.provider_logs_days {
        let logs = settings.provider_logs.get_or_insert_default();
        logs.days = days;
        named.push("provider_logs.days");
    }
    let quotas = quota::named(&given.quota)?;
    let mut paths: Vec<String> = named.into_iter().map(str::to_owned).collect();
    let current = settings.quotas.get_or_insert_default();
    for path in quotas.paths {
        // The paths were made of the names just now.
        let _: Option<()> = take_quota(current, Some(&quotas.quotas), &path);
        paths.push(format!("quotas.{path}"));
    }
    if *current == Quotas::default() {
        settings.quotas = None;
    }
    if paths.is_empty() && !is_whole {
        let mend = "name what to set, such as --model; --reset sets all of it as by default";
        return Err(UsageError(mend.to_owned()).into());
    }
    Ok(SetAgentSettingsRequest {
        agent_id: given.agent,
        settings: Some(settings),
        update_mask: (!is_whole).then_some(FieldMask { paths }),
    })
}

fn settings(file: Option<&Path>) -> anyhow::Result<AgentSettings> {
    let Some(file) = file else {
        return Ok(AgentSettings::default());
    };
    let text = input_file::text(file, SETTINGS_FILE_BYTES_MAX)?;
    let wrong = |error| UsageError(format!("{}: {error:#}", file.display()));
    Ok(json::read(SETTINGS, &text).map_err(wrong)?)
}

/// A model's name may have slashes of its own.
fn name_model(settings: &mut AgentSettings, name: &str) -> Result<(), UsageError> {
    let (server, model) = match name.split_once('/') {
        Some((server, model)) => (server, model),
        None if name == ECHO => (ECHO, ""),
        None => return Err(UsageError("--model is SERVER/MODEL, or echo".to_owned())),
    };
    let named = settings.model.get_or_insert_with(ModelSettings::default);
    (named.server, named.model) = (server.to_owned(), model.to_owned());
    Ok(())
}

async fn set(
    registrar: &mut Registrar,
    request: SetAgentSettingsRequest,
) -> Result<Vec<Agent>, Failure> {
    let set = registrar.set_agent_settings(request).await?.into_inner();
    Ok(set.agent.into_iter().collect())
}

async fn create(
    registrar: &mut Registrar,
    request: CreateAgentRequest,
) -> Result<Vec<Agent>, Failure> {
    let made = registrar.create_agent(request).await?.into_inner();
    Ok(made.agent.into_iter().collect())
}

async fn rotate(
    registrar: &mut Registrar,
    agent: &str,
    overlap_seconds: u32,
) -> Result<String, Failure> {
    let request = RotateWebhookSecretRequest {
        agent_id: agent.to_owned(),
        overlap_seconds,
    };
    let rotated = registrar.rotate_webhook_secret(request).await?;
    Ok(rotated.into_inner().secret)
}

async fn list(registrar: &mut Registrar, tenant_id: String) -> Result<Vec<Agent>, Failure> {
    Ok(registrar
        .list_agents(ListAgentsRequest { tenant_id })
        .await?
        .into_inner()
        .agents)
}

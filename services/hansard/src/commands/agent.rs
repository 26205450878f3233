//! `hansard agent`: the agents of a tenant.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use models::ECHO;
use prost_types::FieldMask;
use registry::{quota_set, quotas_to_proto};
use wire::mask::copy_field;
use wire::proto::event::v1::Role;
use wire::proto::operate::v1::{
    Agent, AgentSettings, Approvers, CreateAgentRequest, IdentityMode, ListAgentsRequest, ProviderLogDetail, Quotas,
    RotateWebhookSecretRequest, SetAgentSettingsRequest,
};

use super::quota::{self, QuotaChanges};
use super::registry::Call;
use super::switch::Switch;
use super::{frontend_settings, input_file};
use crate::client::answer;
use crate::exit::{Exit, UsageError};
use crate::view::when;
use wire::json;

const MESSAGE: &str = "hansard.operate.v1.Agent";
const SETTINGS: &str = "hansard.operate.v1.AgentSettings";
/// The maximum size of a settings file: more than the settings themselves may have, since JSON is longer.
const SETTINGS_FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Create and list agents, and change their settings.
///
/// Needs a service token with the scope `operate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hansard agent create support --tenant acme --name 'Support'
  hansard agent list --tenant acme
  hansard agent set support --model ollama/qwen3:4b --identity-mode signed
  hansard agent set support --model openai/gpt-4.1 --other-model gpt-4.1-mini --other-model gpt-4.1-nano
  hansard agent set support --model echo --provider-logs bodies
  hansard agent set support --approvers administrator
  hansard agent set support --search-language de
  hansard agent set support --tool-calls names --attachment image/png --context locale
  hansard agent rotate-webhook-secret support --overlap-seconds 86400
  hansard agent set support --identity-mode open --allow-role system --allow-role assistant
  hansard agent set support --quota owner.runs=4 --quota owner.model_tokens_per_day=50000
  hansard agent set support --settings-file settings.json --json
  hansard agent set support --reset")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create an agent.
    Create {
        /// Id, unique among all tenants: 1 to 64 characters of `A-Z a-z 0-9 _ -`. With a token that is bound to a tenant, the
        /// id has at most 51 characters, and the writer appends the tenant's namespace; the answer shows the complete id.
        agent: String,
        /// Tenant that owns the agent.
        #[arg(long)]
        tenant: String,
        /// Display name.
        #[arg(long, default_value = "")]
        name: String,
    },
    /// Change settings of an agent. Settings that are not named stay unchanged.
    Set(Set),
    /// Create a new secret that signs the calls of an agent's webhooks.
    RotateWebhookSecret {
        /// Id of the agent.
        agent: String,
        /// Seconds during which calls are also signed with the previous secret; at most 30 days.
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        overlap_seconds: u32,
    },
    /// List the agents of a tenant.
    List {
        /// Id of the tenant.
        #[arg(long)]
        tenant: String,
    },
}

#[derive(Debug, clap::Args)]
struct Set {
    /// Id of the agent.
    agent: String,
    /// Model that answers, after the name of its server in the gateway's configuration. `echo` is built in. An agent without a
    /// model runs nothing.
    #[arg(long, value_name = "SERVER/MODEL")]
    model: Option<String>,
    /// Other model of the same server, which requests of the OpenAI APIs may name as AGENT/NAME. Repeat the option for several
    /// models. The list replaces the previous one.
    #[arg(long, value_name = "NAME")]
    other_model: Vec<String>,
    /// How callers of its API keys are identified.
    #[arg(long, value_name = "MODE")]
    identity_mode: Option<Mode>,
    /// Who may approve tool calls that need approval. Administrators always may.
    #[arg(long, value_name = "WHO")]
    approvers: Option<ApproverKind>,
    /// Role that messages of public callers may have in addition to `user`. Repeat the option for several roles. The list
    /// replaces the previous one.
    #[arg(long, value_name = "ROLE")]
    allow_role: Vec<AllowedRole>,
    /// Detail of the logs of model server requests and replies.
    #[arg(long, value_name = "DETAIL")]
    provider_logs: Option<LogDetail>,
    /// Days after which these logs are deleted: 1 to 90, by default 14.
    #[arg(long, value_name = "DAYS", requires = "provider_logs")]
    provider_logs_days: Option<u32>,
    /// Whether the agent's conversations are searched and indexed.
    #[arg(long, value_name = "SWITCH")]
    search: Option<Switch>,
    /// Language whose inflections the search finds as one word: ar, da, nl, en, fi, fr, de, el, hu, it, no, pt, ro, ru, es, sv, ta
    /// or tr. Empty: words are found as they are written.
    #[arg(long, value_name = "CODE")]
    search_language: Option<String>,
    #[command(flatten)]
    frontend: frontend_settings::Options,
    /// Quota, such as `owner.runs=8`; `default` removes it. Scopes: agent, key, owner, address. Quotas: `runs`,
    /// `model_tokens_per_day`, `conversations`, `stored_bytes`, `appended_bytes_per_minute`.
    #[arg(long, value_name = "SCOPE.QUOTA=NUMBER")]
    quota: Vec<String>,
    /// File with all settings, as JSON of `hansard.operate.v1.AgentSettings`. Settings that it omits get their defaults.
    /// Other options override the file.
    #[arg(long, value_name = "FILE")]
    settings_file: Option<PathBuf>,
    /// Reset all settings that are not named to their defaults.
    #[arg(long)]
    reset: bool,
}

/// The identity mode of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// By a session that `POST /api/sessions` issued.
    Issued,
    /// By a user token that the tenant has signed, else by an issued session.
    Signed,
    /// By a user id that the frontend sends unverified, else by an issued session.
    Trust,
    /// By ids that the caller chooses: for development, and for backends that keep the key secret.
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

/// A role that an agent may allow to public callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AllowedRole {
    /// A message of the model.
    Assistant,
    /// Instructions.
    System,
    /// Instructions, by their newer name.
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

/// Who may approve tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ApproverKind {
    /// The owner of the conversation, including anonymous sessions.
    Owner,
    /// The owner, if a user token identifies it.
    User,
    /// Only administrators of the tenant.
    Administrator,
}

impl From<ApproverKind> for Approvers {
    fn from(kind: ApproverKind) -> Self {
        match kind {
            ApproverKind::Owner => Self::Owner,
            ApproverKind::User => Self::User,
            ApproverKind::Administrator => Self::Administrator,
        }
    }
}

/// The detail of the provider logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogDetail {
    /// No logs.
    Off,
    /// Time, duration, sizes, result and tokens of each call.
    Facts,
    /// In addition the bodies, with secrets redacted.
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

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registry = args.call.registry()?;
    let agents = match args.action {
        Action::Create { agent, tenant, name } => {
            let request = CreateAgentRequest { tenant_id: tenant, agent_id: agent, display_name: name };
            Vec::from_iter(answer(registry.create_agent(request).await)?.agent)
        }
        Action::Set(args) => {
            let request = settings_request(args)?;
            Vec::from_iter(answer(registry.set_agent_settings(request).await)?.agent)
        }
        Action::RotateWebhookSecret { agent, overlap_seconds } => {
            let request = RotateWebhookSecretRequest { agent_id: agent.clone(), overlap_seconds };
            let secret = answer(registry.rotate_webhook_secret(request).await)?.secret;
            return args.call.print_secret("agentId", &agent, &secret);
        }
        Action::List { tenant } => {
            let request = ListAgentsRequest { tenant_id: tenant };
            answer(registry.list_agents(request).await)?.agents
        }
    };
    let header = ["AGENT", "TENANT", "NAME", "MODEL", "IDENTITY", "CREATED"];
    args.call.print(MESSAGE, agents, header, row)
}

fn row(agent: Agent) -> [String; 6] {
    let settings = agent.settings.unwrap_or_default();
    let mode = match settings.identity_mode() {
        IdentityMode::Unspecified | IdentityMode::Issued => "issued",
        IdentityMode::Signed => "signed",
        IdentityMode::Trust => "trust",
        IdentityMode::Open => "open",
    };
    let name = match settings.model {
        Some(model) => format!("{}/{}", model.server, model.model),
        None => "-".to_owned(),
    };
    let model = name.trim_end_matches('/').to_owned();
    [
        agent.agent_id,
        agent.tenant_id,
        agent.display_name,
        model,
        mode.to_owned(),
        when::seconds(agent.created_at.as_ref()),
    ]
}

/// Builds the request: with an update mask of the named settings, or without one if all settings are replaced.
fn settings_request(args: Set) -> anyhow::Result<SetAgentSettingsRequest> {
    let replaces_all = args.reset || args.settings_file.is_some();
    let mut settings = settings(args.settings_file.as_deref())?;
    let mut named = Vec::new();
    if let Some(model) = args.model {
        set_model(&mut settings, &model)?;
        named.extend(["model.server", "model.model"]);
    }
    if !args.other_model.is_empty() {
        settings.other_models = args.other_model;
        named.push("other_models");
    }
    if let Some(mode) = args.identity_mode {
        settings.set_identity_mode(mode.into());
        named.push("identity_mode");
    }
    if let Some(kind) = args.approvers {
        settings.set_approvers(kind.into());
        named.push("approvers");
    }
    if !args.allow_role.is_empty() {
        let roles = args.allow_role.into_iter();
        settings.allowed_roles = roles.map(|role| Role::from(role).into()).collect();
        named.push("allowed_roles");
    }
    if let Some(detail) = args.provider_logs {
        let logs = settings.provider_logs.get_or_insert_default();
        logs.set_detail(detail.into());
        named.push("provider_logs.detail");
    }
    if let Some(days) = args.provider_logs_days {
        settings.provider_logs.get_or_insert_default().days = days;
        named.push("provider_logs.days");
    }
    if let Some(switch) = args.search {
        settings.search.get_or_insert_default().disabled = switch == Switch::Off;
        named.push("search.disabled");
    }
    if let Some(language) = args.search_language {
        settings.search.get_or_insert_default().language = language;
        named.push("search.language");
    }
    named.extend(args.frontend.apply(&mut settings));
    let mut paths: Vec<String> = named.into_iter().map(str::to_owned).collect();
    paths.extend(set_quotas(&mut settings, &args.quota)?);
    if paths.is_empty() && !replaces_all {
        let message = "name at least one setting, such as --model, or reset all by --reset";
        return Err(UsageError(message.to_owned()).into());
    }
    Ok(SetAgentSettingsRequest {
        agent_id: args.agent,
        settings: Some(settings),
        update_mask: (!replaces_all).then_some(FieldMask { paths }),
    })
}

/// Sets quotas; returns their paths.
fn set_quotas(settings: &mut AgentSettings, given: &[String]) -> Result<Vec<String>, UsageError> {
    let QuotaChanges { quotas, paths } = quota::parse_all(given)?;
    let mut current = settings.quotas.unwrap_or_default();
    for path in &paths {
        // `parse_all` returns valid paths only.
        current = copy_field("hansard.operate.v1.Quotas", &current, &quotas, path).unwrap_or(current);
    }
    let current = quotas_to_proto(&quota_set(&current));
    settings.quotas = (current != Quotas::default()).then_some(current);
    Ok(paths.iter().map(|path| format!("quotas.{path}")).collect())
}

fn settings(file: Option<&Path>) -> anyhow::Result<AgentSettings> {
    let Some(file) = file else {
        return Ok(AgentSettings::default());
    };
    let text = input_file::text(file, SETTINGS_FILE_BYTES_MAX)?;
    let invalid = |error: json::JsonError| UsageError(format!("{}: {:#}", file.display(), anyhow::Error::from(error)));
    Ok(json::read(SETTINGS, &text).map_err(invalid)?)
}

/// Parses `SERVER/MODEL`. The name of a model may contain slashes.
fn set_model(settings: &mut AgentSettings, name: &str) -> Result<(), UsageError> {
    let (server, model) = match name.split_once('/') {
        Some(parts) => parts,
        None if name == ECHO => (ECHO, ""),
        None => {
            let message = "--model must be SERVER/MODEL, or echo";
            return Err(UsageError(message.to_owned()));
        }
    };
    let current = settings.model.get_or_insert_default();
    (current.server, current.model) = (server.to_owned(), model.to_owned());
    Ok(())
}

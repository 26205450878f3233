//! `hansard dashboard`: signing in to the dashboard.

use std::io::Write as _;

use clap::{Subcommand, ValueEnum};
use wire::proto::operate::v1::{CreateDashboardLinkRequest, DashboardRole};

use super::address::GATEWAY_HTTP_PORT;
use super::registry::Call;
use crate::client::{RegistryClient, answer};
use crate::console;
use crate::exit::Exit;
use crate::view::when;

/// Create links that sign people in to the dashboard.
///
/// Needs a service token with the scope `operate`. For links of operators, the token must be of all tenants.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A link signs one person in, once. It expires after ten minutes. Who has it can sign in: send it to its person only.

Examples:
  hansard dashboard link --tenant acme --name ada --role viewer
  hansard dashboard link --tenant acme --name root --role operator --url https://hansard.example.org")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    call: Call,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a link and print it.
    Link {
        /// Tenant whose data the person sees; by default the tenant of the token.
        #[arg(long, default_value = "")]
        tenant: String,
        /// Name of the person, which the audit log records.
        #[arg(long)]
        name: String,
        /// Role of the person.
        #[arg(long, value_enum)]
        role: LinkRole,
        /// URL of the gateway's HTTP listener, as browsers reach it.
        #[arg(
            long, value_name = "URL", env = "HANSARD_DASHBOARD_URL", hide_env_values = true,
            default_value_t = format!("http://127.0.0.1:{GATEWAY_HTTP_PORT}")
        )]
        url: String,
    },
}

/// A role of the dashboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkRole {
    /// Reads the conversations of the tenant.
    Viewer,
    /// Also exports and erases conversations, one at a time.
    Support,
    /// Also changes settings and keys, and reads the audit log.
    Administrator,
    /// Also sees the state of the whole deployment.
    Operator,
}

/// A person and the gateway for them.
pub(crate) struct NewLink {
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) role: LinkRole,
    pub(crate) url: String,
}

/// A link: a secret.
pub(crate) struct Link {
    pub(crate) url: String,
    pub(crate) expires_at: String,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<Exit> {
    let mut registry = args.call.registry()?;
    let Action::Link { tenant, name, role, url } = args.action;
    let new = NewLink { tenant, name, role, url };
    let link = create(&mut registry, new).await?;
    if args.call.json {
        let created = serde_json::json!({ "link": link.url, "expiresAt": link.expires_at });
        writeln!(console::out(), "{created}")?;
    } else {
        writeln!(console::out(), "{}", link.url)?;
        let note = format!("works once, until {}", link.expires_at);
        writeln!(console::err(), "{note}")?;
    }
    Ok(Exit::Done)
}

/// Creates a link.
pub(crate) async fn create(registry: &mut RegistryClient, new: NewLink) -> anyhow::Result<Link> {
    let request = CreateDashboardLinkRequest {
        tenant_id: new.tenant,
        name: new.name,
        role: DashboardRole::from(new.role).into(),
    };
    let created = answer(registry.create_dashboard_link(request).await)?;
    let (base, token) = (new.url.trim_end_matches('/'), created.token);
    Ok(Link {
        url: format!("{base}/dashboard/sign-in/link?token={token}"),
        expires_at: when::seconds(created.expires_at.as_ref()),
    })
}

impl From<LinkRole> for DashboardRole {
    fn from(role: LinkRole) -> Self {
        match role {
            LinkRole::Viewer => Self::Viewer,
            LinkRole::Support => Self::Support,
            LinkRole::Administrator => Self::Administrator,
            LinkRole::Operator => Self::Operator,
        }
    }
}

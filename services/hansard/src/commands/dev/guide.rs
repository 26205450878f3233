//! The output of `hansard dev`: a context, the addresses, and the next commands.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use devstack::Stack;
use wire::proto::read::v1::{AssembleContextRequest, ReadTarget};

use super::demo::{NAME, Settings};
use super::ports::PortBase;
use super::roles::Roles;
use crate::client::Service;
use crate::commands::context::assemble;
use crate::commands::dashboard::{self, LinkRole, NewLink};
use crate::console;
use crate::view::context;

/// The maximum number of messages of the printed context.
const MESSAGES: u32 = 20;

/// What the output contains.
pub(super) struct Guide<'a> {
    pub(super) roles: &'a Roles,
    pub(super) stack: &'a Stack,
    pub(super) demo: &'a Settings,
    pub(super) data_dir: &'a Path,
    pub(super) ports: PortBase,
}

impl Guide<'_> {
    /// Prints one context; nothing if nothing was imported.
    pub(super) async fn show_context(&self) -> anyhow::Result<()> {
        let Some(conversation) = &self.demo.conversation else {
            return Ok(());
        };
        let gateway = Service::at(&format!("http://{}", self.roles.gateway), &self.demo.token)?;
        let request = AssembleContextRequest {
            target: Some(ReadTarget {
                agent_id: NAME.to_owned(),
                conversation_id: conversation.clone(),
                ..ReadTarget::default()
            }),
            messages_max: MESSAGES,
            ..AssembleContextRequest::default()
        };
        let context = assemble(&gateway, &request).await?;
        let mut out = console::out();
        let title = format!("The context of the conversation {conversation}");
        writeln!(out, "\n{title}, as a model reads it:\n")?;
        Ok(context::write(&mut out, &context)?)
    }

    /// Prints all addresses and the next commands.
    pub(super) async fn show_addresses(&self, took: Duration) -> anyhow::Result<()> {
        let link = self.dashboard_link().await?;
        let mut out = console::out();
        out.write_all(self.text(took, &program(), &link).as_bytes())?;
        Ok(out.flush()?)
    }

    /// A link that signs the developer in to the dashboard, once.
    async fn dashboard_link(&self) -> anyhow::Result<String> {
        let writer = format!("http://{}", self.roles.writer);
        let mut registry = Service::at(&writer, &self.demo.token)?.registry();
        let new = NewLink {
            tenant: NAME.to_owned(),
            name: "developer".to_owned(),
            role: LinkRole::Operator,
            url: format!("http://{}", self.roles.gateway_http),
        };
        Ok(dashboard::create(&mut registry, new).await?.url)
    }

    /// The URL of NATS with this user; the given one, if NATS is not managed.
    fn nats_url(&self, user: &str) -> String {
        let managed = self.stack.nats().map(|nats| format!("nats://{user}127.0.0.1:{}", nats.port()));
        managed.unwrap_or_else(|| self.stack.nats_url())
    }

    fn text(&self, took: Duration, program: &str, link: &str) -> String {
        let roles = self.roles;
        let (writer, gateway, gateway_http) = (roles.writer, roles.gateway, roles.gateway_http);
        let (token, api_key) = (&self.demo.token, &self.demo.api_key);
        let metrics = roles.admin;
        let metrics = metrics.map(|(role, address)| format!("{role} http://{address}/metrics"));
        let metrics = metrics.join(", ");
        let conversation = self.demo.conversation.as_deref().unwrap_or("ID");
        // A shell reads the password from its file: it is not printed.
        let password = super::nats_password::path(self.data_dir);
        let nats_url = self.nats_url(&format!("hansard:$(cat {})@", password.display()));
        let request =
            format!(r#"{{"target":{{"agentId":"{NAME}","conversationId":"{conversation}"}},"messagesMax":5}}"#);
        format!(
            "\nReady in {:.1} s. Data is in {}.\n\n\
             \x20 writer    http://{writer} (gRPC, reflection on){}\n\
             \x20 gateway   http://{gateway} (gRPC, reflection on){}\n\
             \x20           http://{gateway_http} (HTTP, described at /openapi.json){}\n\
             \x20 dashboard {link}\n\
             \x20 metrics   {metrics}\n\
             \x20 NATS      {}\n\
             \x20 Postgres  {}\n\
             \x20 demo      tenant {NAME}, agent {NAME}, API key {api_key}\n\n\
             In another terminal:\n\n\
             \x20 export HANSARD_TOKEN={token} HANSARD_AGENT={NAME} \\\n\
             \x20        HANSARD_WRITER_URL=http://{writer} HANSARD_GATEWAY_URL=http://{gateway} \\\n\
             \x20        HANSARD_MASTER_KEY_FILE={} \\\n\
             \x20        HANSARD_RECORD__NATS_URL=\"{nats_url}\"\n\
             \x20 {program} context {conversation}\n\
             \x20 {program} chat --url http://{gateway_http} --api-key {api_key}\n\
             \x20 {program} import chats.jsonl\n\
             \x20 {program} dashboard link --tenant {NAME} --name you --role operator\n\
             \x20 {program} tail | head -n 3\n\
             \x20 grpcurl -plaintext -H \"authorization: Bearer $HANSARD_TOKEN\" \\\n\
             \x20   -d '{request}' \\\n\
             \x20   {gateway} hansard.read.v1.ReadService/AssembleContext\n\n\
             Ctrl-C stops everything.\n",
            took.as_secs_f64(),
            self.data_dir.display(),
            port_note(self.ports.writer(), writer),
            port_note(self.ports.gateway(), gateway),
            port_note(self.ports.gateway_http(), gateway_http),
            self.nats_url(""),
            self.stack.database_url(),
            super::master_key::path(self.data_dir).display(),
        )
    }
}

fn port_note(port: u16, address: SocketAddr) -> String {
    if address.port() == port { String::new() } else { format!(", because port {port} is in use") }
}

/// The path of this program, relative to the current folder if possible.
fn program() -> String {
    let Ok(path) = std::env::current_exe() else {
        return "hansard".to_owned();
    };
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(here).unwrap_or(&path);
    path.display().to_string()
}

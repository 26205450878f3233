//! A whole system for one test: servers, a writer, a projector and a gateway.

use devstack::NatsConfig;
use runtime::config::Secret;
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::agent::Agent;
use crate::client::Caller;
use crate::http_client::HttpClient;
use crate::node::{Node, Placement};
use crate::operator::{self, Operator};
use crate::program::Program;
use crate::servers::{NatsChoice, PostgresChoice, Servers};
use crate::settings::{Role, Settings};

/// The setup of a stack.
#[derive(Debug, Clone)]
pub struct Setup {
    placement: Placement,
    postgres: PostgresChoice,
    nats: NatsChoice,
}

impl Setup {
    /// Roles as tasks of the test; a database in the shared Postgres.
    #[must_use]
    pub fn tasks() -> Self {
        Self { placement: Placement::Tasks, postgres: PostgresChoice::Shared, nats: NatsChoice::One(String::new()) }
    }

    /// Roles as processes of the binary; a database in the shared Postgres.
    #[must_use]
    pub fn processes(program: Program) -> Self {
        Self { placement: Placement::Processes(program), ..Self::tasks() }
    }

    /// With a Postgres of the test, to kill and freeze.
    #[must_use]
    pub fn with_own_postgres(self) -> Self {
        Self { postgres: PostgresChoice::Own, ..self }
    }

    /// With further configuration lines of the nats-server.
    #[must_use]
    pub fn with_nats_lines(self, lines: &str) -> Self {
        Self { nats: NatsChoice::One(lines.to_owned()), ..self }
    }

    /// With nats-servers of these configurations instead of a temporary one. The caller removes their folders.
    #[must_use]
    pub fn with_nats(self, servers: Vec<NatsConfig>) -> Self {
        Self { nats: NatsChoice::These(servers), ..self }
    }

    /// Starts the servers without roles.
    pub async fn prepare(self) -> Stack {
        let servers = Servers::start(self.postgres, self.nats).await;
        let settings = Settings::on(&servers);
        let node = |role| Node::new(role, self.placement.clone(), settings.clone());
        Stack {
            writer: node(Role::Writer),
            projector: node(Role::Projector),
            gateway: node(Role::Gateway),
            bootstrap: OnceCell::new(),
            placement: self.placement,
            servers,
        }
    }

    /// Starts everything and waits until all roles are ready.
    pub async fn start(self) -> Stack {
        let mut stack = self.prepare().await;
        stack.start().await;
        stack
    }
}

/// A system. It ends when dropped.
#[derive(Debug)]
pub struct Stack {
    // The order matters: roles stop before their servers.
    /// The writer.
    pub writer: Node,
    /// The projector.
    pub projector: Node,
    /// The gateway.
    pub gateway: Node,
    /// NATS and Postgres.
    pub servers: Servers,
    placement: Placement,
    bootstrap: OnceCell<String>,
}

impl Stack {
    /// Starts every role that does not run. The writer is first, because it creates the record. The gateway gets the
    /// operator's token, unless a test has set another.
    pub async fn start(&mut self) {
        Box::pin(self.set_gateway_token()).await;
        for node in [&mut self.writer, &mut self.projector, &mut self.gateway] {
            if !node.is_started() {
                node.start().await;
            }
        }
    }

    /// Changes the settings of every role, for its next start.
    pub fn change(&mut self, mut change: impl FnMut(&mut Settings)) {
        for node in [&mut self.writer, &mut self.projector, &mut self.gateway] {
            change(&mut node.settings);
        }
    }

    async fn set_gateway_token(&mut self) {
        let token = self.token().await.to_owned();
        for node in [&mut self.writer, &mut self.projector, &mut self.gateway] {
            if node.settings.gateway.writer_token.is_empty() {
                node.settings.gateway.writer_token = Secret::new(&token);
                // Serialized settings hide secrets, so processes get this one as a variable.
                let variable = ("HANSARD_WRITER_TOKEN".to_owned(), token.clone());
                node.settings.gateway_variables.push(variable);
            }
        }
    }

    /// The operator's token.
    pub async fn token(&self) -> &str {
        self.bootstrap.get_or_init(|| operator::bootstrap(self.writer.settings.writer.record.clone())).await
    }

    /// One more node of a role on the same servers, with its own ports; not started.
    #[must_use]
    pub fn another(&self, role: Role) -> Node {
        let settings = Settings::clone(&self.writer.settings).with_new_ports();
        Node::new(role, self.placement.clone(), settings)
    }

    /// The operator: a caller with every scope, over all tenants.
    pub async fn operator(&self) -> Operator {
        Operator::new(self.caller(self.token().await))
    }

    /// A client of the gateway's HTTP listener without headers.
    #[must_use]
    pub fn http_client(&self) -> HttpClient {
        HttpClient::at(self.gateway.settings.gateway.http.server.addr)
    }

    /// A caller of this stack's writer and gateway.
    #[must_use]
    pub fn caller(&self, token: &str) -> Caller {
        Caller::new(&self.writer.grpc_url(), &self.gateway.grpc_url(), token)
    }

    /// A new agent of a tenant, which is created if it is missing. The token has the scopes append, read and erase,
    /// bound to the tenant.
    pub async fn agent(&self, tenant: &str, agent: &str) -> Agent {
        self.operator().await.agent(tenant, agent).await
    }

    /// As [`Stack::agent`], with unique names.
    pub async fn any_agent(&self) -> Agent {
        let name = Uuid::now_v7().simple().to_string();
        self.agent(&format!("t-{name}"), &format!("a-{name}")).await
    }
}

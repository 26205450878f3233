//! A whole system of a test's own: servers, and a writer, a projector and a gateway on them.

use devstack::NatsConfig;
use runtime::config::Secret;
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::agent::Agent;
use crate::client::Caller;
use crate::door::Door;
use crate::node::{Home, Node};
use crate::operator::{self, Operator};
use crate::program::Program;
use crate::servers::{NatsChoice, PostgresChoice, Servers};
use crate::settings::{Role, Settings};

/// What a stack should be like.
#[derive(Debug, Clone)]
pub struct Setup {
    home: Home,
    postgres: PostgresChoice,
    nats: NatsChoice,
}

impl Setup {
    /// Roles as tasks of the test; a database in the shared Postgres.
    #[must_use]
    pub fn tasks() -> Self {
        Self {
            home: Home::Tasks,
            postgres: PostgresChoice::Shared,
            nats: NatsChoice::One(String::new()),
        }
    }

    /// Roles as processes of the binary; a database in the shared Postgres.
    #[must_use]
    pub fn processes(program: Program) -> Self {
        Self {
            home: Home::Processes(program),
            ..Self::tasks()
        }
    }

    /// With a Postgres of the test's own, to kill and freeze.
    #[must_use]
    pub fn with_own_postgres(self) -> Self {
        Self {
            postgres: PostgresChoice::Own,
            ..self
        }
    }

    /// With further lines of the nats-server's configuration.
    #[must_use]
    pub fn with_nats_lines(self, lines: &str) -> Self {
        Self {
            nats: NatsChoice::One(lines.to_owned()),
            ..self
        }
    }

    /// With nats-servers of these configurations in place of one that is thrown away. The caller removes their folders.
    #[must_use]
    pub fn with_nats(self, servers: Vec<NatsConfig>) -> Self {
        Self {
            nats: NatsChoice::These(servers),
            ..self
        }
    }

    /// Starts the servers, and none of the roles.
    pub async fn prepare(self) -> Stack {
        let servers = Servers::start(self.postgres, self.nats).await;
        let settings = Settings::on(&servers);
        let node = |role| Node::new(role, self.home.clone(), settings.clone());
        Stack {
            writer: node(Role::Writer),
            projector: node(Role::Projector),
            gateway: node(Role::Gateway),
            bootstrap: OnceCell::new(),
            home: self.home,
            servers,
        }
    }

    /// Starts everything; all roles are ready then.
    pub async fn start(self) -> Stack {
        let mut stack = self.prepare().await;
        stack.start().await;
        stack
    }
}

/// A system. Dropped, all of it ends.
#[derive(Debug)]
pub struct Stack {
    // The order matters: roles end before their servers.
    /// Takes writes.
    pub writer: Node,
    /// Fills the read model.
    pub projector: Node,
    /// Answers reads.
    pub gateway: Node,
    /// NATS and Postgres.
    pub servers: Servers,
    home: Home,
    bootstrap: OnceCell<String>,
}

impl Stack {
    /// Starts every role that does not run. The writer is first: it makes the record. The gateway is given the operator's token
    /// as its own, unless a test chose another.
    pub async fn start(&mut self) {
        Box::pin(self.give_gateway_a_token()).await;
        for node in [&mut self.writer, &mut self.projector, &mut self.gateway] {
            if !node.is_started() {
                node.start().await;
            }
        }
    }

    async fn give_gateway_a_token(&mut self) {
        let token = self.token().await.to_owned();
        for node in [&mut self.writer, &mut self.projector, &mut self.gateway] {
            if node.settings.gateway.writer_token.is_empty() {
                node.settings.gateway.writer_token = Secret::new(&token);
                // Written settings hide secrets, so that processes get this one by itself.
                let variable = ("HANSARD_WRITER_TOKEN".to_owned(), token.clone());
                node.settings.gateway_variables.push(variable);
            }
        }
    }

    /// The operator's token.
    pub async fn token(&self) -> &str {
        let made = self
            .bootstrap
            .get_or_init(|| operator::bootstrap(self.writer.settings.writer.record.clone()));
        made.await
    }

    /// One more of a role on the same servers, on ports of its own; not started.
    #[must_use]
    pub fn another(&self, role: Role) -> Node {
        let settings = Settings::clone(&self.writer.settings).with_ports_of_its_own();
        Node::new(role, self.home.clone(), settings)
    }

    /// The operator: a caller with every scope, over all tenants.
    pub async fn operator(&self) -> Operator {
        Operator::new(self.caller(self.token().await))
    }

    /// The gateway's HTTP door, called without headers.
    #[must_use]
    pub fn door(&self) -> Door {
        Door::at(self.gateway.settings.gateway.http.server.addr)
    }

    /// A caller of this stack's writer and gateway.
    #[must_use]
    pub fn caller(&self, token: &str) -> Caller {
        Caller::new(&self.writer.grpc_url(), &self.gateway.grpc_url(), token)
    }

    /// A new agent of a tenant, which is made too unless it is there, with a token for appending and reading that is
    /// bound to the tenant.
    pub async fn agent(&self, tenant: &str, agent: &str) -> Agent {
        self.operator().await.agent(tenant, agent).await
    }

    /// As [`Stack::agent`], under names that nobody else has.
    pub async fn any_agent(&self) -> Agent {
        let name = Uuid::now_v7().simple().to_string();
        self.agent(&format!("t-{name}"), &format!("a-{name}")).await
    }
}

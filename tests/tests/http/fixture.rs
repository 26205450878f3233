//! A system with two tenants, with keys and tokens of their frontends and administrators.

use devstack::PostgresServer;
use gateway::GatewayConfig;
use read_model::REPLICA_LAG_MS_MAX;
use serde_json::Value;
use tests::agent::Agent;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::jwt;
use tests::operator::{Operator, Token, echo};
use tests::shared::TestStack;
use tests::stack::{Setup, Stack};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{IdentityMode, SigningKeyUse};

/// A system for frontends.
pub(crate) struct Fixture {
    pub(crate) stack: TestStack,
    pub(crate) operator: Operator,
    /// The tested tenant.
    pub(crate) tenant: &'static str,
    /// The agents of [`Self::tenant`]; in alphabetical order the other one is first.
    pub(crate) agent_id: &'static str,
    pub(crate) other_agent_id: &'static str,
    /// Another tenant, and its agent.
    pub(crate) foreign_tenant: &'static str,
    pub(crate) foreign_agent_id: &'static str,
    /// A gRPC client of [`Self::agent_id`].
    pub(crate) agent: Agent,
    /// The keys of [`Self::agent_id`], [`Self::other_agent_id`], and [`Self::foreign_agent_id`].
    pub(crate) key: Token,
    pub(crate) other_key: Token,
    pub(crate) foreign_key: Token,
    /// The signing secret of [`Self::tenant`]'s users.
    pub(crate) user_secret: String,
    /// The signing secrets of the administrators of [`Self::tenant`] and [`Self::foreign_tenant`].
    pub(crate) admin_secret: String,
    pub(crate) foreign_admin_secret: String,
}

impl Fixture {
    /// New tenants of the shared stack, whose agents accept any session ids and user names.
    pub(crate) async fn new() -> Self {
        Box::pin(Self::of(TestStack::Shared(Stack::shared().await))).await
    }

    /// The same in a stack of the test, to stop its roles or to see all tenants.
    pub(crate) async fn own() -> Self {
        Self::with(|_| {}).await
    }

    /// The same, with changed settings of its gateway.
    pub(crate) async fn with(change: impl FnOnce(&mut GatewayConfig)) -> Self {
        let mut stack = Setup::tasks().prepare().await;
        change(&mut stack.gateway.settings.gateway);
        stack.start().await;
        Box::pin(Self::of(TestStack::own(stack))).await
    }

    /// A system whose gateway has a replica of Postgres, and the replica. Drop the replica first.
    pub(crate) async fn with_replica() -> (PostgresServer, Self) {
        let mut stack = Setup::tasks().with_own_postgres().prepare().await;
        let standby = devstack::test::standby(stack.servers.postgres_mut()).await;
        let read_model = &mut stack.gateway.settings.gateway.read_model;
        read_model.replica_urls = vec![standby.database_url("hansard")];
        // No test of it waits for the bound.
        read_model.replica_lag_ms_max = REPLICA_LAG_MS_MAX;
        stack.start().await;
        (standby, Box::pin(Self::of(TestStack::own(stack))).await)
    }

    /// New tenants of a running stack.
    async fn of(stack: TestStack) -> Self {
        let operator = stack.operator().await;
        let names = ["acme", "support", "sales", "globex", "globex-support"];
        let [tenant, agent_id, other_agent_id, foreign_tenant, foreign_agent_id] = stack.names(names);
        let agent = operator.agent(tenant, agent_id).await;
        operator.agent(tenant, other_agent_id).await;
        operator.agent(foreign_tenant, foreign_agent_id).await;
        let fixture = Self {
            key: operator.api_key(agent_id).await,
            other_key: operator.api_key(other_agent_id).await,
            foreign_key: operator.api_key(foreign_agent_id).await,
            user_secret: create_signing_key(&operator, tenant, SigningKeyUse::User).await,
            admin_secret: create_signing_key(&operator, tenant, SigningKeyUse::Admin).await,
            foreign_admin_secret: create_signing_key(&operator, foreign_tenant, SigningKeyUse::Admin).await,
            tenant,
            agent_id,
            other_agent_id,
            foreign_tenant,
            foreign_agent_id,
            agent,
            operator,
            stack,
        };
        for agent in [other_agent_id, foreign_agent_id, agent_id] {
            fixture.identity_mode(agent, IdentityMode::Open).await;
        }
        fixture.wait_for_gateway().await;
        fixture
    }

    /// Sets the identity mode of an agent. Its frontends get all of tool calls.
    pub(crate) async fn identity_mode(&self, agent: &str, mode: IdentityMode) {
        let frontend = proto::FrontendSettings {
            tool_calls: proto::ToolCallDetail::Full.into(),
            ..proto::FrontendSettings::default()
        };
        let settings = proto::AgentSettings { identity_mode: mode.into(), frontend: Some(frontend), ..echo() };
        self.operator.settings(agent, settings).await;
    }

    /// A frontend of [`Self::agent_id`].
    pub(crate) fn frontend(&self) -> HttpClient {
        self.stack.http_client().with("x-api-key", &self.key.secret)
    }

    /// A session of [`Self::agent_id`]'s frontend, issued by the gateway.
    pub(crate) async fn issued_session(&self) -> HttpClient {
        self.frontend().in_session().await
    }

    /// A session of [`Self::agent_id`]'s frontend with this id.
    pub(crate) fn session(&self, id: &str) -> HttpClient {
        self.frontend().with("x-session-id", id)
    }

    /// A user of [`Self::agent_id`]'s frontend, with a token.
    pub(crate) fn user(&self, id: &str) -> HttpClient {
        let token = jwt::user(&self.user_secret, id);
        self.frontend().with("x-user-token", &token)
    }

    /// An administrator of [`Self::tenant`].
    pub(crate) fn admin(&self) -> HttpClient {
        bearer(&self.stack, &jwt::admin(&self.admin_secret, self.tenant))
    }

    /// An administrator of [`Self::foreign_tenant`].
    pub(crate) fn foreign_admin(&self) -> HttpClient {
        let token = jwt::admin(&self.foreign_admin_secret, self.foreign_tenant);
        bearer(&self.stack, &token)
    }

    /// Waits until the gateway knows the last change; it applies the registry's changes in order.
    async fn wait_for_gateway(&self) {
        let user = self.frontend().with("x-user-id", "settled");
        eventually("a gateway that knows the agent's settings", || async {
            (user.get("/api/chats/none").await.status == 404).then_some(())
        })
        .await;
    }
}

async fn create_signing_key(operator: &Operator, tenant: &str, key_use: SigningKeyUse) -> String {
    let id = format!("{key_use:?}");
    operator.signing_key(tenant, &id, key_use).await
}

/// A client with a bearer token.
pub(crate) fn bearer(stack: &Stack, token: &str) -> HttpClient {
    let bearer = format!("Bearer {token}");
    stack.http_client().with("authorization", &bearer)
}

/// Creates a conversation; returns its id.
pub(crate) async fn begin(client: &HttpClient, body: &Value) -> String {
    let begun = client.post("/api/chats", body).await.ok(201);
    text(&begun, "id").to_owned()
}

/// A text member of an object.
pub(crate) fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    let text = object.get(member).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{member} in {object}"))
}

/// The items of a list member of an object.
pub(crate) fn list<'a>(object: &'a Value, member: &str) -> &'a [Value] {
    let list = object.get(member).and_then(Value::as_array);
    list.unwrap_or_else(|| panic!("{member} in {object}"))
}

/// The ids of the conversations of a page.
pub(crate) fn ids(page: &Value) -> Vec<String> {
    let page = list(page, "conversations").iter();
    page.map(|one| text(one, "id").to_owned()).collect()
}

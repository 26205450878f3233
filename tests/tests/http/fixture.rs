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
use tests::stack::{Setup, Stack};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{IdentityMode, SigningKeyUse};

/// The tested tenant, its agents, and another tenant.
pub(crate) const TENANT: &str = "acme";
pub(crate) const AGENT: &str = "support";
pub(crate) const OTHER_AGENT: &str = "sales";
pub(crate) const FOREIGN_TENANT: &str = "globex";
pub(crate) const FOREIGN_AGENT: &str = "globex-support";

/// A system for frontends.
pub(crate) struct Fixture {
    pub(crate) stack: Stack,
    pub(crate) operator: Operator,
    /// A gRPC client of [`AGENT`].
    pub(crate) agent: Agent,
    /// The keys of [`AGENT`], [`OTHER_AGENT`], and [`FOREIGN_AGENT`].
    pub(crate) key: Token,
    pub(crate) other_key: Token,
    pub(crate) foreign_key: Token,
    /// The signing secret of [`TENANT`]'s users.
    pub(crate) user_secret: String,
    /// The signing secrets of the administrators of [`TENANT`] and [`FOREIGN_TENANT`].
    pub(crate) admin_secret: String,
    pub(crate) foreign_admin_secret: String,
}

impl Fixture {
    /// A system whose agents accept any session ids and user names.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// The same, with changed settings of its gateway.
    pub(crate) async fn with(change: impl FnOnce(&mut GatewayConfig)) -> Self {
        let mut stack = Setup::tasks().prepare().await;
        change(&mut stack.gateway.settings.gateway);
        Box::pin(Self::of(stack)).await
    }

    /// A system whose gateway has a replica of Postgres, and the replica. Drop the replica first.
    pub(crate) async fn with_replica() -> (PostgresServer, Self) {
        let mut stack = Setup::tasks().with_own_postgres().prepare().await;
        let standby = devstack::test::standby(stack.servers.postgres_mut()).await;
        let read_model = &mut stack.gateway.settings.gateway.read_model;
        read_model.replica_urls = vec![standby.database_url("hansard")];
        // No test of it waits for the bound.
        read_model.replica_lag_ms_max = REPLICA_LAG_MS_MAX;
        (standby, Box::pin(Self::of(stack)).await)
    }

    /// A system on these servers.
    async fn of(mut stack: Stack) -> Self {
        stack.start().await;
        let operator = stack.operator().await;
        let agent = operator.agent(TENANT, AGENT).await;
        operator.agent(TENANT, OTHER_AGENT).await;
        operator.agent(FOREIGN_TENANT, FOREIGN_AGENT).await;
        let fixture = Self {
            key: operator.api_key(AGENT).await,
            other_key: operator.api_key(OTHER_AGENT).await,
            foreign_key: operator.api_key(FOREIGN_AGENT).await,
            user_secret: create_signing_key(&operator, TENANT, SigningKeyUse::User).await,
            admin_secret: create_signing_key(&operator, TENANT, SigningKeyUse::Admin).await,
            foreign_admin_secret: create_signing_key(&operator, FOREIGN_TENANT, SigningKeyUse::Admin).await,
            agent,
            operator,
            stack,
        };
        for agent in [OTHER_AGENT, FOREIGN_AGENT, AGENT] {
            fixture.identity_mode(agent, IdentityMode::Open).await;
        }
        fixture.wait_for_gateway().await;
        fixture
    }

    /// Sets the identity mode of an agent.
    pub(crate) async fn identity_mode(&self, agent: &str, mode: IdentityMode) {
        let settings = proto::AgentSettings { identity_mode: mode.into(), ..echo() };
        self.operator.settings(agent, settings).await;
    }

    /// A frontend of [`AGENT`].
    pub(crate) fn frontend(&self) -> HttpClient {
        self.stack.http_client().with("x-api-key", &self.key.secret)
    }

    /// A session of [`AGENT`]'s frontend, issued by the gateway.
    pub(crate) async fn issued_session(&self) -> HttpClient {
        self.frontend().in_session().await
    }

    /// A session of [`AGENT`]'s frontend with this id.
    pub(crate) fn session(&self, id: &str) -> HttpClient {
        self.frontend().with("x-session-id", id)
    }

    /// A user of [`AGENT`]'s frontend, with a token.
    pub(crate) fn user(&self, id: &str) -> HttpClient {
        let token = jwt::user(&self.user_secret, id);
        self.frontend().with("x-user-token", &token)
    }

    /// An administrator of [`TENANT`].
    pub(crate) fn admin(&self) -> HttpClient {
        bearer(&self.stack, &jwt::admin(&self.admin_secret, TENANT))
    }

    /// An administrator of [`FOREIGN_TENANT`].
    pub(crate) fn foreign_admin(&self) -> HttpClient {
        let token = jwt::admin(&self.foreign_admin_secret, FOREIGN_TENANT);
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

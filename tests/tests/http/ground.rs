//! A system with two tenants, whose frontends and administrators have what they need.

use gateway::GatewayConfig;
use serde_json::Value;
use tests::agent::Agent;
use tests::door::Door;
use tests::eventually::eventually;
use tests::jwt;
use tests::operator::{Operator, Token, echo};
use tests::stack::{Setup, Stack};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{IdentityMode, SigningKeyUse};

/// The tenant that tests are about, its agents, and a tenant that it must not meet.
pub(crate) const TENANT: &str = "acme";
pub(crate) const AGENT: &str = "support";
pub(crate) const OTHER_AGENT: &str = "sales";
pub(crate) const FOREIGN_TENANT: &str = "globex";
pub(crate) const FOREIGN_AGENT: &str = "globex-support";

/// A system that serves frontends.
pub(crate) struct Ground {
    pub(crate) stack: Stack,
    pub(crate) operator: Operator,
    /// Acts for [`AGENT`] by gRPC.
    pub(crate) agent: Agent,
    /// Key of [`AGENT`], of [`OTHER_AGENT`], and of [`FOREIGN_AGENT`].
    pub(crate) key: Token,
    pub(crate) other_key: Token,
    pub(crate) foreign_key: Token,
    /// Signs the tokens of [`TENANT`]'s users.
    pub(crate) user_secret: String,
    /// Signs the tokens of [`TENANT`]'s administrators, and of [`FOREIGN_TENANT`]'s.
    pub(crate) admin_secret: String,
    pub(crate) foreign_admin_secret: String,
}

impl Ground {
    /// A system whose agents take sessions and users' names as callers choose them.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// The same, with changes to the settings of its gateway.
    pub(crate) async fn with(change: impl FnOnce(&mut GatewayConfig)) -> Self {
        let mut stack = Setup::tasks().prepare().await;
        change(&mut stack.gateway.settings.gateway);
        stack.start().await;
        let operator = stack.operator().await;
        let agent = operator.agent(TENANT, AGENT).await;
        operator.agent(TENANT, OTHER_AGENT).await;
        operator.agent(FOREIGN_TENANT, FOREIGN_AGENT).await;
        let ground = Self {
            key: operator.api_key(AGENT).await,
            other_key: operator.api_key(OTHER_AGENT).await,
            foreign_key: operator.api_key(FOREIGN_AGENT).await,
            user_secret: signing(&operator, TENANT, SigningKeyUse::User).await,
            admin_secret: signing(&operator, TENANT, SigningKeyUse::Admin).await,
            foreign_admin_secret: signing(&operator, FOREIGN_TENANT, SigningKeyUse::Admin).await,
            agent,
            operator,
            stack,
        };
        for agent in [OTHER_AGENT, FOREIGN_AGENT, AGENT] {
            ground.identity_mode(agent, IdentityMode::Open).await;
        }
        ground.settled().await;
        ground
    }

    /// Sets how an agent's callers are identified.
    pub(crate) async fn identity_mode(&self, agent: &str, mode: IdentityMode) {
        let settings = proto::AgentSettings {
            identity_mode: mode.into(),
            ..echo()
        };
        self.operator.settings(agent, settings).await;
    }

    /// A frontend of [`AGENT`].
    pub(crate) fn frontend(&self) -> Door {
        self.stack.door().with("x-api-key", &self.key.secret)
    }

    /// A session of [`AGENT`]'s frontend that the gateway issues.
    pub(crate) async fn issued(&self) -> Door {
        self.frontend().in_session().await
    }

    /// A session of [`AGENT`]'s frontend, as it names itself.
    pub(crate) fn session(&self, id: &str) -> Door {
        self.frontend().with("x-session-id", id)
    }

    /// A user of [`AGENT`]'s frontend, by token.
    pub(crate) fn user(&self, id: &str) -> Door {
        let token = jwt::user(&self.user_secret, id);
        self.frontend().with("x-user-token", &token)
    }

    /// An administrator of [`TENANT`].
    pub(crate) fn admin(&self) -> Door {
        bearer(&self.stack, &jwt::admin(&self.admin_secret, TENANT))
    }

    /// An administrator of [`FOREIGN_TENANT`].
    pub(crate) fn foreign_admin(&self) -> Door {
        let token = jwt::admin(&self.foreign_admin_secret, FOREIGN_TENANT);
        bearer(&self.stack, &token)
    }

    /// The gateway learns of the registry's changes in their order: it knows all once it knows the last.
    async fn settled(&self) {
        let user = self.frontend().with("x-user-id", "settled");
        eventually("a gateway that knows the agent's settings", || async {
            (user.get("/api/chats/none").await.status == 404).then_some(())
        })
        .await;
    }
}

async fn signing(operator: &Operator, tenant: &str, key_use: SigningKeyUse) -> String {
    let id = format!("{key_use:?}");
    operator.signing_key(tenant, &id, key_use).await
}

/// A caller with a bearer token.
pub(crate) fn bearer(stack: &Stack, token: &str) -> Door {
    let bearer = format!("Bearer {token}");
    stack.door().with("authorization", &bearer)
}

/// Begins a conversation; its id.
pub(crate) async fn begin(door: &Door, body: &Value) -> String {
    let begun = door.post("/api/chats", body).await.ok(201);
    text(&begun, "id").to_owned()
}

/// A text among the members of an object.
pub(crate) fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    let text = object.get(member).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{member} in {object}"))
}

/// The items of a list among the members of an object.
pub(crate) fn list<'a>(object: &'a Value, member: &str) -> &'a [Value] {
    let list = object.get(member).and_then(Value::as_array);
    list.unwrap_or_else(|| panic!("{member} in {object}"))
}

/// The ids of the conversations of a page.
pub(crate) fn ids(page: &Value) -> Vec<String> {
    let page = list(page, "conversations").iter();
    page.map(|one| text(one, "id").to_owned()).collect()
}

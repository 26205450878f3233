//! The operator of a stack: tenants, agents, tokens.

use std::collections::BTreeSet;

use domain::{Label, Timestamp};
use event_log::{Record, RecordConfig};
use registry::{NewServiceToken, Registry, Scope, Scopes};
use runtime::clock::Clock;
use tonic::Code;
use wire::proto::operate::v1 as proto;

use crate::agent::Agent;
use crate::client::{Caller, RegistryClient};

/// A caller that may change the registry.
#[derive(Debug, Clone)]
pub struct Operator {
    caller: Caller,
}

/// Creates the first token, with every scope, directly in the registry; no service could create it.
pub(crate) async fn bootstrap(record: RecordConfig) -> String {
    let record = Record::create(record).await.expect("a record");
    let registry = Registry::open(&record).await.expect("a registry");
    let token = NewServiceToken {
        display_name: Label::parse("operator").expect("a label"),
        scopes: Scopes::from_iter(Scope::ALL),
        tenant: None,
        agents: BTreeSet::new(),
        expires_at: None,
    };
    let now = Timestamp(Clock::System.now_nanos());
    let (_, secret) = registry.create_service_token(token, now).await.expect("a token");
    secret.reveal().to_owned()
}

impl Operator {
    /// An operator with this caller's token.
    #[must_use]
    pub fn new(caller: Caller) -> Self {
        Self { caller }
    }

    /// The caller.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The registry service.
    #[must_use]
    pub fn registry(&self) -> RegistryClient {
        self.caller.registry()
    }

    /// Creates a tenant, if it is missing.
    ///
    /// # Panics
    /// When the registry rejects it.
    pub async fn tenant(&self, tenant: &str) {
        let request = proto::CreateTenantRequest { tenant_id: tenant.to_owned(), ..Default::default() };
        match self.registry().create_tenant(request).await {
            Ok(_) => {}
            Err(status) => assert_eq!(status.code(), Code::AlreadyExists, "{status:?}"),
        }
    }

    /// Creates an agent of a tenant with the built-in model. The tenant is created if it is missing. The agent's token
    /// has the scopes append, read and erase, bound to the tenant.
    ///
    /// # Panics
    /// When the registry rejects it.
    pub async fn agent(&self, tenant: &str, agent: &str) -> Agent {
        self.tenant(tenant).await;
        let request = proto::CreateAgentRequest {
            tenant_id: tenant.to_owned(),
            agent_id: agent.to_owned(),
            ..Default::default()
        };
        self.registry().create_agent(request).await.expect("a new agent");
        self.settings(agent, echo()).await;
        let token = self.token(&[proto::Scope::Append, proto::Scope::Read, proto::Scope::Erase], tenant).await;
        Agent::new(self.caller.with_token(&token.secret), agent)
    }

    /// Creates a token with these scopes; bound to a tenant unless that is empty.
    ///
    /// # Panics
    /// When the registry rejects it.
    pub async fn token(&self, scopes: &[proto::Scope], tenant: &str) -> Token {
        self.create_token(scopes, tenant, &[]).await
    }

    /// Creates a token with these scopes that is bound to these agents.
    ///
    /// # Panics
    /// When the registry rejects it.
    pub async fn secret_key(&self, scopes: &[proto::Scope], agents: &[&str]) -> Token {
        self.create_token(scopes, "", agents).await
    }

    async fn create_token(&self, scopes: &[proto::Scope], tenant: &str, agents: &[&str]) -> Token {
        let request = proto::CreateServiceTokenRequest {
            display_name: "a test".to_owned(),
            scopes: scopes.iter().map(|scope| (*scope).into()).collect(),
            tenant_id: tenant.to_owned(),
            agent_ids: agents.iter().map(|agent| (*agent).to_owned()).collect(),
            expires_at: None,
        };
        let made = self.registry().create_service_token(request).await.expect("a token").into_inner();
        Token { id: made.service_token.expect("a token").service_token_id, secret: made.secret }
    }

    /// Revokes a token.
    ///
    /// # Panics
    /// When the registry rejects it.
    pub async fn revoke(&self, token: &Token) {
        let request = proto::RevokeServiceTokenRequest { service_token_id: token.id.clone() };
        self.registry().revoke_service_token(request).await.expect("a revoked token");
    }
}

impl Operator {
    /// Creates an API key of an agent for pages of any origin.
    ///
    /// # Panics
    /// When the registry rejects it.
    pub async fn api_key(&self, agent: &str) -> Token {
        let request = proto::CreateApiKeyRequest {
            agent_id: agent.to_owned(),
            allowed_origins: vec!["*".to_owned()],
            ..proto::CreateApiKeyRequest::default()
        };
        let made = self.registry().create_api_key(request).await.expect("an API key").into_inner();
        Token { id: made.api_key.expect("an API key").api_key_id, secret: made.secret }
    }

    /// Revokes an API key.
    ///
    /// # Panics
    /// When the registry rejects it.
    pub async fn revoke_api_key(&self, key: &Token) {
        let request = proto::RevokeApiKeyRequest { api_key_id: key.id.clone() };
        self.registry().revoke_api_key(request).await.expect("a revoked key");
    }

    /// Sets the settings of an agent.
    ///
    /// # Panics
    /// When the registry rejects them.
    pub async fn settings(&self, agent: &str, settings: proto::AgentSettings) {
        let request =
            proto::SetAgentSettingsRequest { agent_id: agent.to_owned(), settings: Some(settings), update_mask: None };
        self.registry().set_agent_settings(request).await.expect("an agent's settings");
    }

    /// Creates a signing key of a tenant; returns its secret.
    ///
    /// # Panics
    /// When the registry rejects it.
    pub async fn signing_key(&self, tenant: &str, id: &str, key_use: proto::SigningKeyUse) -> String {
        let request = proto::AddSigningKeyRequest {
            tenant_id: tenant.to_owned(),
            signing_key_id: id.to_owned(),
            r#use: key_use.into(),
            ..proto::AddSigningKeyRequest::default()
        };
        let made = self.registry().add_signing_key(request).await;
        made.expect("a signing key").into_inner().secret
    }
}

/// The settings of an agent with the built-in model.
#[must_use]
pub fn echo() -> proto::AgentSettings {
    proto::AgentSettings {
        model: Some(proto::ModelSettings { server: "echo".to_owned(), ..proto::ModelSettings::default() }),
        ..proto::AgentSettings::default()
    }
}

/// A service token, as the registry returns it once at the creation.
#[derive(Debug, Clone)]
pub struct Token {
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: String,
}

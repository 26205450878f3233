//! A system in the deployed configuration: the settings of `deploy/*.toml`, a NATS user for each role with the
//! permissions of `deploy/nats/accounts.conf`, a Postgres login for each role of `deploy/postgres/roles.sql`, a master
//! key, and TLS on every hop. Roles are real processes.
//!
//! An attack may change settings between [`Fixture::prepare`] and [`Fixture::start`]; it must document why.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use event_log::seal::{MasterKey, MasterKeys};
use event_log::{Record, RecordConfig};
use gateway::GatewayConfig;
use projector::ProjectorConfig;
use runtime::config::{Sources, Validate, load};
use runtime::tls::TlsConfig;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tests::authority::{Authority, Identity, client_parameters};
use tests::client::Caller;
use tests::http_client::HttpClient;
use tests::operator::Operator;
use tests::program;
use tests::servers::Servers;
use tests::settings::Settings;
use tests::stack::{Setup, Stack};
use tests::{deploy_files, logins, nats_accounts, terminator};
use writer::WriterConfig;

/// The variable of the master key.
const MASTER_KEY: &str = "HANSARD_MASTER_KEY";
/// The variable of the key of the registry's secrets.
const REGISTRY_KEY: &str = "HANSARD_REGISTRY_KEY";

/// A system and the CA of its certificates.
pub(crate) struct Fixture {
    /// Servers and roles.
    pub(crate) stack: Stack,
    authority: Authority,
    /// The certificate of internal callers.
    own: Identity,
    /// The key that encrypts secrets at rest.
    pub(crate) master_key: MasterKey,
}

impl Fixture {
    /// Starts the servers, not the roles.
    pub(crate) async fn prepare() -> Self {
        let authority = Authority::new("ours");
        let own = authority.sign("caller");
        let nats = nats_accounts::nats_lines() + &authority.nats_lines();
        let setup = Setup::processes(program!()).with_own_postgres();
        let mut stack = setup.with_nats_lines(&nats).prepare().await;
        let plain = RecordConfig::new(nats_url(&stack, &authority, &own));
        nats_accounts::guard(&mut stack.writer, &plain);
        logins::prepare(&mut stack, &program!()).await;
        logins::log_in(&mut stack.writer, &database_url(&mut stack.servers, &authority).await);
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings::clone(&stack.writer.settings);
        deploy(&mut settings, &folder);
        secure(&mut settings, &authority, &own);
        let master_key = MasterKey::generate();
        seal(&mut settings, &master_key);
        for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
            *node.settings = settings.clone();
        }
        Self { stack, authority, own, master_key }
    }

    /// Starts the servers and the roles.
    pub(crate) async fn start() -> Self {
        let mut fixture = Self::prepare().await;
        Box::pin(fixture.stack.start()).await;
        fixture
    }

    /// A client of the HTTP listener over TLS, without headers.
    pub(crate) fn stranger(&self) -> HttpClient {
        self.stranger_from(Ipv4Addr::LOCALHOST)
    }

    /// The same client with another address of the loopback network.
    pub(crate) fn stranger_from(&self, address: Ipv4Addr) -> HttpClient {
        let addr = self.stack.gateway.settings.gateway.http.server.addr;
        HttpClient::over_tls(addr, &self.authority.ca(), address)
    }

    /// The nats-server's URL, without a user.
    pub(crate) fn nats_url(&self) -> String {
        nats_url(&self.stack, &self.authority, &self.own)
    }

    /// Sets the master key of roles that start from now on.
    pub(crate) fn set_master_key(&mut self, key: MasterKey) {
        let stack = &mut self.stack;
        for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
            seal(&mut node.settings, &key);
        }
        self.master_key = key;
    }

    /// Gives the writer a key for the registry's secrets, and the gateway this key in place of the master key; for roles that start from now
    /// on.
    pub(crate) fn set_registry_key(&mut self, key: &MasterKey) {
        let stack = &mut self.stack;
        stack.gateway.settings.variables.retain(|(name, _)| name != MASTER_KEY);
        for node in [&mut stack.writer, &mut stack.gateway] {
            node.settings.variables.push((REGISTRY_KEY.to_owned(), key.reveal()));
        }
        stack.writer.settings.writer.record.master_keys.registry = Some(key.clone());
    }

    /// The record for a user of NATS with these master keys.
    pub(crate) async fn record(&self, user: &str, keys: &MasterKeys) -> Record {
        let config = RecordConfig { master_keys: keys.clone(), ..nats_accounts::record_config(&self.nats_url(), user) };
        Record::open(config).await.expect("a record")
    }

    /// The variables of an operator's commands: servers and the master key.
    pub(crate) fn operator_variables(&self) -> [(String, String); 3] {
        let record = nats_accounts::record_config(&self.nats_url(), "operator");
        let database = self.stack.servers.database_url();
        [
            (MASTER_KEY.to_owned(), self.master_key.reveal()),
            ("HANSARD_RECORD__NATS_URL".to_owned(), record.nats_url),
            ("HANSARD_READ_MODEL__DATABASE_URL".to_owned(), database.to_owned()),
        ]
    }

    /// The operator; no attacker has this role.
    pub(crate) async fn operator(&self) -> Operator {
        let token = self.stack.token().await;
        let files = client_parameters(&self.authority.ca(), &self.own);
        let settings = &self.stack.writer.settings;
        let url = |addr| format!("https://{addr}{files}");
        let (writer, gateway) = (url(settings.writer.grpc.addr), url(settings.gateway.grpc.addr));
        Operator::new(Caller::new(&writer, &gateway, token))
    }
}

/// The nats-server's URL with TLS and a client certificate.
fn nats_url(stack: &Stack, authority: &Authority, own: &Identity) -> String {
    let url = stack.servers.nats().url().replace("nats://", "tls://");
    url + &client_parameters(&authority.ca(), own)
}

/// The database's URL with TLS.
async fn database_url(servers: &mut Servers, authority: &Authority) -> String {
    let port = servers.postgres_mut().port();
    let postgres = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let addr = terminator::before(postgres, &authority.sign("postgres")).await;
    let url = servers.database_url();
    let name = url.split(['/', '?']).nth(3).expect("a database");
    let listed = authority.ca();
    let ca = listed.display();
    format!("postgres://hansard@{addr}/{name}?sslmode=verify-full&sslrootcert={ca}")
}

/// The settings of `deploy/*.toml`, with the addresses of this stack.
fn deploy(settings: &mut Settings, folder: &TempDir) {
    let here = settings.clone();
    settings.writer = WriterConfig {
        admin_addr: here.writer.admin_addr,
        record: here.writer.record,
        read_model: here.writer.read_model,
        ..load_deployed("writer", folder)
    };
    settings.writer.grpc.addr = here.writer.grpc.addr;
    settings.projector = ProjectorConfig {
        admin_addr: here.projector.admin_addr,
        record: here.projector.record,
        read_model: here.projector.read_model,
        ..load_deployed("projector", folder)
    };
    settings.gateway = GatewayConfig {
        admin_addr: here.gateway.admin_addr,
        record: here.gateway.record,
        read_model: here.gateway.read_model,
        writer_token: here.gateway.writer_token,
        ..load_deployed("gateway", folder)
    };
    settings.gateway.grpc.addr = here.gateway.grpc.addr;
    settings.gateway.http.server.addr = here.gateway.http.server.addr;
}

/// A role's settings from its file, without the section that every process has.
fn load_deployed<T>(role: &str, folder: &TempDir) -> T
where
    T: Serialize + DeserializeOwned + Default + Validate,
{
    let text = deploy_files::text(&format!("{role}.toml"));
    let telemetry = "[telemetry]\nlog_format = \"json\"\n";
    assert!(text.contains(telemetry), "{role}");
    let file: PathBuf = folder.path().join(role);
    fs::write(&file, text.replace(telemetry, "")).expect("a file");
    load(&Sources::new().file(Some(file))).expect("the settings of a role")
}

/// Sets the master key of the roles and of the first token of the test.
fn seal(settings: &mut Settings, key: &MasterKey) {
    settings.variables.retain(|(name, _)| name != MASTER_KEY);
    let variable = (MASTER_KEY.to_owned(), key.reveal());
    settings.variables.push(variable);
    settings.writer.record.master_keys = current(key);
}

/// Only this master key.
pub(crate) fn current(key: &MasterKey) -> MasterKeys {
    MasterKeys { current: Some(key.clone()), ..MasterKeys::default() }
}

/// Enables TLS on every listener of callers; gRPC requests certificates, HTTP does not.
fn secure(settings: &mut Settings, authority: &Authority, own: &Identity) {
    let listener = |name: &str| {
        let Identity { cert, key } = authority.sign(name);
        TlsConfig { cert: Some(cert), key: Some(key), client_ca: None }
    };
    let asking = |name: &str| TlsConfig { client_ca: Some(authority.ca()), ..listener(name) };
    settings.writer.grpc.tls = asking("writer");
    settings.gateway.grpc.tls = asking("gateway");
    settings.gateway.http.server.tls = listener("http");
    let writer = settings.writer.grpc.addr;
    let files = client_parameters(&authority.ca(), own);
    settings.gateway.writer_url = format!("https://{writer}{files}");
}

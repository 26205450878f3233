//! gRPC clients of a stack that carry a bearer token.

use runtime::tls;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tonic_health::pb::health_client::HealthClient;
use wire::proto::document::v1::document_service_client::DocumentServiceClient;
use wire::proto::history::v1::history_service_client::HistoryServiceClient;
use wire::proto::operate::v1::audit_service_client::AuditServiceClient;
use wire::proto::operate::v1::registry_service_client::RegistryServiceClient;
use wire::proto::read::v1::read_service_client::ReadServiceClient;
use wire::proto::run::v1::run_service_client::RunServiceClient;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

/// The largest answer that a test takes, in bytes.
const ANSWER_BYTES_MAX: usize = 128 * 1024 * 1024;

/// A channel on which every call carries the token.
pub type Authenticated = InterceptedService<Channel, Bearer>;
/// A client of the write service.
pub type WriteClient = WriteServiceClient<Authenticated>;
/// A client of the run service.
pub type RunClient = RunServiceClient<Authenticated>;
/// A client of the read service.
pub type ReadClient = ReadServiceClient<Authenticated>;
/// A client of the history service.
pub type HistoryClient = HistoryServiceClient<Authenticated>;
/// A client of the document service.
pub type DocumentClient = DocumentServiceClient<Authenticated>;
/// A client of the registry service.
pub type RegistryClient = RegistryServiceClient<Authenticated>;

/// Adds headers to every call.
#[derive(Debug, Clone, Default)]
pub struct Bearer {
    headers: Vec<(&'static str, MetadataValue<Ascii>)>,
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        for (name, value) in &self.headers {
            request.metadata_mut().insert(*name, value.clone());
        }
        Ok(request)
    }
}

/// A caller of a stack. Connections open with the first call, and open again after a loss.
#[derive(Debug, Clone)]
pub struct Caller {
    writer: Channel,
    gateway: Channel,
    bearer: Bearer,
}

impl Caller {
    /// A caller of the writer and the gateway at these URLs. Needs a tokio runtime.
    #[must_use]
    pub fn new(writer_url: &str, gateway_url: &str, token: &str) -> Self {
        let nobody = Self { writer: channel(writer_url), gateway: channel(gateway_url), bearer: Bearer::default() };
        nobody.with_token(token)
    }

    /// The same connections, under another token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        self.with_header("authorization", &format!("Bearer {token}"))
    }

    /// The same connections, with one more header.
    ///
    /// # Panics
    /// When the value is not valid in a header.
    #[must_use]
    pub fn with_header(&self, name: &'static str, value: &str) -> Self {
        let mut caller = self.clone();
        caller.bearer.headers.retain(|(known, _)| *known != name);
        caller.bearer.headers.push((name, value.parse().expect("a header's value")));
        caller
    }

    /// The same caller with another writer.
    #[must_use]
    pub fn with_writer(&self, writer_url: &str) -> Self {
        Self { writer: channel(writer_url), ..self.clone() }
    }

    /// The same caller with another gateway.
    #[must_use]
    pub fn with_gateway(&self, gateway_url: &str) -> Self {
        Self { gateway: channel(gateway_url), ..self.clone() }
    }

    /// The same connections, without a token.
    #[must_use]
    pub fn without_token(&self) -> Self {
        Self { bearer: Bearer::default(), ..self.clone() }
    }

    /// A client of the write service.
    #[must_use]
    pub fn write(&self) -> WriteClient {
        WriteServiceClient::new(self.authenticated(&self.writer)).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// The write service over a channel of the test.
    #[must_use]
    pub fn write_over(&self, writer: &Channel) -> WriteClient {
        WriteServiceClient::new(self.authenticated(writer))
    }

    /// A client of the run service.
    #[must_use]
    pub fn runs(&self) -> RunClient {
        RunServiceClient::new(self.authenticated(&self.writer))
    }

    /// A client of the registry service.
    #[must_use]
    pub fn registry(&self) -> RegistryClient {
        RegistryServiceClient::new(self.authenticated(&self.writer))
    }

    /// A client of the read service.
    #[must_use]
    pub fn read(&self) -> ReadClient {
        ReadServiceClient::new(self.authenticated(&self.gateway)).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// A client of the audit service.
    #[must_use]
    pub fn audit(&self) -> AuditServiceClient<Authenticated> {
        AuditServiceClient::new(self.authenticated(&self.gateway))
    }

    /// A client of the history service.
    #[must_use]
    pub fn history(&self) -> HistoryClient {
        HistoryServiceClient::new(self.authenticated(&self.gateway)).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// A client of the document service.
    #[must_use]
    pub fn documents(&self) -> DocumentClient {
        DocumentServiceClient::new(self.authenticated(&self.gateway)).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    fn authenticated(&self, channel: &Channel) -> Authenticated {
        InterceptedService::new(channel.clone(), self.bearer.clone())
    }
}

/// The health service at a URL.
#[must_use]
pub fn health(url: &str) -> HealthClient<Channel> {
    HealthClient::new(channel(url))
}

/// A connection to a URL that opens with the first call.
///
/// # Panics
/// When the URL is invalid.
#[must_use]
pub fn channel(url: &str) -> Channel {
    tls::endpoint(url).expect("a URL").tcp_nodelay(true).connect_lazy()
}

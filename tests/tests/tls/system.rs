//! A system with TLS listeners: gRPC listeners request client certificates, the HTTP listener does not.

use runtime::tls::TlsConfig;
use tests::client::Caller;
use tests::operator::Operator;
use tests::stack::{Setup, Stack};

use tests::authority::{Authority, Identity, client_parameters};

pub(crate) struct System {
    pub(crate) authority: Authority,
    /// The certificate of its callers.
    pub(crate) own: Identity,
    pub(crate) stack: Stack,
}

impl System {
    pub(crate) async fn start() -> Self {
        let authority = Authority::new("ours");
        let listener_tls = |name: &str| {
            let Identity { cert, key } = authority.sign(name);
            TlsConfig { cert: Some(cert), key: Some(key), client_ca: None }
        };
        let asking = |name: &str| TlsConfig { client_ca: Some(authority.ca()), ..listener_tls(name) };
        let own = authority.sign("caller");
        let mut stack = Setup::tasks().prepare().await;
        let files = client_parameters(&authority.ca(), &own);
        let writer = stack.writer.settings.writer.grpc.addr;
        stack.writer.settings.writer.grpc.tls = asking("writer");
        let gateway = &mut stack.gateway.settings.gateway;
        gateway.grpc.tls = asking("gateway");
        gateway.http.server.tls = listener_tls("http");
        gateway.writer_url = format!("https://{writer}{files}");
        stack.start().await;
        Self { authority, own, stack }
    }

    /// The parameters of a caller's URLs.
    pub(crate) fn files(&self) -> String {
        client_parameters(&self.authority.ca(), &self.own)
    }

    pub(crate) fn writer_url(&self, query: &str) -> String {
        let addr = self.stack.writer.settings.writer.grpc.addr;
        format!("https://{addr}{query}")
    }

    pub(crate) fn gateway_url(&self, query: &str) -> String {
        let addr = self.stack.gateway.settings.gateway.grpc.addr;
        format!("https://{addr}{query}")
    }

    pub(crate) async fn operator(&self) -> Operator {
        let files = self.files();
        let (writer, gateway) = (self.writer_url(&files), self.gateway_url(&files));
        Operator::new(Caller::new(&writer, &gateway, self.stack.token().await))
    }
}

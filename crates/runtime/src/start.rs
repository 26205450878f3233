//! Errors of the start of a role.

use std::error::Error;

use crate::admin::AdminError;
use crate::grpc::GrpcError;
use crate::http::HttpError;
use crate::metrics::MetricsError;
use crate::tls::EndpointError;

/// Why a role cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A dependency, such as the record or the read model, is missing or misconfigured.
    #[error(transparent)]
    Dependency(Box<dyn Error + Send + Sync>),
    /// `writer_url` cannot be used.
    #[error("`writer_url` {0}")]
    WriterUrl(#[from] EndpointError),
    /// The metrics recorder cannot be installed.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The admin port cannot be bound.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// The gRPC port cannot be bound.
    #[error(transparent)]
    Grpc(#[from] GrpcError),
    /// The HTTP port cannot be bound.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The `OpenAPI` document cannot be written.
    #[error("the OpenAPI document cannot be written")]
    OpenApi(#[source] serde_json::Error),
}

impl StartError {
    /// A dependency is missing or misconfigured.
    #[must_use]
    pub fn dependency(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Dependency(Box::new(error))
    }
}

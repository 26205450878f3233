//! gRPC clients: bearer token, deadline and trace headers of every call.

use std::fmt;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// A channel that adds a bearer token to every call.
pub type Authenticated = InterceptedService<Channel, Bearer>;

/// Adds a bearer token, a deadline and the trace headers of the current span to every call.
#[derive(Clone)]
#[must_use]
pub struct Bearer {
    authorization: Result<MetadataValue<Ascii>, Box<Status>>,
    timeout: Option<Duration>,
}

impl Bearer {
    /// Calls with `token`. Without a token, or with one that is not a valid header value, every call fails with
    /// `UNAUTHENTICATED`.
    pub fn new(token: Option<&str>) -> Self {
        let value = token.and_then(|token| format!("Bearer {token}").parse().ok());
        let authorization = value.map(|mut value: MetadataValue<Ascii>| {
            value.set_sensitive(true);
            value
        });
        let missing = || Box::new(Status::unauthenticated("a bearer token is required"));
        Self { authorization: authorization.ok_or_else(missing), timeout: None }
    }

    /// Sets the status of calls without a valid token.
    pub fn invalid_token_status(self, status: impl FnOnce() -> Status) -> Self {
        Self { authorization: self.authorization.map_err(|_| Box::new(status())), ..self }
    }

    /// Sets the timeout of each call.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Whether there is a token, and it is a valid header value.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.authorization.is_ok()
    }

    /// A channel, or a service around one, with this interceptor.
    #[must_use]
    pub fn intercept<S>(self, channel: S) -> InterceptedService<S, Self> {
        InterceptedService::new(channel, self)
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let authorization = self.authorization.clone().map_err(|status| *status)?;
        if let Some(timeout) = self.timeout {
            request.set_timeout(timeout);
        }
        let metadata = request.metadata_mut();
        metadata.insert("authorization", authorization);
        crate::telemetry::inject(|name, value| {
            let header = MetadataKey::<Ascii>::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (header, value.parse()) {
                metadata.insert(name, value);
            }
        });
        Ok(request)
    }
}

// The token must not be printed.
impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bearer").finish_non_exhaustive()
    }
}

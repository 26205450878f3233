//! The HTTP client for URLs that tenants set: webhooks and JWK sets.
//!
//! For each connection the host is resolved once, the egress policy checks every address, and the client connects to an
//! allowed one. The name is not resolved again in between. The client follows no redirect and uses no proxy.

use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use egress::{Policy, Refusal, Scheme};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect;
use reqwest::{Client, Method, RequestBuilder};

use crate::error::ModelsError;
use crate::tls::{self, Trust};

/// Calls URLs that a [`Policy`] allows. Clones share connections.
#[derive(Debug, Clone)]
pub struct EgressClient {
    policy: Arc<Policy>,
    https: Client,
    http: Client,
}

impl EgressClient {
    /// Creates a client that trusts the certificates of the system.
    ///
    /// # Errors
    /// [`ModelsError::Tls`].
    pub fn new(policy: Policy, connect_timeout: Duration) -> Result<Self, ModelsError> {
        let policy = Arc::new(policy);
        let client = |scheme, trust| {
            let resolver = Resolver { policy: Arc::clone(&policy), scheme };
            Client::builder()
                .tls_backend_preconfigured(tls::config(trust)?)
                .connect_timeout(connect_timeout)
                .dns_resolver(resolver)
                .redirect(redirect::Policy::none())
                .no_proxy()
                .build()
                .map_err(|_| ModelsError::Tls)
        };
        Ok(Self { https: client(Scheme::Https, Trust::System)?, http: client(Scheme::Http, Trust::None)?, policy })
    }

    /// Creates a request to a URL.
    ///
    /// # Errors
    /// The policy rejects the URL. It checks the addresses of the host when the request is sent: see [`egress_refusal`].
    pub fn request(&self, method: Method, url: &str) -> Result<RequestBuilder, Refusal> {
        let (url, scheme) = self.policy.check_url(url)?;
        let client = match scheme {
            Scheme::Https => &self.https,
            Scheme::Http => &self.http,
        };
        Ok(client.request(method, url))
    }
}

/// The policy's refusal of the addresses of a host; `None` if sending failed for another reason.
#[must_use]
pub fn egress_refusal(error: &reqwest::Error) -> Option<Refusal> {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let mut refusals = causes.filter_map(|cause| cause.downcast_ref::<Refusal>());
    refusals.next().copied()
}

/// Resolves names to the addresses that the policy allows.
#[derive(Debug)]
struct Resolver {
    policy: Arc<Policy>,
    scheme: Scheme,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, scheme) = (Arc::clone(&self.policy), self.scheme);
        Box::pin(async move {
            // The client replaces port 0 by the port of the URL.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed = allowed(&policy, scheme, name.as_str(), found)?;
            Ok::<Addrs, _>(Box::new(allowed.into_iter()))
        })
    }
}

/// The addresses that the policy allows.
///
/// # Errors
/// The last refusal if the policy allows none.
fn allowed(
    policy: &Policy,
    scheme: Scheme,
    host: &str,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Vec<SocketAddr>, Refusal> {
    let mut allowed = Vec::new();
    let mut refused = None;
    for address in found {
        match policy.check_address(scheme, host, address.ip()) {
            Ok(()) => allowed.push(address),
            Err(refusal) => refused = Some(refusal),
        }
    }
    match refused {
        Some(refusal) if allowed.is_empty() => Err(refusal),
        _ => Ok(allowed),
    }
}

#[cfg(test)]
mod tests {
    use egress::EgressConfig;

    use super::*;

    #[test]
    fn only_allowed_addresses_remain() {
        let check = |found: &[&str], expected: Result<usize, Refusal>| {
            let found = found.iter().map(|address| address.parse().unwrap());
            let policy = Policy::default();
            let allowed = allowed(&policy, Scheme::Https, "a.example", found);
            assert_eq!(allowed.map(|allowed| allowed.len()), expected);
        };
        check(&["8.8.8.8:0", "[2606:4700::1]:0"], Ok(2));
        check(&["10.0.0.1:0", "8.8.8.8:0"], Ok(1));
        check(&["10.0.0.1:0", "[::1]:0"], Err(Refusal::SpecialAddress));
        check(&[], Ok(0));
    }

    #[tokio::test]
    async fn addresses_of_a_name_are_checked() {
        let resolve = async |config: &EgressConfig| {
            let resolver = Resolver { policy: Arc::new(Policy::new(config)), scheme: Scheme::Https };
            resolver.resolve("localhost".parse().unwrap()).await
        };
        let refused = resolve(&EgressConfig::default()).await.err().and_then(|error| error.downcast::<Refusal>().ok());
        assert_eq!(refused.as_deref(), Some(&Refusal::SpecialAddress));
        let found = resolve(&EgressConfig::loopback()).await;
        assert!(found.is_ok_and(|mut found| found.all(|found| found.ip().is_loopback())));
    }
}

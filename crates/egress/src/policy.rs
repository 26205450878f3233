//! The decision about one URL, and about one address that its host resolves to.

use std::net::{IpAddr, Ipv4Addr};

use thiserror::Error;
use url::{Host, Url};

use crate::address::is_public;
use crate::config::EgressConfig;
use crate::destination::Destination;

/// What may be called. Built from the deployment's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    allow: Vec<Destination>,
    allow_http: Vec<Destination>,
}

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Over TLS.
    Https,
    /// In plain text.
    Http,
}

/// Why a server may not be called. No variant shows the URL: it may hold a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The text is no URL with a host, or it has a user's name.
    #[error("is no URL of a host: give https://host/path, without a user's name")]
    Malformed,
    /// The scheme is another one.
    #[error("is no https:// URL")]
    Scheme,
    /// The connection would not be encrypted.
    #[error("is no https:// URL, and the deployment's `egress.allow_http` does not name its host")]
    Plaintext,
    /// The name has one label alone, so that only a network of the deployment can know it.
    #[error("names a host of an internal network, which the deployment's `egress.allow` does not")]
    InternalName,
    /// The address is not public.
    #[error(
        "is at a private, loopback, link-local or otherwise special address, which the deployment's `egress.allow` does not name"
    )]
    SpecialAddress,
}

impl Policy {
    /// The policy of settings.
    #[must_use]
    pub fn new(config: &EgressConfig) -> Self {
        Self {
            allow: config.allow.clone(),
            allow_http: config.allow_http.clone(),
        }
    }

    /// Reads a URL and judges what can be judged without resolving its host. The client must call
    /// [`Policy::check_address`] with each address that the host resolves to.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn check_url(&self, text: &str) -> Result<(Url, Scheme), Refusal> {
        let url = Url::parse(text).map_err(|_| Refusal::Malformed)?;
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return Err(Refusal::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::Malformed);
        }
        match url.host().ok_or(Refusal::Malformed)? {
            Host::Domain(name) => self.check_name(scheme, name)?,
            Host::Ipv4(address) => self.check_address(scheme, "", address.into())?,
            Host::Ipv6(address) => self.check_address(scheme, "", address.into())?,
        }
        Ok((url, scheme))
    }

    /// Judges an address that a host has. `host` is the name in the URL; empty where the URL has an address.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn check_address(
        &self,
        scheme: Scheme,
        host: &str,
        address: IpAddr,
    ) -> Result<(), Refusal> {
        let is_in = |list: &[Destination]| list.iter().any(|entry| entry.contains(host, address));
        if !is_public(address) && !is_in(&self.allow) {
            return Err(Refusal::SpecialAddress);
        }
        if scheme == Scheme::Http && !is_in(&self.allow_http) {
            return Err(Refusal::Plaintext);
        }
        Ok(())
    }

    fn check_name(&self, scheme: Scheme, host: &str) -> Result<(), Refusal> {
        let bare = host.strip_suffix('.').unwrap_or(host);
        let names = |list: &[Destination]| list.iter().any(|entry| entry.names(bare));
        // Both are loopback wherever they are resolved (RFC 6761).
        if bare == "localhost" || bare.ends_with(".localhost") {
            return self.check_address(scheme, bare, Ipv4Addr::LOCALHOST.into());
        }
        if !bare.contains('.') && !names(&self.allow) {
            return Err(Refusal::InternalName);
        }
        let has_networks = |list: &[Destination]| {
            let is_network = |entry: &Destination| matches!(entry, Destination::Network(_));
            list.iter().any(is_network)
        };
        let may_be_plain = names(&self.allow_http) || has_networks(&self.allow_http);
        if scheme == Scheme::Http && !may_be_plain {
            return Err(Refusal::Plaintext);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

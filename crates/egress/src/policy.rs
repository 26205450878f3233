//! Decides whether a URL, and an address that its host resolves to, may be called.

use std::net::{IpAddr, Ipv4Addr};

use thiserror::Error;
use url::{Host, Url};

use crate::address::is_public;
use crate::config::EgressConfig;
use crate::destination::Destination;

/// The servers that may be called. Built from the deployment's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    allow: Vec<Destination>,
    allow_http: Vec<Destination>,
}

/// The scheme of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Over TLS.
    Https,
    /// In plain text.
    Http,
}

/// Why a server may not be called. No variant shows the URL, because it may contain a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The text is not a URL with a host, or it contains a user name.
    #[error("is not a URL with a host: use https://host/path, without a user name")]
    Malformed,
    /// The scheme is neither `https` nor `http`.
    #[error("is not an https:// URL")]
    Scheme,
    /// The connection would not be encrypted.
    #[error("is not an https:// URL, and its host is not in the deployment's `egress.allow_http`")]
    Plaintext,
    /// The name has only one label, so only a network of the deployment can resolve it.
    #[error("has a host of an internal network that is not in the deployment's `egress.allow`")]
    InternalName,
    /// The address is not public.
    #[error(
        "has a private, loopback, link-local or other special address that is not in the deployment's `egress.allow`"
    )]
    SpecialAddress,
}

impl Policy {
    /// The policy of these settings.
    #[must_use]
    pub fn new(config: &EgressConfig) -> Self {
        Self { allow: config.allow.clone(), allow_http: config.allow_http.clone() }
    }

    /// Parses a URL and checks it without resolving its host. The client must call [`Policy::check_address`] with each
    /// address that the host resolves to.
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

    /// Checks an address of a host. `host` is the name in the URL; it is empty if the URL has an address.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn check_address(&self, scheme: Scheme, host: &str, address: IpAddr) -> Result<(), Refusal> {
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
        let is_in = |list: &[Destination]| list.iter().any(|entry| entry.matches_name(bare));
        // Both always resolve to loopback (RFC 6761).
        if bare == "localhost" || bare.ends_with(".localhost") {
            return self.check_address(scheme, bare, Ipv4Addr::LOCALHOST.into());
        }
        if !bare.contains('.') && !is_in(&self.allow) {
            return Err(Refusal::InternalName);
        }
        let is_network = |entry: &Destination| matches!(entry, Destination::Network(_));
        let may_be_plain = is_in(&self.allow_http) || self.allow_http.iter().any(is_network);
        if scheme == Scheme::Http && !may_be_plain {
            return Err(Refusal::Plaintext);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Settings of the HTTP listener, and their bounds.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::http::Uri;
use axum::http::uri::Authority;
use ipnet::IpNet;
use pages::cost::Prices;
use runtime::config::{Bounds, Checks, Validate};
use runtime::http::HttpConfig;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::prices::{self, ModelPrice};
use crate::openid::config::OidcSection;

/// The default port.
const PORT: u16 = 7303;
const RATE: Bounds<u32> = Bounds::new(1..=1_000_000, "requests");
const SESSION_AGE: Bounds<u32> = Bounds::new(1..=3_650, "days");
const LIVE_AGE: Bounds<u64> = Bounds::new(100..=86_400_000, "ms");
const LIVE_PER_ADDRESS: Bounds<usize> = Bounds::new(1..=100_000, "streams");
/// Maximum number of networks of trusted proxies.
const TRUSTED_PROXIES_MAX: usize = 64;
/// Maximum number of names of `/mcp`, and of its authorization servers.
const MCP_NAMES_MAX: usize = 64;
/// Default maximum age of issued sessions.
const SESSION_AGE_MAX_DAYS: u32 = 180;

/// Settings of the HTTP listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpSection {
    /// The server.
    pub server: HttpConfig,
    /// Rate limits.
    pub limits: LimitsSection,
    /// Live streams of conversations.
    pub live: LiveSection,
    /// The networks of the proxies before the gateway, as CIDR (`10.0.0.0/8`): `X-Forwarded-For` is accepted from them
    /// only.
    pub trusted_proxies: Vec<IpNet>,
    /// Maximum age of an issued session, in days, however often it is renewed. Lower it if visitors share devices.
    pub session_age_max_days: u32,
    /// The endpoint `/mcp`.
    pub mcp: McpSection,
    /// The dashboard.
    pub dashboard: DashboardSection,
}

/// Settings of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DashboardSection {
    /// Signing in with OpenID Connect.
    pub oidc: OidcSection,
    /// The currency of the prices, as pages show it.
    pub currency: String,
    /// Prices of models per million tokens, such as `[{ model = "gpt-5", input = "1.25", cached_input = "0.125", output = "10" }]`.
    /// Without `cached_input`, cached tokens cost as much as others. At most 1,000 models, and six decimals. Pages show no cost of
    /// a model without a price.
    pub prices: Vec<ModelPrice>,
}

/// Settings of the endpoint `/mcp`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct McpSection {
    /// Names by which clients reach `/mcp`, as in the header `Host` and without a port, such as `gateway.internal`. The name in
    /// `http.mcp.url` and the names of the loopback addresses are always accepted; requests with another name get 403.
    pub hosts: Vec<String>,
    /// The public URL of `/mcp`, such as `https://chat.example.org/mcp`.
    pub url: Option<String>,
    /// URLs of the authorization servers that sign tokens of the tenants' administrators. With them and `http.mcp.url`, 401 names
    /// the document `/.well-known/oauth-protected-resource/mcp` (RFC 9728).
    pub authorization_servers: Vec<String>,
}

impl DashboardSection {
    /// The prices of models, for pages.
    #[must_use]
    pub fn prices(&self) -> Prices {
        prices::prices(&self.currency, &self.prices)
    }
}

impl HttpSection {
    pub(super) fn session_age_max(&self) -> Duration {
        Duration::from_hours(24 * u64::from(self.session_age_max_days))
    }
}

/// Limits of live streams of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveSection {
    /// Maximum age of a stream, in ms. Then it ends with an event, and the client resumes it: its access is checked again.
    /// Lower it so that revoked access ends sooner.
    pub age_max_ms: u64,
    /// A comment is sent after this time without an event, in ms: before usual proxies close a silent response. It is no setting.
    #[serde(skip)]
    pub heartbeat_ms: u64,
    /// A stream ends with an event if its client receives nothing for this long while events wait, in ms: less than
    /// the server's write timeout, after which the connection is closed without the event. It is no setting.
    #[serde(skip)]
    pub pause_max_ms: u64,
    /// Maximum number of open streams of one client address; of IPv6, of one /64 network. Further streams are rejected.
    /// Raise it if many people share an address.
    pub per_address_max: usize,
}

/// Rate limits; every request counts towards all that apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitsSection {
    /// All callers with one API key together, or with one service token.
    pub key: RateLimit,
    /// All requests of one session of one API key.
    pub session: RateLimit,
    /// All requests of one client address without a valid service token; of IPv6, of one /64 network.
    pub address: RateLimit,
}

/// A rate limit: a bucket of `burst` requests, refilled at `per_second`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RateLimit {
    /// Requests per second on average. Raise it if honest callers are rejected.
    pub per_second: u32,
    /// Requests at once after a pause. Raise it if pages load with more requests.
    pub burst: u32,
}

impl Default for HttpSection {
    fn default() -> Self {
        Self {
            server: HttpConfig::at(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))),
            limits: LimitsSection::default(),
            live: LiveSection::default(),
            trusted_proxies: Vec::new(),
            session_age_max_days: SESSION_AGE_MAX_DAYS,
            mcp: McpSection::default(),
            dashboard: DashboardSection::default(),
        }
    }
}

impl Default for DashboardSection {
    fn default() -> Self {
        Self { oidc: OidcSection::default(), currency: "USD".to_owned(), prices: Vec::new() }
    }
}

impl Default for LiveSection {
    fn default() -> Self {
        Self { age_max_ms: 900_000, heartbeat_ms: 15_000, pause_max_ms: 10_000, per_address_max: 128 }
    }
}

impl Default for LimitsSection {
    fn default() -> Self {
        let limit = |per_second, burst| RateLimit { per_second, burst };
        Self { key: limit(500, 1_000), session: limit(10, 50), address: limit(50, 500) }
    }
}

impl Validate for HttpSection {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.section("server", &self.server);
        checks.section("limits", &self.limits);
        checks.section("live", &self.live);
        checks.section("mcp", &self.mcp);
        checks.section("dashboard", &self.dashboard);
        checks.bounds("session_age_max_days", self.session_age_max_days, &SESSION_AGE);
        let given = self.trusted_proxies.len();
        if given > TRUSTED_PROXIES_MAX {
            let error = format!("lists {given} networks, at most {TRUSTED_PROXIES_MAX} are accepted; merge them");
            checks.invalid("trusted_proxies", error);
        }
    }
}

impl Validate for DashboardSection {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.section("oidc", &self.oidc);
        prices::validate(&self.currency, &self.prices, checks);
    }
}

impl Validate for LiveSection {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("age_max_ms", self.age_max_ms, &LIVE_AGE);
        let per_address = self.per_address_max;
        checks.bounds("per_address_max", per_address, &LIVE_PER_ADDRESS);
    }
}

impl Validate for McpSection {
    fn validate(&self, checks: &mut Checks<'_>) {
        for (key, given) in [("hosts", &self.hosts), ("authorization_servers", &self.authorization_servers)] {
            let count = given.len();
            if count > MCP_NAMES_MAX {
                let error = format!("lists {count} names, at most {MCP_NAMES_MAX} are accepted");
                checks.invalid(key, error);
            }
        }
        let is_name = |name: &String| name.parse().is_ok_and(|name: Authority| name.port().is_none());
        if !self.hosts.iter().all(is_name) {
            let error = "lists a value that is no host name; write it like `gateway.internal`";
            checks.invalid("hosts", error.to_owned());
        }
        let is_url = |url: &String| {
            let url: Option<Uri> = url.parse().ok();
            url.is_some_and(|url| url.scheme().is_some() && url.host().is_some())
        };
        if !self.url.iter().all(is_url) {
            let error = "is not a URL; write it like `https://chat.example.org/mcp`";
            checks.invalid("url", error.to_owned());
        }
        if !self.authorization_servers.iter().all(is_url) {
            let error = "lists a value that is no URL; write it like `https://login.example.org`";
            checks.invalid("authorization_servers", error.to_owned());
        }
    }
}

impl Validate for LimitsSection {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.section("key", &self.key);
        checks.section("session", &self.session);
        checks.section("address", &self.address);
    }
}

impl Validate for RateLimit {
    fn validate(&self, checks: &mut Checks<'_>) {
        checks.bounds("per_second", self.per_second, &RATE);
        checks.bounds("burst", self.burst, &RATE);
    }
}

#[cfg(test)]
mod tests {
    use runtime::config::{Sources, load};
    use serde_json::{Value, json};

    use super::*;

    fn check(settings: &Value, expected: bool) {
        let taken = load::<HttpSection>(&Sources::new().flags(settings));
        assert_eq!(taken.is_ok(), expected, "{settings}: {:?}", taken.err());
    }

    #[test]
    fn every_setting_is_bounded() {
        for scope in ["key", "session", "address"] {
            for number in ["per_second", "burst"] {
                for (value, expected) in [(0, false), (1, true), (1_000_000, true), (1_000_001, false)] {
                    let limits = json!({ scope: { number: value } });
                    check(&json!({ "limits": limits }), expected);
                }
            }
        }
        for (number, min, max) in [("age_max_ms", 100, 86_400_000), ("per_address_max", 1, 100_000)] {
            for (value, expected) in [(min - 1, false), (min, true), (max, true), (max + 1, false)] {
                check(&json!({ "live": { number: value } }), expected);
            }
        }
        for (days, expected) in [(0, false), (1, true), (3_650, true), (3_651, false)] {
            check(&json!({ "session_age_max_days": days }), expected);
        }
        for (count, expected) in [(0, true), (64, true), (65, false)] {
            check(&json!({ "trusted_proxies": vec!["10.0.0.0/8"; count] }), expected);
        }
        for (count, expected) in [(64, true), (65, false)] {
            let hosts = vec!["gateway.internal"; count];
            check(&json!({ "mcp": { "hosts": hosts } }), expected);
            let servers = vec!["https://login.example.org"; count];
            check(&json!({ "mcp": { "authorization_servers": servers } }), expected);
        }
        check(&json!({ "mcp": { "hosts": ["a:80"] } }), false);
        check(&json!({ "mcp": { "hosts": ["::1"] } }), false);
        check(&json!({ "mcp": { "url": "https://a.example/mcp" } }), true);
        check(&json!({ "mcp": { "url": "a.example" } }), false);
        check(&json!({ "mcp": { "authorization_servers": ["a"] } }), false);
        check(&json!({ "trusted_proxies": ["fd00::/8"] }), true);
        check(&json!({ "trusted_proxies": ["10.0.0.0/33"] }), false);
        check(&json!({ "trusted_proxies": ["proxy"] }), false);
    }
}

//! A sign-in in progress: the request to the provider, and what its answer must match. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use url::Url;

/// Random bytes of each secret: 256 bits.
pub const SECRET_BYTES: usize = 32;

/// What proves that an answer of the provider belongs to a sign-in of this browser. No `Debug`: its values are secrets.
#[derive(Serialize, Deserialize)]
pub struct Attempt {
    /// The `state` of the request.
    pub state: String,
    /// The `nonce` of the ID token.
    pub nonce: String,
    /// The PKCE verifier.
    pub verifier: String,
    /// The page to come back to.
    pub next: String,
}

/// The client, as the provider knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientOf<'a> {
    pub(super) client_id: &'a str,
    pub(super) redirect_uri: &'a str,
    pub(super) scopes: &'a [String],
}

impl Attempt {
    /// An attempt with these random bytes, each of which must be unpredictable.
    #[must_use]
    pub fn new(random: [[u8; SECRET_BYTES]; 3], next: &str) -> Self {
        let [state, nonce, verifier] = random.map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        Self { state, nonce, verifier, next: next.to_owned() }
    }

    /// The URL of the provider's sign-in; `None`: the endpoint is no URL. Sources: RFC 6749, 4.1.1; RFC 7636, 4.3.
    pub(super) fn url(&self, endpoint: &str, client: ClientOf<'_>) -> Option<Url> {
        let mut url: Url = endpoint.parse().ok()?;
        let hash = digest(&SHA256, self.verifier.as_bytes());
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", client.client_id)
            .append_pair("redirect_uri", client.redirect_uri)
            .append_pair("scope", &client.scopes.join(" "))
            .append_pair("state", &self.state)
            .append_pair("nonce", &self.nonce)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(hash))
            .append_pair("code_challenge_method", "S256");
        Some(url)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_request_has_the_challenge_of_the_verifier() {
        // The example of RFC 7636, appendix B.
        let attempt = Attempt {
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
            ..Attempt::new([[1; SECRET_BYTES], [2; SECRET_BYTES], [3; SECRET_BYTES]], "/dashboard")
        };
        let scopes = ["openid".to_owned(), "email".to_owned()];
        let client =
            ClientOf { client_id: "hansard", redirect_uri: "https://hansard.example/callback", scopes: &scopes };
        let url = attempt.url("https://login.example/auth?a=b", client).unwrap();
        let query: BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert_eq!(query["code_challenge"], challenge);
        assert_eq!(query["code_challenge_method"], "S256");
        assert_eq!(query["scope"], "openid email");
        assert_eq!(query["state"], attempt.state);
        assert_eq!(query["nonce"], attempt.nonce);
        assert_ne!(attempt.state, attempt.nonce);
        assert_eq!(query["a"], "b");
        assert!(attempt.url("login", client).is_none());
    }
}

//! Exchanges the code for tokens.
//!
//! Source: RFC 6749, 4.1.3 and 2.3.1: the client authenticates with its secret in the header `Authorization`, each part
//! encoded as a form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, StatusCode};
use serde::Deserialize;

use super::discovery::Endpoints;
use super::{Provider, ProviderError, REQUEST_TIMEOUT, whole_body};

/// The used member of the answer. No `Debug`: the token is a secret.
#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
}

impl Provider {
    /// The ID token for a code.
    ///
    /// # Errors
    /// [`ProviderError::Rejected`] if the provider rejects the code.
    pub(super) async fn id_token(
        &self,
        endpoints: &Endpoints,
        code: &str,
        verifier: &str,
    ) -> Result<String, ProviderError> {
        let secret = self.section.client_secret.expose();
        let mut request = self
            .client
            .request(Method::POST, &endpoints.token_endpoint)
            .map_err(|_| ProviderError::Unavailable)?
            .timeout(REQUEST_TIMEOUT)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(self.token_request(code, verifier));
        if !secret.is_empty() {
            let credentials = basic(&self.section.client_id, secret);
            request = request.header(AUTHORIZATION, credentials);
        }
        let answer = request.send().await.map_err(|_| ProviderError::Unavailable)?;
        let status = answer.status();
        if status != StatusCode::OK {
            tracing::warn!(%status, "the dashboard's provider exchanges no code");
            return Err(if status.is_client_error() { ProviderError::Rejected } else { ProviderError::Unavailable });
        }
        let body = whole_body(answer).await.ok_or(ProviderError::Unavailable)?;
        let answer: Option<TokenAnswer> = serde_json::from_slice(&body).ok();
        let id_token = answer.and_then(|answer| answer.id_token);
        id_token.ok_or(ProviderError::Rejected)
    }

    /// The form of the request. A public client names itself there.
    fn token_request(&self, code: &str, verifier: &str) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &self.redirect_uri())
            .append_pair("code_verifier", verifier);
        if self.section.client_secret.is_empty() {
            form.append_pair("client_id", &self.section.client_id);
        }
        form.finish()
    }
}

fn basic(client_id: &str, secret: &str) -> String {
    let encode = |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let pair = format!("{}:{}", encode(client_id), encode(secret));
    format!("Basic {}", STANDARD.encode(pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encoded_as_forms() {
        let expected = format!("Basic {}", STANDARD.encode("a%3Ab:c+d%25"));
        assert_eq!(basic("a:b", "c d%"), expected);
    }
}

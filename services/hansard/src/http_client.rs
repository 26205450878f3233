//! An HTTP client of one gateway: its URL, its secrets, and whom it trusts.

use std::path::Path;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Certificate, Client, Url};

use crate::exit::UsageError;

/// The longest wait for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// A client with these headers in each request; `ca`: a PEM file with the certificates to trust, in place of the system's.
///
/// # Errors
/// The file is not usable.
pub(crate) fn client(headers: HeaderMap, ca: Option<&Path>) -> Result<Client, UsageError> {
    // The first caller installs the provider for all; it is always the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .default_headers(headers)
        .connect_timeout(CONNECT_MAX)
        // The secrets are for this URL only.
        .redirect(reqwest::redirect::Policy::none());
    let builder = match ca {
        Some(file) => builder.tls_certs_only(certificates(file)?),
        None => builder,
    };
    builder.build().map_err(|error| UsageError(error.to_string()))
}

/// The URL of `--url`; `example` shows its form.
///
/// # Errors
/// It is no HTTP URL.
pub(crate) fn url(text: &str, example: &str) -> Result<Url, UsageError> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| UsageError(format!("--url is not an HTTP URL: write it like {example}")))
}

/// A header whose value is never logged; `what` names the value.
///
/// # Errors
/// No header can have the value.
pub(crate) fn secret_header(text: &str, what: &str) -> Result<HeaderValue, UsageError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| UsageError(format!("{what} has characters that no header can have")))?;
    value.set_sensitive(true);
    Ok(value)
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, UsageError> {
    let name = file.display();
    let pem = std::fs::read(file).map_err(|error| UsageError(format!("cannot read {name}: {error}")))?;
    Certificate::from_pem_bundle(&pem)
        .map_err(|_| UsageError(format!("{name} contains no certificates: give a PEM file")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_are_accepted() {
        let check = |text: &str, is_valid| {
            assert_eq!(url(text, "https://chat.example.org").is_ok(), is_valid, "{text}");
        };
        check("http://127.0.0.1:7303", true);
        check("https://chat.example.org/base/", true);
        check("chat.example.org", false);
        check("ftp://chat.example.org", false);
    }
}

//! Reads `/readyz` and `/metrics` of the roles' admin listeners by HTTP.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::readings::{RoleAnswer, RolePresence, RoleReading};

/// The deadline for the answer of a role.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum size of an answer.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The metric whose label is a role's version.
const BUILD: &str = "hansard_build_info{version=\"";

/// A role to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Host and port of its admin listener.
    pub address: String,
    /// Whether it must answer.
    pub presence: RolePresence,
}

impl Role {
    /// Parses a role such as `writer=http://10.0.0.5:7311`.
    ///
    /// # Errors
    /// The text has another form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let invalid = || "must be NAME=http://HOST:PORT, such as writer=http://127.0.0.1:7311".to_owned();
        let (name, url) = text.split_once('=').ok_or_else(invalid)?;
        let address = url.strip_prefix("http://").ok_or_else(invalid)?.trim_end_matches('/');
        let (host, port) = address.rsplit_once(':').ok_or_else(invalid)?;
        if name.is_empty() || host.is_empty() || host.contains('/') || port.parse::<u16>().is_err() {
            return Err(invalid());
        }
        Ok(Self { name: name.to_owned(), address: address.to_owned(), presence: RolePresence::Required })
    }

    /// Reads its state.
    pub async fn read(&self) -> RoleReading {
        let answer = async {
            let ready = get(&self.address, "/readyz").await?;
            let metrics = get(&self.address, "/metrics").await;
            parse_answer(&ready, metrics.as_deref().unwrap_or_default())
        };
        RoleReading {
            name: self.name.clone(),
            address: self.address.clone(),
            presence: self.presence,
            answer: timeout(ANSWER_TIMEOUT, answer).await.ok().flatten(),
        }
    }
}

#[derive(Deserialize)]
struct Page {
    ready: bool,
    draining: bool,
    dependencies: Map<String, Value>,
}

fn parse_answer(ready: &str, metrics: &str) -> Option<RoleAnswer> {
    let page: Page = serde_json::from_str(ready).ok()?;
    let missing = page.dependencies.iter().filter_map(|(name, state)| {
        let is_down = state.get("state").and_then(Value::as_str) != Some("up");
        let reason = state.get("reason").and_then(Value::as_str);
        is_down.then(|| format!("{name}: {}", reason.unwrap_or("down")))
    });
    let mut lines = metrics.lines();
    let version = lines.find_map(|line| line.strip_prefix(BUILD)?.split('"').next());
    Some(RoleAnswer {
        is_ready: page.ready,
        is_draining: page.draining,
        missing: missing.collect(),
        version: version.map(str::to_owned),
    })
}

/// Returns the body of a page with any status code.
async fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut page = String::new();
    let mut bounded = stream.take(ANSWER_BYTES_MAX);
    bounded.read_to_string(&mut page).await.ok()?;
    let (_, body) = page.split_once("\r\n\r\n")?;
    Some(body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_parsed() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let role = Role::parse(text).ok();
            let found = role.as_ref().map(|role| (role.name.as_str(), role.address.as_str()));
            assert_eq!(found, expected, "{text}");
        };
        check("writer=http://a:7311", Some(("writer", "a:7311")));
        check("gw-2=http://[::1]:80/", Some(("gw-2", "[::1]:80")));
        check("http://a:7311", None);
        check("writer=https://a:7311", None);
        check("writer=http://a", None);
        check("writer=http://a:x", None);
        check("writer=http://a/b:1", None);
        check("=http://a:1", None);
    }

    #[test]
    fn answers_are_parsed() {
        let up = r#"{"dependencies":{"nats":{"state":"up"}},"draining":false,"ready":true}"#;
        let metrics = "# HELP x\nhansard_build_info{version=\"0.1.0\"} 1\n";
        let expected =
            RoleAnswer { is_ready: true, is_draining: false, missing: Vec::new(), version: Some("0.1.0".to_owned()) };
        assert_eq!(parse_answer(up, metrics), Some(expected));
        let down = r#"{"dependencies":{"nats":{"state":"up"},"postgres":{"reason":"gone","state":"down"}},"draining":true,"ready":false}"#;
        let expected = RoleAnswer {
            is_ready: false,
            is_draining: true,
            missing: vec!["postgres: gone".to_owned()],
            version: None,
        };
        assert_eq!(parse_answer(down, ""), Some(expected));
        assert_eq!(parse_answer("ok", metrics), None);
    }
}

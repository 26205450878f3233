//! Validates the settings.

use std::ops::RangeInclusive;

use super::{ModelServerConfig, ModelServersConfig, ServerKind};
use crate::ECHO;

/// Maximum number of model servers.
pub const SERVERS_MAX: usize = 64;
/// Maximum characters of the name of a server.
pub const SERVER_NAME_CHARS_MAX: usize = 64;
/// Maximum bytes of a base URL.
pub const BASE_URL_BYTES_MAX: usize = 2_048;
pub(super) fn errors(config: &ModelServersConfig) -> Vec<(String, String)> {
    let mut errors = Vec::new();
    if config.0.len() > SERVERS_MAX {
        let given = config.0.len();
        let rule = format!("has {given} servers, but at most {SERVERS_MAX} are taken");
        errors.push((String::new(), rule));
    }
    for (name, server) in &config.0 {
        if !is_name(name) {
            let rule = format!("is not a valid name: use 1 to {SERVER_NAME_CHARS_MAX} of A-Z, a-z, 0-9, _ and -");
            errors.push((name.clone(), rule));
        }
        if name == ECHO && server.kind != ServerKind::Echo {
            let rule = "must be echo: use another name for a server of another kind".to_owned();
            errors.push((format!("{name}.kind"), rule));
        }
        let found = numbers(server).chain(base_url(server)).chain(key(server));
        errors.extend(found.map(|(field, rule)| (format!("{name}.{field}"), rule)));
    }
    errors
}

fn is_name(name: &str) -> bool {
    (1..=SERVER_NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The fields of numbers that are out of their bounds.
fn numbers(server: &ModelServerConfig) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let s = server;
    let requests_max = u64::try_from(s.requests_max).unwrap_or(u64::MAX);
    let num_ctx = s.num_ctx.map_or(1, u64::from);
    let first_token_ms = s.first_token_timeout_ms;
    let fields = [
        ("first_token_timeout_ms", first_token_ms, 1..=600_000),
        ("idle_timeout_ms", s.idle_timeout_ms, 1..=600_000),
        ("retries_max", u64::from(s.retries_max), 0..=10),
        ("requests_max", requests_max, 1..=65_536),
        ("num_ctx", num_ctx, 1..=16_777_216),
        ("echo_word_delay_ms", s.echo_word_delay_ms, 0..=60_000),
    ];
    let is_invalid = |(_, value, bounds): &(_, u64, RangeInclusive<u64>)| !bounds.contains(value);
    fields.into_iter().filter(is_invalid).map(|(field, value, bounds)| {
        let (least, most) = bounds.into_inner();
        (field, format!("is {value}, but must be {least} to {most}"))
    })
}

fn base_url(server: &ModelServerConfig) -> Option<(&'static str, String)> {
    let url = server.base_url.as_deref()?;
    let rule = if server.kind == ServerKind::Echo {
        "is not used by echo: remove it, or set another kind".to_owned()
    } else if url.len() > BASE_URL_BYTES_MAX {
        format!("is longer than {BASE_URL_BYTES_MAX} bytes")
    } else if is_base_url(url) {
        return None;
    } else {
        "is not an http:// or https:// URL without query: use a form such as https://host/v1".to_owned()
    };
    Some(("base_url", rule))
}

fn is_base_url(url: &str) -> bool {
    reqwest::Url::parse(url)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none())
}

fn key(server: &ModelServerConfig) -> Option<(&'static str, String)> {
    let key = server.api_key.as_ref()?;
    let fits = key.expose().bytes().all(|b| (0x21..=0x7e).contains(&b));
    (!fits).then(|| {
        let rule = "is not valid in a header: use printable ASCII without spaces".to_owned();
        ("api_key", rule)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApiKey;

    fn check(change: impl FnOnce(&mut ModelServerConfig), invalid: Option<&str>) {
        let mut server = ModelServerConfig { kind: ServerKind::OpenAiChat, ..ModelServerConfig::default() };
        change(&mut server);
        check_named("a", server, invalid);
    }

    fn check_named(name: &str, server: ModelServerConfig, invalid: Option<&str>) {
        let config = ModelServersConfig([(name.to_owned(), server)].into());
        let fields: Vec<_> = config.errors().into_iter().map(|(key, _)| key).collect();
        assert_eq!(fields, Vec::from_iter(invalid.map(str::to_owned)));
    }

    #[test]
    fn numbers_are_checked_at_their_edges() {
        check(|_| (), None);
        let invalid = Some("a.first_token_timeout_ms");
        check(|s| s.first_token_timeout_ms = 0, invalid);
        check(|s| s.first_token_timeout_ms = 600_000, None);
        check(|s| s.first_token_timeout_ms = 600_001, invalid);
        check(|s| s.idle_timeout_ms = 600_001, Some("a.idle_timeout_ms"));
        check(|s| s.retries_max = 10, None);
        check(|s| s.retries_max = 11, Some("a.retries_max"));
        check(|s| s.requests_max = 0, Some("a.requests_max"));
        check(|s| s.requests_max = 65_536, None);
        check(|s| s.requests_max = 65_537, Some("a.requests_max"));
        check(|s| s.num_ctx = Some(0), Some("a.num_ctx"));
        check(|s| s.num_ctx = Some(16_777_216), None);
        check(|s| s.num_ctx = Some(16_777_217), Some("a.num_ctx"));
        let invalid = Some("a.echo_word_delay_ms");
        check(|s| s.echo_word_delay_ms = 60_001, invalid);
    }

    #[test]
    fn urls_and_keys_are_checked() {
        let url = |url: String| move |s: &mut ModelServerConfig| s.base_url = Some(url);
        let invalid = Some("a.base_url");
        check(url("http://127.0.0.1:8080/v1".to_owned()), None);
        check(url("https://api.example.com/v1/".to_owned()), None);
        check(url("ftp://a/".to_owned()), invalid);
        check(url("a:8080".to_owned()), invalid);
        check(url("https://a/?key=k".to_owned()), invalid);
        let longest = format!("http://a/{:a<1$}", "", BASE_URL_BYTES_MAX - 9);
        check(url(longest.clone()), None);
        check(url(longest + "a"), invalid);
        let key = |key: &str| Some(ApiKey::new(key));
        check(|s| s.api_key = key("sk-abc"), None);
        check(|s| s.api_key = key("a b"), Some("a.api_key"));
        check(|s| s.api_key = key("ä"), Some("a.api_key"));
    }

    #[test]
    fn names_are_checked_and_echo_is_reserved() {
        let any = ModelServerConfig { kind: ServerKind::Ollama, ..ModelServerConfig::default() };
        let longest = "x".repeat(SERVER_NAME_CHARS_MAX);
        check_named(&longest, any.clone(), None);
        let too_long = longest + "x";
        check_named(&too_long, any.clone(), Some(&too_long));
        check_named("", any.clone(), Some(""));
        check_named("a.b", any.clone(), Some("a.b"));
        check_named(ECHO, any.clone(), Some("echo.kind"));
        check_named(ECHO, ModelServerConfig::default(), None);
        let with_url = ModelServerConfig { base_url: Some("http://a".to_owned()), ..ModelServerConfig::default() };
        check_named("e", with_url, Some("e.base_url"));
    }

    #[test]
    fn servers_have_a_bound() {
        let named = |n: usize| {
            let names = (0..n).map(|n| (format!("s{n}"), ModelServerConfig::default()));
            ModelServersConfig(names.collect()).errors().len()
        };
        assert_eq!(named(SERVERS_MAX), 0);
        assert_eq!(named(SERVERS_MAX + 1), 1);
    }

    #[test]
    fn settings_are_read_and_shown_without_secrets() {
        let read: ModelServersConfig = serde_json::from_str(
            r#"{"local":{"kind":"openai_chat","base_url":"http://u:p@a/v1","api_key":"sk-secret"}}"#,
        )
        .unwrap();
        let shown = format!("{read:?}");
        assert!(shown.contains("OpenAiChat"), "{shown}");
        assert!(!shown.contains("secret") && !shown.contains("u:p"), "{shown}");
        assert_eq!(read.0["local"].retries_max, 2);
        for kind in "echo openai_chat openai_responses anthropic ollama".split(' ') {
            let read: ServerKind = serde_json::from_value(kind.into()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), kind);
        }
        assert!(serde_json::from_str::<ModelServersConfig>(r#"{"a":{"kinds":1}}"#).is_err());
    }
}

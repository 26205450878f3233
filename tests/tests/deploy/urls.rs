//! URLs of the deploy files: each requires TLS and names its files.

use std::collections::BTreeSet;

use tests::deploy_files as files;

/// Of our servers: the CA of their certificates, and the client's own certificate.
const OURS: &str = "ca=/tls/ca.crt&cert=/tls/tls.crt&key=/tls/tls.key";
const POSTGRES: &str = "sslmode=verify-full&sslrootcert=/tls/";
/// The monitoring port of nats-server: no setting enables TLS.
const WITHOUT_TLS: &str = "HANSARD_RECORD__MONITOR_URL";

/// The host of a URL, and the files in `/tls` that it names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) files: BTreeSet<String>,
}

/// The target of a variable with a URL, which must require TLS. `None`: it has no URL, or that of a port without TLS.
pub(crate) fn target(variable: &str, value: &str) -> Option<Target> {
    if variable == WITHOUT_TLS || !value.contains("://") {
        return None;
    }
    Some(parse(value).unwrap_or_else(|| panic!("{variable}={value} must require TLS")))
}

fn parse(url: &str) -> Option<Target> {
    let (address, query) = url.rsplit_once('?')?;
    let (scheme, address) = address.split_once("://")?;
    let requires_tls = match scheme {
        "tls" | "https" => query == OURS,
        "postgres" => query.starts_with(POSTGRES),
        _ => false,
    };
    let (_, address) = address.rsplit_once('@').unwrap_or(("", address));
    let (host, _) = address.split_once(':')?;
    let named = query.split('&').filter_map(|parameter| Some(parameter.split_once("=/tls/")?.1.to_owned()));
    requires_tls.then(|| Target { host: host.to_owned(), files: named.collect() })
}

/// The names of the servers in the routes of `nats/cluster.conf`.
pub(crate) fn routes() -> Vec<String> {
    let settings = files::text("nats/cluster.conf");
    let routes = settings.split("nats-route://").skip(1);
    routes.filter_map(|route| Some(route.split_once(':')?.0.to_owned())).collect()
}

#[test]
fn urls_must_require_tls() {
    let check = |url: &str, expected: Option<(&str, &[&str])>| {
        let expected = expected.map(|(host, files)| Target {
            host: host.to_owned(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
        });
        assert_eq!(parse(url), expected, "{url}");
    };
    let ours = Some(("nats", ["ca.crt", "tls.crt", "tls.key"].as_slice()));
    check(&format!("tls://u:p@nats:4222?{OURS}"), ours);
    check(&format!("nats://u:p@nats:4222?{OURS}"), None);
    check("tls://u:p@nats:4222?ca=/tls/ca.crt", None);
    check("https://writer:7301", None);
    check(&format!("http://writer:7301?{OURS}"), None);
    let postgres = "postgres://u:p@db:5432/hansard";
    check(&format!("{postgres}?{POSTGRES}x.crt"), Some(("db", &["x.crt"])));
    check(&format!("{postgres}?sslmode=require"), None);
    check(postgres, None);
}

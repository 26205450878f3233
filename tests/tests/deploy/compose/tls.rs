//! Every hop uses TLS, with certificates that the script makes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::{files, items, services, text_at};
use crate::urls;

const FILES: [&str; 2] = ["compose.yaml", "compose.cluster.yaml"];
const SCRIPT: &str = "compose/certificates.sh";

/// The folder of certificates that a service has at `/tls`.
fn folder_of(service: &Value) -> Option<&str> {
    let mut volumes = items(service, "/volumes").iter();
    let volume = volumes.find(|one| one.pointer("/target") == Some(&Value::from("/tls")))?;
    assert_eq!(text_at(volume, "/source"), "tls");
    Some(text_at(volume, "/volume/subpath"))
}

/// The names in the certificate of a service.
fn names_of(folder: &str) -> BTreeSet<String> {
    let script = files::text(SCRIPT);
    let call = format!("issue {folder} ");
    let found = script.lines().find_map(|line| line.strip_prefix(&call));
    let (_, names) = found.and_then(|rest| rest.split_once(' ')).expect("names");
    let names = names.split(',').map(|name| name.strip_prefix("DNS:").expect("a name"));
    names.map(str::to_owned).collect()
}

#[test]
fn urls_require_tls_and_name_mounted_files() {
    let mut count = 0;
    for (name, service) in FILES.into_iter().flat_map(services) {
        let variables = service.pointer("/environment").and_then(Value::as_object);
        for (variable, value) in variables.into_iter().flatten() {
            let target = value.as_str().and_then(|value| urls::target(variable, value));
            let Some(target) = target else { continue };
            count += 1;
            let folder = folder_of(&service).expect("a folder at /tls");
            // This folder has no key.
            let has_own = folder != "ca";
            assert!(has_own || !target.files.contains("tls.key"), "{name}");
            // The cluster answers to the name of the single server.
            assert!(names_of(&target.host).contains(&target.host), "{name}");
        }
    }
    assert!(count > 10, "{count}");
    let of_nats = names_of("nats");
    for server in urls::routes() {
        assert!(of_nats.contains(&server), "{server}");
    }
}

#[test]
fn servers_have_certificates() {
    for (name, service) in FILES.into_iter().flat_map(services) {
        let has = |text: &str| service.to_string().contains(text);
        let required: &[&str] = match name.as_str() {
            "writer" | "gateway" if service.get("networks").is_some() => &[
                "\"HANSARD_GRPC__TLS__CERT\":\"/tls/tls.crt\"",
                "\"HANSARD_GRPC__TLS__KEY\":\"/tls/tls.key\"",
                "\"HANSARD_GRPC__TLS__CLIENT_CA\":\"/tls/ca.crt\"",
            ],
            "postgres" => &["-cssl=on", "-chba_file=/etc/postgresql/pg_hba.conf"],
            _ => &[],
        };
        assert!(required.iter().all(|text| has(text)), "{name}");
        let is_gateway = name == "gateway";
        assert_eq!(has("\"HANSARD_HTTP__SERVER__TLS__CERT\""), is_gateway, "{name}");
        let runs_plain = has("/etc/nats/nats-server.conf");
        assert!(!runs_plain, "{name}");
    }
    let rules_file = files::text("postgres/pg_hba.conf");
    let mut rules = rules_file.lines().filter(|line| !line.starts_with('#'));
    let is_safe = |rule: &str| rule.starts_with("local ") || rule.starts_with("hostssl ");
    assert!(rules.all(is_safe), "connections without TLS");
}

fn run_script(folder: &Path) -> Output {
    // Only root may give files away.
    let chown = folder.join("chown");
    fs::write(&chown, "#!/bin/sh\n").expect("a program");
    fs::set_permissions(&chown, fs::Permissions::from_mode(0o755)).expect("a program");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut script = Command::new("/bin/sh");
    script.arg(files::path(SCRIPT)).env("TLS", folder);
    script.env("PATH", format!("{}:{path}", folder.display()));
    script.output().expect("a shell")
}

#[test]
fn certificates_are_made_once() {
    // Without openssl, nothing can be made.
    if Command::new("openssl").arg("version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut folders = BTreeSet::new();
    for (_, service) in FILES.into_iter().flat_map(services) {
        folders.extend(folder_of(&service).map(str::to_owned));
    }
    let mut made = Vec::new();
    for _ in 0..2 {
        let output = run_script(folder.path());
        assert!(output.status.success(), "{output:?}");
        let read = |name: &String| {
            let certificate = folder.path().join(name).join("tls.crt");
            let has_ca = folder.path().join(name).join("ca.crt").exists();
            assert!(has_ca && (certificate.exists() || name == "ca"), "{name}");
            fs::read_to_string(certificate).unwrap_or_default()
        };
        made.push(folders.iter().map(read).collect::<Vec<_>>());
    }
    assert_eq!(made[0], made[1]);
    let key = fs::metadata(folder.path().join("writer/tls.key")).expect("a key");
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
}

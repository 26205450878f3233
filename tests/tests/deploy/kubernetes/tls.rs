//! Every hop uses TLS: its URL requires it, its listener has a certificate with the name of the URL, and the files are mounted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{ROLES, at, container, files, items, name, of_kind, operators, secrets_of, text_at, workloads, yaml};
use crate::urls;

/// The files that cert-manager writes into the secret of a certificate.
const OF_CERTIFICATE: [&str; 3] = ["ca.crt", "tls.crt", "tls.key"];

/// The specifications of all pods.
fn pods() -> Vec<Value> {
    let all = workloads().into_iter().chain(operators());
    all.map(|one| at(&one, "/spec/template/spec").clone()).collect()
}

fn containers(pod: &Value) -> Vec<&Value> {
    let lists = ["/initContainers", "/containers"];
    lists.iter().flat_map(|list| items(pod, list)).collect()
}

/// The variables of a container: its own, and those of the secrets that it names.
fn variables(container: &Value) -> BTreeMap<String, String> {
    let own = items(container, "/env").iter().filter_map(|one| {
        let value = one.get("value")?.as_str()?;
        Some((text_at(one, "/name").to_owned(), value.to_owned()))
    });
    let mut found: BTreeMap<String, String> = own.collect();
    let secrets = yaml("kubernetes/secrets.example.yaml");
    for source in items(container, "/envFrom") {
        let secret = text_at(source, "/secretRef/name");
        let secret = secrets.iter().find(|one| name(one) == secret);
        let values = secret.and_then(|secret| at(secret, "/stringData").as_object());
        for (variable, value) in values.into_iter().flatten() {
            let value = value.as_str().expect("a text");
            found.insert(variable.clone(), value.to_owned());
        }
    }
    found
}

fn variables_of_role(role: &str) -> BTreeMap<String, String> {
    let workload = workloads().into_iter().find(|one| name(one) == role);
    variables(container(&workload.expect("a workload")))
}

/// The volume of a pod that a container has at `/tls`.
fn tls_volume<'a>(pod: &'a Value, container: &Value) -> Option<&'a Value> {
    let mut mounts = items(container, "/volumeMounts").iter().filter(|mount| text_at(mount, "/mountPath") == "/tls");
    let volume = text_at(mounts.next()?, "/name");
    let mut volumes = items(pod, "/volumes").iter();
    volumes.find(|one| text_at(one, "/name") == volume)
}

fn files_of(volume: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in items(volume, "/projected/sources") {
        let chosen = items(source, "/secret/items").iter().map(|item| text_at(item, "/path").to_owned());
        found.extend(chosen);
        if source.pointer("/secret/items").is_none() {
            found.extend(OF_CERTIFICATE.map(str::to_owned));
        }
    }
    found
}

/// The certificates in a volume.
fn certificates_of(volume: &Value) -> Vec<Value> {
    let secrets = secrets_of(volume);
    let mut certificates = of_kind("Certificate");
    certificates.retain(|one| secrets.contains(&text_at(one, "/spec/secretName")));
    certificates
}

fn has(certificate: &Value, list: &str, text: &str) -> bool {
    items(certificate, &format!("/spec/{list}")).contains(&Value::from(text))
}

#[test]
fn urls_require_tls_and_name_mounted_files() {
    let mut count = 0;
    for pod in pods() {
        for container in containers(&pod) {
            let settings = variables(container);
            let targets = settings.iter().filter_map(|(key, url)| urls::target(key, url));
            for target in targets {
                count += 1;
                let volume = tls_volume(&pod, container).expect("a volume at /tls");
                assert!(target.files.is_subset(&files_of(volume)), "{target:?}");
                let presents = target.files.contains("tls.crt");
                let certificates = certificates_of(volume);
                let own = certificates.iter().find(|one| has(one, "usages", "client auth"));
                assert!(!presents || own.is_some(), "{target:?}");
            }
        }
    }
    assert!(count > 10, "{count}");
}

/// The sections of a role's settings, each with a setting of it, such as `("record", "nats_url", "\"nats://nats:4222\"")`.
fn settings(role: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in files::text(&format!("{role}.toml")).lines() {
        if let Some(rest) = line.strip_prefix('[') {
            rest.split(']').next().unwrap_or_default().clone_into(&mut section);
        } else if let Some((key, value)) = line.split_once(" = ") {
            found.push((section.clone(), key.to_owned(), value.to_owned()));
        }
    }
    found
}

fn variable(section: &str, key: &str) -> String {
    let path = format!("{section}.{key}").trim_start_matches('.').replace('.', "__");
    format!("HANSARD_{}", path.to_uppercase())
}

/// The files of settings have URLs without TLS: variables replace them.
#[test]
fn variables_replace_plain_urls() {
    for role in ROLES {
        let given = variables_of_role(role);
        for (section, key, value) in settings(role) {
            let is_url = value.starts_with('"') && value.contains("://") && key != "monitor_url";
            let variable = variable(&section, &key);
            assert!(!is_url || given.contains_key(&variable), "{role} {variable}");
        }
    }
}

/// Clients of gRPC must show a certificate; browsers need none.
#[test]
fn listeners_have_certificates() {
    let mut count = 0;
    for role in ROLES {
        let given = variables_of_role(role);
        let value = |section: &str, key| given.get(&variable(section, key)).map(String::as_str);
        for (section, key, _) in settings(role) {
            if key != "addr" {
                continue;
            }
            count += 1;
            assert_eq!(value(&section, "tls.cert"), Some("/tls/tls.crt"), "{role}");
            assert_eq!(value(&section, "tls.key"), Some("/tls/tls.key"), "{role}");
            let client_ca = (section == "grpc").then_some("/tls/ca.crt");
            assert_eq!(value(&section, "tls.client_ca"), client_ca, "{role}");
        }
    }
    assert_eq!(count, 3, "gRPC of writers and gateways, and HTTP");
}

/// The certificate of the pods behind a service.
fn server_certificate(service: &str) -> Value {
    let services = of_kind("Service");
    let service = services.iter().find(|one| name(one) == service);
    let app = text_at(service.expect("a service"), "/spec/selector/app");
    let workload = workloads().into_iter().find(|one| name(one) == app).expect("a workload");
    let pod = at(&workload, "/spec/template/spec");
    let volume = tls_volume(pod, container(&workload)).expect("a volume at /tls");
    let mut certificates = certificates_of(volume);
    assert_eq!(certificates.len(), 1, "{app}");
    certificates.remove(0)
}

#[test]
fn certificates_contain_the_names_of_urls() {
    let pods = pods();
    let containers = pods.iter().flat_map(containers);
    let given = containers.flat_map(variables);
    let targets = given.filter_map(|(key, url)| urls::target(&key, &url));
    let mut hosts: BTreeSet<String> = targets.map(|target| target.host).collect();
    assert!(hosts.remove("HOST"), "Postgres is outside");
    assert_eq!(hosts, ["gateway", "nats", "writer", "writers"].map(str::to_owned).into());
    for host in hosts {
        let certificate = server_certificate(&host);
        assert!(has(&certificate, "dnsNames", &host), "{host}");
        assert!(has(&certificate, "usages", "server auth"), "{host}");
    }
    let of_nats = server_certificate("nats-peers");
    for server in urls::routes() {
        assert!(has(&of_nats, "dnsNames", &server), "{server}");
    }
}

#[test]
fn every_issuer_has_its_authority() {
    let (issuers, certificates) = (of_kind("Issuer"), of_kind("Certificate"));
    for certificate in &certificates {
        let issuer = text_at(certificate, "/spec/issuerRef/name");
        assert!(issuers.iter().any(|one| name(one) == issuer), "{issuer}");
    }
    for secret in issuers.iter().filter_map(|one| one.pointer("/spec/ca/secretName")) {
        let is_ca = |one: &Value| at(one, "/spec/isCA") == true;
        let mut of_secret = certificates.iter();
        let found = of_secret.find(|one| at(one, "/spec/secretName") == secret);
        assert!(found.is_some_and(is_ca), "{secret}");
    }
}

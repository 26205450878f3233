//! The manifests name existing objects, and their grace periods are long enough.

mod egress;
mod replicas;
mod tls;

use std::collections::BTreeSet;
use std::time::Duration;

use hansard::commands::role::END_DEADLINE;
use serde_json::Value;
use tests::eventually::eventually;
use tests::program;

use super::documents::{at, items, text_at, yaml};
use tests::deploy_files as files;
use tests::nats_accounts;

const ROLES: [&str; 3] = ["writer", "projector", "gateway"];
const OPERATOR: &str = "operator";

/// Every object that `kubectl apply -k` sends.
fn objects() -> Vec<Value> {
    let kustomization = yaml("kustomization.yaml").pop().expect("a document");
    let resources = items(&kustomization, "/resources").iter().map(|name| name.as_str().expect("a name"));
    resources.flat_map(yaml).collect()
}

fn of_kind(kind: &str) -> Vec<Value> {
    let mut objects = objects();
    objects.retain(|object| text_at(object, "/kind") == kind);
    objects
}

/// The serving workloads: the roles and NATS.
fn workloads() -> Vec<Value> {
    let mut workloads = [of_kind("Deployment"), of_kind("StatefulSet")].concat();
    workloads.retain(|one| name(one) != OPERATOR);
    workloads
}

/// The workloads of operator commands: manual and scheduled.
fn operators() -> [Value; 2] {
    let by_hand = of_kind("Deployment").into_iter().filter(|one| name(one) == OPERATOR);
    let by_clock = of_kind("CronJob").into_iter().map(|one| at(&one, "/spec/jobTemplate").clone());
    let found: Vec<Value> = by_hand.chain(by_clock).collect();
    found.try_into().expect("one of each")
}

fn name(object: &Value) -> &str {
    text_at(object, "/metadata/name")
}

fn container(workload: &Value) -> &Value {
    at(workload, "/spec/template/spec/containers/0")
}

fn ports(workload: &Value) -> Vec<(String, u64)> {
    let ports = items(container(workload), "/ports").iter();
    ports
        .map(|port| {
            let number = at(port, "/containerPort").as_u64().expect("a port");
            (text_at(port, "/name").to_owned(), number)
        })
        .collect()
}

fn apps() -> BTreeSet<String> {
    let apps: Vec<Value> = workloads().into_iter().chain(operators()).collect();
    let apps = apps.iter().map(|one| text_at(one, "/spec/template/metadata/labels/app"));
    apps.map(str::to_owned).collect()
}

#[test]
fn workloads_cover_each_role_and_nats() {
    let expected = ["gateway", "nats", "operator", "projector", "writer"].map(str::to_owned);
    assert_eq!(apps(), BTreeSet::from(expected));
    for workload in workloads() {
        let own = at(&workload, "/spec/template/metadata/labels");
        assert_eq!(at(&workload, "/spec/selector/matchLabels"), own);
        assert_eq!(own["app"], name(&workload));
    }
}

/// Operator pods exist only on request, and scheduled jobs have the credentials that they need.
#[tokio::test(flavor = "multi_thread")]
async fn operator_commands_have_their_settings() {
    let [by_hand, by_clock] = operators();
    assert_eq!(at(&by_hand, "/spec/replicas"), 0);
    let mut stack = nats_accounts::prepare(program!()).await;
    Box::pin(stack.start()).await;
    stack.any_agent().await.create("c").await;
    let secrets = yaml("kubernetes/secrets.example.yaml");
    let secret = secrets.iter().find(|secret| name(secret) == OPERATOR);
    let variables = at(secret.expect("a secret"), "/stringData").as_object();
    let value = |name: &str| match name {
        "HANSARD_RECORD__NATS_URL" => nats_accounts::url(&stack.servers.nats().url(), OPERATOR),
        "HANSARD_READ_MODEL__DATABASE_URL" => stack.servers.database_url().to_owned(),
        "HANSARD_MASTER_KEY" => "00".repeat(32),
        "HANSARD_REGISTRY_KEY" => "11".repeat(32),
        "HANSARD_RECORD__MONITOR_URL" => stack.servers.nats().monitor_url(),
        "HANSARD_WRITER_URL" => stack.writer.grpc_url(),
        "HANSARD_GATEWAY_URL" => stack.gateway.grpc_url(),
        other => panic!("{other} is not set here"),
    };
    let variables: Vec<_> = variables.expect("variables").keys().map(|name| (name.clone(), value(name))).collect();
    let words: Vec<&str> =
        items(container(&by_clock), "/args").iter().map(|word| word.as_str().expect("a word")).collect();
    eventually("rows that are whole", || async {
        let ended = program!().run(words.iter().copied(), &variables).await;
        (ended.code == Some(0)).then_some(())
    })
    .await;
    let status = program!().run(["status", "--no-roles"], &variables).await;
    assert_eq!(status.code, Some(0), "{status:?}");
}

#[test]
fn probes_use_open_ports() {
    for workload in workloads() {
        let open = ports(&workload);
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let asked = text_at(container(&workload), &format!("/{probe}/httpGet/port"));
            let found = open.iter().any(|(port, _)| port == asked);
            assert!(found, "{}: {probe} asks {asked}", name(&workload));
        }
    }
}

/// The ports of the manifests equal those of the settings.
#[test]
fn ports_match_role_settings() {
    for workload in workloads() {
        let role = name(&workload);
        if !ROLES.contains(&role) {
            continue;
        }
        let settings = files::text(&format!("{role}.toml"));
        for (port, number) in ports(&workload) {
            let listened = settings.contains(&format!("\"0.0.0.0:{number}\""));
            assert!(listened, "{role} {port} {number}");
        }
        let scraped = at(&workload, "/spec/template/metadata/annotations");
        let admin =
            ports(&workload).into_iter().find(|(port, _)| port == "admin").expect("an admin port").1.to_string();
        assert_eq!(scraped["prometheus.io/port"], admin.as_str());
    }
}

#[test]
fn grace_periods_exceed_shutdown_deadlines() {
    for workload in workloads() {
        let pod = at(&workload, "/spec/template/spec");
        let grace = Duration::from_secs(at(pod, "/terminationGracePeriodSeconds").as_u64().expect("seconds"));
        let before = container(&workload).pointer("/lifecycle/preStop/sleep/seconds");
        let before = Duration::from_secs(before.and_then(Value::as_u64).unwrap_or_default());
        assert!(grace > before + END_DEADLINE, "{}", name(&workload));
    }
}

fn collect<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if name == key {
                    found.push(value);
                }
                collect(value, key, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, key, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn network_policies_name_existing_pods_and_ports() {
    let apps = apps();
    let workloads = workloads();
    let open: BTreeSet<u64> = workloads.iter().flat_map(ports).map(|(_, port)| port).collect();
    // DNS, Postgres, and TLS.
    let outside = [53, 5432, 443];
    for policy in of_kind("NetworkPolicy") {
        let mut named = Vec::new();
        collect(&policy, "app", &mut named);
        collect(&policy, "values", &mut named);
        let named = named.into_iter().flat_map(|one| match one.as_array() {
            Some(many) => many.clone(),
            None => vec![one.clone()],
        });
        for app in named {
            assert!(apps.contains(app.as_str().expect("a name")), "{app}");
        }
        let mut numbers = Vec::new();
        collect(&policy, "port", &mut numbers);
        for number in numbers.into_iter().filter_map(Value::as_u64) {
            assert!(open.contains(&number) || outside.contains(&number), "{number}");
        }
    }
}

#[test]
fn mounted_volumes_and_secrets_exist() {
    let kustomization = yaml("kustomization.yaml").pop().expect("a document");
    let mut made = BTreeSet::new();
    for map in items(&kustomization, "/configMapGenerator") {
        made.insert(text_at(map, "/name").to_owned());
        for file in items(map, "/files") {
            let file = file.as_str().expect("a file");
            assert!(files::path(file).exists(), "{file}");
        }
    }
    let mut secrets: BTreeSet<String> =
        yaml("kubernetes/secrets.example.yaml").iter().map(|secret| name(secret).to_owned()).collect();
    secrets.extend(["gateway-token", "operator-token"].map(str::to_owned));
    for certificate in of_kind("Certificate") {
        secrets.insert(text_at(&certificate, "/spec/secretName").to_owned());
    }
    let claims = of_kind("PersistentVolumeClaim");
    for workload in workloads().into_iter().chain(operators()) {
        for volume in items(&workload, "/spec/template/spec/volumes") {
            if let Some(claim) = volume.pointer("/persistentVolumeClaim/claimName") {
                assert!(claims.iter().any(|one| name(one) == claim), "{claim}");
            } else if let Some(map) = volume.pointer("/configMap/name") {
                assert!(made.contains(map.as_str().expect("a name")), "{map}");
            } else {
                let named = secrets_of(volume);
                assert!(!named.is_empty(), "{volume}");
                assert!(named.iter().all(|secret| secrets.contains(*secret)));
            }
        }
        for source in items(container(&workload), "/envFrom") {
            assert!(secrets.contains(text_at(source, "/secretRef/name")));
        }
    }
}

/// The secrets whose files a volume has.
fn secrets_of(volume: &Value) -> Vec<&str> {
    let whole = volume.pointer("/secret/secretName").and_then(Value::as_str);
    let sources = items(volume, "/projected/sources").iter();
    let parts = sources.map(|source| text_at(source, "/secret/name"));
    whole.into_iter().chain(parts).collect()
}

/// Projectors use a schema that another login has created.
#[test]
fn migrations_run_before_projectors() {
    let projector = workloads().into_iter().find(|one| name(one) == "projector").expect("a projector");
    let migrate = at(&projector, "/spec/template/spec/initContainers/0");
    assert_eq!(text_at(migrate, "/args/0"), "migrate");
    let secret = text_at(migrate, "/envFrom/0/secretRef/name");
    let own = text_at(container(&projector), "/envFrom/0/secretRef/name");
    assert_eq!((secret, own), ("migrator", "projector"));
    assert_eq!(at(migrate, "/securityContext"), at(container(&projector), "/securityContext"));
}

/// A service whose name begins with `hansard` must not add variables that look like settings.
#[test]
fn pods_have_no_service_links() {
    for workload in workloads().into_iter().chain(operators()) {
        let name = text_at(container(&workload), "/name");
        assert_eq!(at(&workload, "/spec/template/spec/enableServiceLinks"), false, "{name}");
    }
}

/// As the namespace requires.
#[test]
fn pods_have_no_privileges() {
    for workload in workloads().into_iter().chain(operators()) {
        let name = text_at(container(&workload), "/name");
        let pod = at(&workload, "/spec/template/spec");
        assert_eq!(at(pod, "/securityContext/runAsNonRoot"), true, "{name}");
        let profile = text_at(pod, "/securityContext/seccompProfile/type");
        assert_eq!(profile, "RuntimeDefault", "{name}");
        let rights = at(container(&workload), "/securityContext");
        assert_eq!(rights["allowPrivilegeEscalation"], false, "{name}");
        assert_eq!(rights["readOnlyRootFilesystem"], true, "{name}");
        assert_eq!(rights["capabilities"]["drop"][0], "ALL", "{name}");
    }
}

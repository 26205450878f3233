//! The compose files name existing files, and the script creates the first tokens.

mod tls;

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::time::Duration;

use hansard::commands::role::END_DEADLINE;
use serde_json::Value;
use tests::client::Caller;
use tests::program;
use tokio::process::Command;
use tonic::Code;
use wire::proto::operate::v1::ListServiceTokensRequest;

use super::documents::{at, items, text_at, yaml};
use tests::deploy_files as files;
use tests::nats_accounts;

fn services(file: &str) -> Vec<(String, Value)> {
    let document = yaml(file).pop().expect("a document");
    let services = at(&document, "/services").as_object().expect("services");
    services.clone().into_iter().collect()
}

fn names(file: &str) -> BTreeSet<String> {
    services(file).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn services_name_existing_files() {
    let known = names("compose.yaml");
    let document = yaml("compose.yaml").pop().expect("a document");
    let volumes = at(&document, "/volumes").as_object().expect("volumes");
    for (name, service) in services("compose.yaml") {
        let depends = service.pointer("/depends_on").and_then(Value::as_object);
        for other in depends.into_iter().flat_map(|depends| depends.keys()) {
            assert!(known.contains(other), "{name} depends on {other}");
        }
        for volume in items(&service, "/volumes") {
            let source = match volume.as_str().and_then(|text| text.split_once(':')) {
                Some((source, _)) => source,
                None => text_at(volume, "/source"),
            };
            let there =
                if source.starts_with('.') { files::path(source).exists() } else { volumes.contains_key(source) };
            assert!(there, "{name} mounts {source}");
        }
    }
}

#[test]
fn grace_periods_exceed_shutdown_deadlines() {
    for (name, service) in services("compose.yaml") {
        if !["writer", "projector", "gateway"].contains(&name.as_str()) {
            continue;
        }
        let grace = text_at(&service, "/stop_grace_period").strip_suffix('s').and_then(|seconds| seconds.parse().ok());
        let grace = Duration::from_secs(grace.expect("seconds"));
        assert!(grace > END_DEADLINE, "{name}: {grace:?}");
    }
}

#[test]
fn services_have_no_privileges_and_no_egress() {
    let document = yaml("compose.yaml").pop().expect("a document");
    for network in ["record", "rows"] {
        assert_eq!(at(&document, &format!("/networks/{network}/internal")), true);
    }
    let listeners = at(&document, "/networks/listeners/driver_opts");
    assert_eq!(listeners["com.docker.network.bridge.enable_ip_masquerade"], "false");
    for (name, service) in services("compose.yaml") {
        assert_eq!(at(&service, "/read_only"), true, "{name}");
        assert_eq!(at(&service, "/cap_drop/0"), "ALL", "{name}");
        let options = items(&service, "/security_opt");
        assert_eq!(options, [Value::from("no-new-privileges:true")], "{name}");
        let networks = items(&service, "/networks");
        let goes_out = networks.contains(&Value::from("outside"));
        assert_eq!(goes_out, name == "gateway", "{name}");
        assert!(
            networks.iter().all(|one| { at(&document, "/networks").get(one.as_str().unwrap_or_default()).is_some() })
        );
    }
    for (name, service) in services("compose.cluster.yaml") {
        if service.get("image").is_some() {
            assert_eq!(at(&service, "/read_only"), true, "{name}");
            assert_eq!(at(&service, "/cap_drop/0"), "ALL", "{name}");
        }
    }
}

#[test]
fn each_role_has_its_own_login() {
    let roles = files::text("postgres/roles.sql");
    for (name, login) in [
        ("migrate", "hansard_migrator"),
        ("projector", "hansard_projector"),
        ("writer", "hansard_writer"),
        ("gateway", "hansard_gateway"),
        ("operator", "hansard_operator"),
    ] {
        let composed = services("compose.yaml");
        let service = composed.iter().find(|(one, _)| one == name);
        let (_, service) = service.expect("a service");
        let url = text_at(service, "/environment/HANSARD_READ_MODEL__DATABASE_URL");
        assert!(url.starts_with(&format!("postgres://{login}:")), "{name}");
        assert!(roles.contains(&format!("'{login}'")), "{login}");
    }
}

#[test]
fn the_example_file_lists_every_secret() {
    let example_file = files::text("compose/env.example");
    let example: BTreeSet<&str> = example_file.lines().filter_map(|line| line.strip_suffix('=')).collect();
    for file in ["compose.yaml", "compose.cluster.yaml"] {
        let text = files::text(file);
        let asked: BTreeSet<&str> =
            text.split("${").skip(1).filter_map(|rest| Some(rest.split_once(":?}")?.0)).collect();
        assert!(!asked.is_empty() && asked.is_subset(&example), "{asked:?}");
    }
}

#[test]
fn cluster_services_match_the_configuration() {
    let routes = files::text("nats/cluster.conf");
    for (name, service) in services("compose.cluster.yaml") {
        if !name.starts_with("nats") {
            continue;
        }
        let own = text_at(&service, "/environment/NATS_SERVER_NAME");
        assert!(routes.contains(&format!("//{own}.nats-peers:6222")), "{own}");
        let aliases = items(&service, "/networks/record/aliases");
        assert!(aliases.contains(&Value::from(format!("{own}.nats-peers"))));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_tokens_are_created_once() {
    let mut stack = nats_accounts::prepare(program!()).await;
    stack.writer.start().await;
    let folder = tempfile::tempdir().expect("a folder");
    symlink(program!().path(), folder.path().join("hansard")).expect("a link");
    let path = std::env::var("PATH").unwrap_or_default();
    let record = nats_accounts::url(&stack.servers.nats().url(), "operator");
    let made = async || {
        let mut script = Command::new("/bin/sh");
        script
            .arg(files::path("compose/bootstrap.sh"))
            .env("PATH", format!("{}:{path}", folder.path().display()))
            .env("TOKENS", folder.path())
            .env("HANSARD_RECORD__NATS_URL", &record)
            .env("HANSARD_WRITER_URL", stack.writer.grpc_url());
        let output = script.output().await.expect("a shell");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        let token = |name: &str| {
            let text = std::fs::read_to_string(folder.path().join(name));
            text.expect("a token").trim().to_owned()
        };
        (token("operator"), token("gateway"))
    };
    let (operator, gateway) = made().await;
    assert_eq!(made().await, (operator.clone(), gateway.clone()));
    let lists = async |token: &str| {
        let url = stack.writer.grpc_url();
        let caller = Caller::new(&url, &url, token);
        let mut registry = caller.registry();
        let listed = registry.list_service_tokens(ListServiceTokensRequest::default());
        listed.await.map(drop).map_err(|status| status.code())
    };
    assert_eq!(lists(&operator).await, Ok(()));
    assert_eq!(lists(&gateway).await, Err(Code::PermissionDenied));
    // As the service `operator` runs a command.
    let composed = services("compose.yaml");
    let service = composed.iter().find(|(name, _)| name == "operator");
    let (_, service) = service.expect("a place for operators");
    let folder = folder.path().display().to_string();
    let words: Vec<String> = items(service, "/entrypoint")
        .iter()
        .map(|word| {
            let word = word.as_str().expect("a word").replace("$$", "$");
            word.replace("/tokens", &folder)
        })
        .chain(["token", "list"].map(str::to_owned))
        .collect();
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .env("PATH", format!("{folder}:{path}"))
        .env("HANSARD_WRITER_URL", stack.writer.grpc_url());
    let output = command.output().await.expect("a shell");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && stdout.contains("gateway"), "{output:?}");
}

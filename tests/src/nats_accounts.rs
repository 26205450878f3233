//! A system whose nats-server gives each role exactly the permissions of `deploy/nats/accounts.conf`.

use std::fs;

use crate::deploy_files as files;
use crate::node::Node;
use crate::program::Program;
use crate::settings::{self, Settings};
use crate::stack::{Setup, Stack};
use devstack::NatsServer;
use event_log::{Record, RecordConfig};

/// The prefix in `deploy/gateway.toml` and `deploy/projector.toml`.
const READERS_PREFIX: &str = "RECORD.API";
const READERS: [&str; 2] = ["projector", "gateway"];
const USERS: [&str; 4] = ["operator", "writer", "projector", "gateway"];

/// The password of a user: it contains characters with a meaning in URLs.
#[must_use]
pub fn password(user: &str) -> String {
    format!("p:{user}/@%")
}

/// The accounts and their passwords, for a nats-server's configuration.
#[must_use]
pub fn nats_lines() -> String {
    let passwords = USERS.map(|user| {
        let (variable, password) = (user.to_uppercase(), password(user));
        format!("NATS_{variable}_PASSWORD: \"{password}\"\n")
    });
    passwords.concat() + &files::text("nats/accounts.conf")
}

/// Servers and stopped roles, each with its own credentials.
pub async fn prepare(program: Program) -> Stack {
    let setup = Setup::processes(program);
    let mut stack = setup.with_nats_lines(&nats_lines()).prepare().await;
    let plain = settings::record(&stack.servers);
    for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
        guard(node, &plain);
    }
    stack
}

/// Sets the credentials of a role; `plain` has none.
pub fn guard(node: &mut Node, plain: &RecordConfig) {
    let Settings { writer, projector, gateway, .. } = &mut *node.settings;
    for (record, user) in
        [(&mut writer.record, "writer"), (&mut projector.record, "projector"), (&mut gateway.record, "gateway")]
    {
        let RecordConfig { nats_url, api_prefix, .. } = record_config(&plain.nats_url, user);
        record.nats_url = nats_url;
        record.api_prefix = api_prefix;
    }
}

/// The record's settings for a user.
#[must_use]
pub fn record_config(urls: &str, user: &str) -> RecordConfig {
    let mut config = RecordConfig::new(url(urls, user));
    if READERS.contains(&user) {
        READERS_PREFIX.clone_into(&mut config.api_prefix);
    }
    config
}

/// The URLs with a user in the first one.
///
/// # Panics
/// When they are not URLs of NATS.
#[must_use]
pub fn url(urls: &str, user: &str) -> String {
    let (scheme, address) = urls.split_once("://").expect("a URL of NATS");
    let password = password(user).replace('%', "%25").replace(':', "%3A").replace('/', "%2F").replace('@', "%40");
    format!("{scheme}://{user}:{password}@{address}")
}

/// The record for operator commands.
///
/// # Panics
/// When it cannot be opened.
pub async fn record(stack: &Stack) -> Record {
    let plain = settings::record(&stack.servers);
    let config = record_config(&plain.nats_url, "operator");
    Record::open(config).await.expect("a record")
}

/// The permission violations in the log of a server.
///
/// # Panics
/// When the log cannot be read.
#[must_use]
pub fn violations(server: &NatsServer) -> Vec<String> {
    let log = fs::read_to_string(server.folder().join("server.log")).expect("the log of the server");
    let refused = log.lines().filter(|line| line.contains("Violation"));
    refused.map(str::to_owned).collect()
}

//! Commands that read the record continue after a restart of NATS.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tests::eventually::eventually;
use tests::port;
use tests::proxy::{Network, Proxy};
use tests::servers::nats_page;
use tests::stack::Stack;

use crate::operator_cli::{OperatorCli, lines_of};
use crate::replay::{COMMITS, scene};

/// The delay of each message between a command and NATS: all commands are still reading when the server restarts.
const DELAY: Duration = Duration::from_millis(40);
/// Commands that read the whole record or copy it.
const COMMANDS: [&str; 7] = [
    "tail",
    "verify --json",
    "verify --digests --json",
    "verify --sample 100% --json",
    "replay --to-file @all.jsonl --json",
    "replay --to-subject copy --places @places --rate 100000 --json",
    "backup @backup --json",
];
/// The connections of these commands, by name.
const CONNECTIONS: [&str; 4] = ["hansard-tail", "hansard-verify", "hansard-replay", "hansard-backup"];

#[tokio::test(flavor = "multi_thread")]
async fn commands_continue_after_a_restart() {
    let (mut stack, cli, _agent) = scene().await;
    cli.until("verify --json", 0).await;
    let stream = r#"{"name":"COPY","subjects":["copy.>"],"storage":"file"}"#;
    cli.request("$JS.API.STREAM.CREATE.COPY", stream).await;
    let nats = stack.servers.nats().url().replace("nats://", "").parse().expect("an address");
    let proxy = Proxy::start(port::free(), nats).await;
    proxy.set(Network::Slow(DELAY));
    let url = format!("nats://{}", proxy.addr());
    let slow = OperatorCli::with(&stack, &[("HANSARD_RECORD__NATS_URL", &url)]);
    let running = join_all(COMMANDS.map(|command| slow.check(command, 0, "")));
    let (outputs, ()) = tokio::join!(running, restart_meanwhile(&mut stack));

    for read in [outputs[0].as_str(), &slow.text("all.jsonl")] {
        let lines: BTreeSet<String> = lines_of(read).iter().map(Value::to_string).collect();
        assert_eq!((lines.len(), read.lines().count()), (COMMITS, COMMITS));
    }
    for replayed in &outputs[4..6] {
        assert_eq!(lines_of(replayed)[0]["commits"], COMMITS, "{replayed}");
    }
}

/// Restarts the server as soon as every command is connected and one has a consumer.
async fn restart_meanwhile(stack: &mut Stack) {
    let nats = stack.servers.nats();
    let consumers = async || nats_page(nats, "/jsz").await?.pointer("/consumers")?.as_u64();
    let before = eventually("a page of the server", &consumers).await;
    eventually("reading commands", || async {
        let page = nats_page(nats, "/connz").await?;
        let names: Vec<&str> = page["connections"].as_array()?.iter().filter_map(|one| one["name"].as_str()).collect();
        let is_reading = CONNECTIONS.iter().all(|name| names.contains(name)) && consumers().await? > before;
        is_reading.then_some(())
    })
    .await;
    stack.servers.nats_mut().restart().await.expect("NATS again");
}

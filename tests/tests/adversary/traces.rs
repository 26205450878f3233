//! The remains of a history with a caller's key: nobody can find the key by trying all numbers.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use devstack::test::files_with;
use sha2::{Digest as _, Sha256};
use tests::eventually::eventually;
use tests::program;
use uuid::Uuid;
use wire::proto::operate::v1::{AgentSettings, IdentityMode, ProviderLogDetail, ProviderLogSettings};

use crate::channels::{Attack, KEY};

/// The personal part of the key.
const NUMBER: &str = "4915550100";

/// The key, the number, and every hash of them that needs no secret.
fn guesses() -> Vec<Vec<u8>> {
    let scheme = ["hansard.keyed-history.v1", "support", "default", KEY].join("\0");
    let mut guesses = vec![NUMBER.as_bytes().to_vec()];
    for text in [KEY, NUMBER, &scheme] {
        let hash = Sha256::digest(text.as_bytes());
        guesses.push(hash.to_vec());
        for shown in [hex::encode(hash), STANDARD_NO_PAD.encode(hash), URL_SAFE_NO_PAD.encode(hash)] {
            guesses.push(shown.into_bytes());
        }
    }
    guesses
}

/// Every row of every table as text; bytes in hexadecimal digits.
fn rows(attack: &mut Attack) -> String {
    let servers = &mut attack.fixture.stack.servers;
    let url = servers.database_url().to_owned();
    let mut dump = Command::new(servers.postgres_mut().tool("pg_dump"));
    let output = dump.args(["--data-only", "--dbname", &url]).output().expect("pg_dump");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The logs of the roles so far.
fn logs(attack: &mut Attack) -> String {
    let stack = &mut attack.fixture.stack;
    let nodes = [&mut stack.writer, &mut stack.projector, &mut stack.gateway];
    let logs = nodes.map(|node| node.process().expect("a process").log());
    logs.concat()
}

fn contains(text: &str, guess: &[u8]) -> bool {
    let in_hex = hex::encode(guess);
    let as_text = String::from_utf8_lossy(guess);
    text.contains(&in_hex) || text.contains(as_text.as_ref())
}

/// Searches every guess in file contents and subjects of NATS, in rows, in logs, and in answers.
fn check(attack: &mut Attack, when: &str, answered: &[String]) {
    let texts = [rows(attack), logs(attack), answered.concat()];
    let id = attack.id.clone();
    assert!(texts[0].contains(&id), "{when}: no row of {id}");
    let folder = attack.fixture.stack.servers.nats().folder();
    assert!(!files_with(folder, id.as_bytes()).is_empty(), "{when}: no subject of {id}");
    for guess in guesses() {
        let shown = String::from_utf8_lossy(&guess).into_owned();
        let files = files_with(folder, &guess);
        assert!(files.is_empty(), "{when}, {files:?}: {shown}");
        for (place, text) in ["rows", "logs", "answers"].iter().zip(&texts) {
            assert!(!contains(text, &guess), "{when}, {place}: {shown}");
        }
    }
}

/// Makes a logged model call for the history.
async fn logged_call(attack: &mut Attack) {
    let settings = AgentSettings {
        identity_mode: IdentityMode::Open.into(),
        provider_logs: Some(ProviderLogSettings { detail: ProviderLogDetail::Bodies.into(), days: 0 }),
        ..AgentSettings::default()
    };
    let operator = attack.fixture.operator().await;
    operator.settings("support", settings).await;
    let run = Uuid::now_v7().to_string();
    let request = attack.agent.log_request(&attack.id, &run);
    let agent = attack.agent.clone();
    eventually("a writer that logs calls", || async {
        let logged = agent.try_log(request.clone()).await;
        logged.expect("an answer").then_some(())
    })
    .await;
    eventually("a row of the call", || {
        let is_there = rows(attack).contains(&run);
        async move { is_there.then_some(()) }
    })
    .await;
}

/// Erases the channel as an operator; returns the receipt.
async fn erase_channel(attack: &Attack, channel: &str) -> String {
    let line = ["erase", "channel", channel, "--tenant", "acme", "--json"];
    let ended = program!().run(line, &attack.fixture.operator_variables()).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_history_keys_leave_no_trace() {
    let mut attack = Attack::new().await;
    // The log does not contain a guessed key either.
    assert_eq!(attack.session.get("/api/chats").await.status, 200);
    logged_call(&mut attack).await;
    let id = attack.id.clone();
    let context = attack.agent.context(&id, 10).await;
    let answered = vec![format!("{context:?}")];
    check(&mut attack, "before", &answered);
    let conversation = attack.agent.conversation(&id).await;
    let owner = conversation.owner.and_then(|owner| owner.kind);
    let Some(wire::proto::event::v1::owner::Kind::ChannelId(channel)) = owner else {
        panic!("{owner:?}");
    };
    let receipt = erase_channel(&attack, &channel).await;
    assert!(receipt.contains(&id), "{receipt}");
    let listed = program!().run(["status"], &attack.fixture.operator_variables()).await.stdout;
    check(&mut attack, "after", &[answered[0].clone(), receipt, listed]);
}

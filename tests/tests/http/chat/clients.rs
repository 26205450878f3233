//! The AI SDK's own clients, which know nothing of us.

use std::path::Path;

use tokio::process::Command;

use crate::turns::ground::Talk;

/// Run it after `npm ci` in `tests/clients/ai-sdk`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs node and the packages of tests/clients/ai-sdk"]
async fn the_ai_sdks_clients_talk_unchanged() {
    let talk = Talk::new().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/ai-sdk/talk.mjs");
    let key = talk.operator.api_key("support").await;
    let mut client = Command::new("node");
    client.arg(script).arg(talk.door.url("")).arg(key.secret);
    let status = client.kill_on_drop(true).status().await.unwrap();
    assert!(status.success());
}

//! The unmodified clients of the AI SDK.

use std::path::Path;

use tokio::process::Command;

use crate::turns::fixture::TurnFixture;

/// Run it after `npm ci` in `tests/clients/ai-sdk`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs node and the packages of tests/clients/ai-sdk"]
async fn ai_sdk_clients_work_unchanged() {
    let fixture = TurnFixture::new().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/ai-sdk/talk.mjs");
    let key = fixture.operator.api_key(fixture.agent_id).await;
    let mut client = Command::new("node");
    client.arg(script).arg(fixture.client.url("")).arg(key.secret);
    let status = client.kill_on_drop(true).status().await.unwrap();
    assert!(status.success());
}

//! A run whose gateway died after its last part: the next turn of any surface finishes it first.

use std::time::Duration;

use serde_json::json;
use tests::eventually::eventually;
use tests::parts::{end, text as text_part};
use uuid::Uuid;
use wire::proto::event::v1::RunOutcome;

use super::fixture::TurnFixture;
use super::model::{Model, Reply};
use super::surfaces::{Callers, Surface};

/// Longer than the test: no sweep finishes the runs.
const NEVER: Duration = Duration::from_mins(10);

/// The id in the record: that of a channel's conversation has a prefix.
fn recorded_id(id: &str) -> String {
    if id.starts_with("conv_channel_") { format!("history:{id}") } else { id.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_turn_finishes_a_closed_run() {
    let model = Model::start(|_| Reply::Text("fine".to_owned())).await;
    let never = u64::try_from(NEVER.as_millis()).unwrap();
    let fixture =
        TurnFixture::with_model(&model, Vec::new(), |gateway| gateway.generation.abandoned_after_ms = never).await;
    let callers = Callers::of(&fixture, fixture.client.clone()).await;
    let agent = &fixture.agent;
    for (surface, conversation) in Surface::ALL.into_iter().zip(callers.begin().await) {
        let recorded = &recorded_id(&conversation);
        let run = Uuid::now_v7().to_string();
        agent.try_start(agent.start_request(recorded, &run, Vec::new())).await.unwrap();
        let parts = vec![text_part(1, "so far"), end(2, RunOutcome::Stopped)];
        agent.try_parts(agent.parts_request(recorded, &run, 0, parts)).await.unwrap();
        let answer = callers.ask(surface, &conversation, "hello").await;
        assert_eq!(answer.status, 200, "{surface:?}: {}", answer.text());
        assert!(answer.text().contains("fine"), "{surface:?}: {}", answer.text());
        let texts = eventually("the recorded answers", || async {
            let events = agent.events(agent.list_request(recorded)).await;
            let texts = json!(events.iter().map(|event| format!("{event:?}")).collect::<Vec<_>>()).to_string();
            texts.contains("fine").then_some(texts)
        })
        .await;
        assert!(texts.find("so far") < texts.find("fine"), "{surface:?}: {texts}");
    }
}

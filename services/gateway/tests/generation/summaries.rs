//! Summaries of long histories.

use std::time::Duration;

use domain::event::HistorySummarised;
use domain::{Annotation, CallPurpose, Fact, RecordedEvent, Sequence, Version};
use event_log::LoggedSubject;
use futures::StreamExt as _;
use generation::SUMMARY_REQUEST;
use tokio::time::{Instant, sleep, timeout};
use wire::proto::operate::v1::{AgentSettings, ModelSettings, ProviderLogDetail, ProviderLogSettings, SummarySettings};

use crate::chat::Chat;
use crate::fake_server::{NAME, Reply};
use crate::node::Node;
use crate::stack::{DEADLINE, answered_by, run, shared};
use crate::texts::prose;

#[test]
fn a_long_history_is_summarised_and_the_next_context_uses_the_summary() {
    run(async {
        let stack = shared().await;
        let (server, node) = Node::with_replies(stack, vec![Reply::Text("noted")]).await;
        let agent = stack
            .agent(AgentSettings {
                summaries: Some(SummarySettings {
                    model: Some(ModelSettings { server: "echo".to_owned(), ..ModelSettings::default() }),
                    tokens_min: 1_000,
                    tokens_kept: 200,
                }),
                provider_logs: Some(ProviderLogSettings { detail: ProviderLogDetail::Facts.into(), days: 1 }),
                ..answered_by(NAME)
            })
            .await;
        let chat = Chat::begin(stack, &agent).await;
        let mut summary = None;
        for _ in 0..4 {
            assert_eq!(summary, None, "too early");
            let handle = chat.say(&node, &prose(150)).await;
            chat.wait_for_finish(&node, handle.run).await;
            summary = summary_of(&chat.events(&node).await);
        }
        let summary = wait_for_summary(&chat, &node).await;
        assert_eq!(summary.text, format!("echo: {SUMMARY_REQUEST}"));
        wait_for_log(&chat, CallPurpose::Answer).await;
        wait_for_log(&chat, CallPurpose::Summary).await;
        let through = summary.through;
        let events = chat.events(&node).await;
        let next = events.iter().find(|event| event.version == through.next());
        assert!(next.is_some_and(|event| event.version > Version(3)), "{through}");
        let handle = chat.say(&node, "and then?").await;
        chat.wait_for_finish(&node, handle.run).await;
        let request = server.requests().pop().unwrap().to_string();
        assert!(request.contains(SUMMARY_REQUEST));
        assert!(request.matches("w150").count() < 4);
    });
}

/// Waits until a call of the conversation for this purpose is logged.
async fn wait_for_log(chat: &Chat<'_>, purpose: CallPurpose) {
    let mut messages = chat.record().follow_logs(Sequence(0));
    let finding = async {
        while let Some(message) = messages.next().await {
            let message = message.unwrap();
            let is_theirs = message.subject == LoggedSubject::Conversation(chat.key.clone());
            if is_theirs && message.open().unwrap().call.purpose == purpose {
                return;
            }
        }
    };
    timeout(DEADLINE, finding).await.expect("a logged call");
}

async fn wait_for_summary(chat: &Chat<'_>, node: &Node) -> HistorySummarised {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(summary) = summary_of(&chat.events(node).await) {
            return summary;
        }
        assert!(Instant::now() < deadline, "no summary comes");
        sleep(Duration::from_millis(20)).await;
    }
}

fn summary_of(events: &[RecordedEvent]) -> Option<HistorySummarised> {
    let mut summaries = events.iter().filter_map(|event| match &event.event.fact {
        Fact::Annotation(Annotation::HistorySummarised(summary)) => Some(summary.clone()),
        _ => None,
    });
    summaries.next()
}

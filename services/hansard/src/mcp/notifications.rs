//! The messages of a stream of notifications.

use std::collections::VecDeque;
use std::time::Duration;

use models::EventData;
use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

/// The longest time without a byte: the gateway sends comments more often.
const SILENCE_MAX: Duration = Duration::from_mins(1);

/// An open stream. Dropping it ends the subscription.
#[derive(Debug)]
pub(super) struct Notifications {
    response: Response,
    events: EventData,
    received: VecDeque<Vec<u8>>,
}

impl Notifications {
    pub(super) fn of(response: Response) -> Self {
        Self { response, events: EventData::default(), received: VecDeque::new() }
    }

    /// The next message; `None`: the stream has ended or is lost.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(data) = self.received.pop_front() {
                // Events without data only keep the connection open.
                if let Ok(message) = serde_json::from_slice(&data) {
                    return Some(message);
                }
                continue;
            }
            let chunk = timeout(SILENCE_MAX, self.response.chunk()).await.ok()?.ok()??;
            self.events.push(&chunk, &mut self.received).ok()?;
        }
    }
}

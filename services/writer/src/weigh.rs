//! What new events weigh: counted once, before their command waits for its turn, and kept with them.

use domain::NewEvent;
use wire::status::{Problem, Reason};

use crate::problem::RETRY_AFTER;

/// Requests of more bytes are counted off the threads that serve calls: so many take 1 to 2 ms, 15 at worst.
const COUNTED_IN_PLACE_BYTES_MAX: usize = 64 * 1_024;

/// The events of a request of `bytes` bytes, each with its tokens.
///
/// # Errors
/// The process is ending.
pub async fn weigh(events: Vec<NewEvent>, bytes: usize) -> Result<Vec<NewEvent>, Problem> {
    if bytes <= COUNTED_IN_PLACE_BYTES_MAX {
        return Ok(count(events));
    }
    let counting = tokio::task::spawn_blocking(|| count(events));
    counting.await.map_err(|_| {
        Problem::new(Reason::Draining, "this writer is ending: ask another")
            .retry_after(RETRY_AFTER)
    })
}

fn count(mut events: Vec<NewEvent>) -> Vec<NewEvent> {
    for event in &mut events {
        event.tokens = tokens::of_fact(&event.fact);
    }
    events
}

#[cfg(test)]
mod tests {
    use domain::event::SystemNoted;
    use domain::event::{MessageAppended, Role};
    use domain::{Fact, Part};

    use super::*;

    fn new_event(fact: Fact) -> NewEvent {
        NewEvent {
            id: None,
            occurred_at: None,
            metadata: None,
            tokens: 0,
            fact,
        }
    }

    fn said(text: &str) -> NewEvent {
        new_event(Fact::MessageAppended(MessageAppended {
            role: Role::User,
            parts: vec![Part::Text(text.to_owned())],
            author: None,
            model: None,
            provider: None,
            provider_response_id: None,
            finish_reason: None,
            usage: None,
        }))
    }

    #[tokio::test]
    async fn events_are_counted_alike_in_place_and_off_it() {
        let note = Fact::SystemNoted(SystemNoted {
            topic: None,
            text: "unread".to_owned(),
        });
        let events = vec![said("hello world"), new_event(note)];
        for bytes in [COUNTED_IN_PLACE_BYTES_MAX, COUNTED_IN_PLACE_BYTES_MAX + 1] {
            let weighed = weigh(events.clone(), bytes).await.unwrap();
            let tokens: Vec<u32> = weighed.iter().map(|event| event.tokens).collect();
            assert_eq!(tokens, [tokens::of_fact(&events[0].fact), 0], "{bytes}");
        }
    }
}

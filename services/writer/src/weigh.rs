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

    fn said(text: &str) -> NewEvent {
        NewEvent::from(Fact::MessageAppended(MessageAppended::said(
            Role::User,
            vec![Part::Text(text.to_owned())],
        )))
    }

    #[tokio::test]
    async fn events_are_counted_alike_in_place_and_off_it() {
        let note = Fact::from(SystemNoted {
            topic: None,
            text: "unread".to_owned(),
        });
        let events = vec![said("hello world"), NewEvent::from(note)];
        for bytes in [COUNTED_IN_PLACE_BYTES_MAX, COUNTED_IN_PLACE_BYTES_MAX + 1] {
            let weighed = weigh(events.clone(), bytes).await.unwrap();
            let tokens: Vec<u32> = weighed.iter().map(|event| event.tokens).collect();
            assert_eq!(tokens, [tokens::of_fact(&events[0].fact), 0], "{bytes}");
        }
    }
}

//! Counts the tokens of new events, before their command waits in the queue of its conversation.

use domain::NewEvent;
use wire::status::{Problem, Reason};

use crate::problem::RETRY_AFTER;

/// Larger requests are counted on a blocking thread. Counting this number of bytes takes 1 to 2 ms, at most 15 ms.
const COUNTED_IN_PLACE_BYTES_MAX: usize = 64 * 1_024;

/// Sets the token counts of the events of a request of `bytes` bytes.
/// Errors: the process is shutting down.
pub(crate) async fn count_tokens(events: Vec<NewEvent>, bytes: usize) -> Result<Vec<NewEvent>, Problem> {
    if bytes <= COUNTED_IN_PLACE_BYTES_MAX {
        return Ok(count(events));
    }
    let counting = tokio::task::spawn_blocking(|| count(events));
    counting.await.map_err(|_| {
        let message = "this writer is shutting down: call another writer";
        Problem::new(Reason::Draining, message).retry_after(RETRY_AFTER)
    })
}

fn count(mut events: Vec<NewEvent>) -> Vec<NewEvent> {
    for event in &mut events {
        event.tokens = tokens::count_fact(&event.fact);
    }
    events
}

#[cfg(test)]
mod tests {
    use domain::event::SystemNoted;
    use domain::event::{MessageAppended, Role};
    use domain::{Fact, Part};

    use super::*;

    #[tokio::test]
    async fn both_threads_count_the_same() {
        let parts = vec![Part::Text("hello world".to_owned())];
        let message = Fact::MessageAppended(MessageAppended::new(Role::User, parts));
        let note = Fact::from(SystemNoted { topic: None, text: "unread".to_owned() });
        let events = vec![NewEvent::from(message), NewEvent::from(note)];
        for bytes in [COUNTED_IN_PLACE_BYTES_MAX, COUNTED_IN_PLACE_BYTES_MAX + 1] {
            let counted = count_tokens(events.clone(), bytes).await.unwrap();
            let tokens: Vec<u32> = counted.iter().map(|event| event.tokens).collect();
            assert_eq!(tokens, [tokens::count_fact(&events[0].fact), 0], "{bytes}");
        }
    }
}

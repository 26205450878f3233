//! Counts the tokens of new events, before their command waits in the queue of its conversation. The caller is authorized before:
//! the counting is work of its tenant.

use domain::{Action, NewEvent};
use runtime::compute::Compute;
use wire::status::Problem;

use crate::{Intent, Writer, problem};

/// Larger requests are counted in the turn of their tenant. Counting this number of bytes takes 1 to 2 ms, at most 15 ms.
const COUNTED_IN_PLACE_BYTES_MAX: usize = 64 * 1_024;

/// Sets the token counts of the events of an intent, whose request has `bytes` bytes.
/// Errors: too much work of the tenant waits.
pub(crate) async fn count_tokens(writer: &Writer, intent: &mut Intent, bytes: usize) -> Result<(), Problem> {
    let tenant = intent.access.tenant.tenant().as_str();
    let events = match &mut intent.command.action {
        Action::Append { events, .. } => events,
        Action::Create(create) => &mut create.events,
        Action::StartRun(start) => &mut start.events,
        Action::FinishRun(finish) => &mut finish.events,
        Action::Update(_)
        | Action::Archive
        | Action::Restore
        | Action::ChangeOwner { .. }
        | Action::Erase { .. }
        | Action::StopRun(_) => return Ok(()),
    };
    count_in_turn(&writer.compute, tenant, events, bytes).await
}

async fn count_in_turn(compute: &Compute, tenant: &str, events: &mut [NewEvent], bytes: usize) -> Result<(), Problem> {
    if bytes <= COUNTED_IN_PLACE_BYTES_MAX {
        count(events);
        return Ok(());
    }
    compute.run(tenant, || count(events)).await.map_err(problem::from_busy)
}

fn count(events: &mut [NewEvent]) {
    for event in events {
        event.tokens = tokens::count_fact(&event.fact);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, mpsc};

    use domain::event::SystemNoted;
    use domain::event::{MessageAppended, Role};
    use domain::{Fact, Part};
    use tokio::sync::Semaphore;

    use super::*;

    /// A request that is counted in place, and one that waits for the turn of its tenant.
    const SIZES: [usize; 2] = [COUNTED_IN_PLACE_BYTES_MAX, COUNTED_IN_PLACE_BYTES_MAX + 1];

    fn events() -> Vec<NewEvent> {
        let parts = vec![Part::Text("hello world".to_owned())];
        let message = Fact::MessageAppended(MessageAppended::new(Role::User, parts));
        let note = Fact::from(SystemNoted { topic: None, text: "unread".to_owned() });
        vec![NewEvent::from(message), NewEvent::from(note)]
    }

    #[tokio::test]
    async fn small_and_large_requests_are_counted_alike() {
        for bytes in SIZES {
            let mut counted = events();
            count_in_turn(&Compute::default(), "acme", &mut counted, bytes).await.unwrap();
            let tokens: Vec<u32> = counted.iter().map(|event| event.tokens).collect();
            assert_eq!(tokens, [tokens::count_fact(&counted[0].fact), 0], "{bytes}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn large_requests_of_one_tenant_delay_no_other() {
        let compute = Compute::default();
        let (started, answered) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        // All that one tenant may run at once.
        let most = (std::thread::available_parallelism().unwrap().get() / 2).max(1);
        for _ in 0..most {
            let (compute, started, ended) = (compute.clone(), Arc::clone(&started), Arc::clone(&ended));
            let work = move || {
                started.add_permits(1);
                // Until the test drops the sender.
                let _ = ended.lock().unwrap().recv();
            };
            tokio::spawn(async move { compute.run("greedy", work).await });
        }
        started.acquire_many(u32::try_from(most).unwrap()).await.unwrap().forget();
        let greedy: Vec<_> = (0..20)
            .map(|_| {
                let (compute, answered) = (compute.clone(), Arc::clone(&answered));
                tokio::spawn(async move {
                    count_in_turn(&compute, "greedy", &mut events(), SIZES[1]).await.unwrap();
                    answered.add_permits(1);
                })
            })
            .collect();
        for (tenant, bytes) in [("other", SIZES[1]), ("other", SIZES[0]), ("greedy", SIZES[0])] {
            count_in_turn(&compute, tenant, &mut events(), bytes).await.unwrap();
        }
        assert_eq!(answered.available_permits(), 0);
        drop(end);
        for request in greedy {
            request.await.unwrap();
        }
        assert_eq!(answered.available_permits(), 20);
    }
}

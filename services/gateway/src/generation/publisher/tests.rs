//! What is published together, and what waits.

use domain::{AgentId, ConversationId, ConversationKey, RunId, TenantId};
use runtime::config::Secret;
use uuid::Uuid;

use super::*;

const LONG: Duration = Duration::from_mins(1);
const MOMENT: Duration = Duration::from_millis(20);

fn publisher(keep_alive: Duration) -> (Outlet, Publisher) {
    let writer = WriterClient::at("http://127.0.0.1:1", Secret::default()).unwrap();
    let run = RunKey {
        agent: AgentId::parse("a").unwrap(),
        key: ConversationKey {
            tenant: TenantId::parse("t").unwrap(),
            conversation: ConversationId::parse("c").unwrap(),
        },
        run: RunId(Uuid::nil()),
    };
    Publisher::new(writer, run, keep_alive)
}

fn text(bytes: usize) -> RunPartKind {
    RunPartKind::TextDelta("x".repeat(bytes))
}

fn began(index: u32) -> RunPartKind {
    RunPartKind::CallBegan {
        index,
        call_id: domain::CallId::parse("c").unwrap(),
        tool_name: domain::ToolName::parse("t").unwrap(),
    }
}

async fn check(given: Vec<RunPartKind>, expected: &[&[RunPartKind]]) {
    let (outlet, mut publisher) = publisher(LONG);
    for kind in given {
        outlet.send(kind).await.unwrap();
    }
    drop(outlet);
    for batch in expected {
        assert_eq!(publisher.next_batch().await.as_deref(), Some(*batch));
    }
    assert_eq!(publisher.next_batch().await, None);
}

#[tokio::test]
async fn what_waits_goes_together_up_to_the_bounds() {
    let half = BATCH_BYTES / 2;
    check(vec![], &[]).await;
    check(vec![text(1), text(2), began(0)], &[&[text(3), began(0)]]).await;
    check(vec![text(half), text(half)], &[&[text(half), text(half)]]).await;
    check(
        vec![text(half), text(half), text(1)],
        &[&[text(half), text(half)], &[text(1)]],
    )
    .await;
    let many: Vec<_> = (0..=500).map(began).collect();
    check(many.clone(), &[&many[..500], &many[500..]]).await;
}

#[tokio::test]
async fn silence_is_followed_by_a_sign_of_life() {
    let (_outlet, mut publisher) = publisher(MOMENT);
    let sign = [RunPartKind::KeptAlive];
    assert_eq!(publisher.next_batch().await.as_deref(), Some(&sign[..]));
}

#[tokio::test]
async fn no_more_waits_than_there_is_room_for() {
    let check = async |kind: RunPartKind, room: usize| {
        let (outlet, mut publisher) = publisher(LONG);
        for _ in 0..room {
            outlet.send(kind.clone()).await.unwrap();
        }
        let beyond = timeout(MOMENT, outlet.send(kind.clone())).await;
        assert!(beyond.is_err(), "{room} is the most");
        publisher.next_batch().await.unwrap();
        let beyond = timeout(LONG, outlet.send(kind.clone())).await;
        assert!(matches!(beyond, Ok(Ok(()))));
        drop(publisher);
        assert_eq!(outlet.send(kind).await, Err(Closed));
    };
    check(RunPartKind::KeptAlive, PARTS_WAITING_MAX).await;
    let bytes = usize::try_from(BYTES_WAITING_MAX).unwrap();
    check(text(bytes), 1).await;
    check(text(bytes / 4), 4).await;
}

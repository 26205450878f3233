//! Batches and the bounds of the queue.

use runtime::config::Secret;

use super::*;
use crate::run_key::test_run;

const LONG: Duration = Duration::from_mins(1);
const MOMENT: Duration = Duration::from_millis(20);

fn publisher(keep_alive: Duration) -> (PartSender, Publisher) {
    let writer = WriterClient::at("http://127.0.0.1:1", Secret::default()).unwrap();
    Publisher::new(writer, test_run(), keep_alive)
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
    let (part_sender, mut publisher) = publisher(LONG);
    for kind in given {
        part_sender.send(kind).await.unwrap();
    }
    drop(part_sender);
    for batch in expected {
        assert_eq!(publisher.next_batch().await.as_deref(), Some(*batch));
    }
    assert_eq!(publisher.next_batch().await, None);
}

#[tokio::test]
async fn queued_parts_form_batches_up_to_the_bounds() {
    let half = BATCH_BYTES / 2;
    check(vec![], &[]).await;
    check(vec![text(1), text(2), began(0)], &[&[text(3), began(0)]]).await;
    check(vec![text(half), text(half)], &[&[text(half), text(half)]]).await;
    check(vec![text(half), text(half), text(1)], &[&[text(half), text(half)], &[text(1)]]).await;
    let many: Vec<_> = (0..=500).map(began).collect();
    check(many.clone(), &[&many[..500], &many[500..]]).await;
}

#[tokio::test]
async fn a_keep_alive_part_follows_silence() {
    let (_part_sender, mut publisher) = publisher(MOMENT);
    let keep_alive = [RunPartKind::KeptAlive];
    assert_eq!(publisher.next_batch().await.as_deref(), Some(&keep_alive[..]));
}

#[tokio::test]
async fn senders_wait_while_the_queue_is_full() {
    let check = async |kind: RunPartKind, room: usize| {
        let (part_sender, mut publisher) = publisher(LONG);
        for _ in 0..room {
            part_sender.send(kind.clone()).await.unwrap();
        }
        let beyond = timeout(MOMENT, part_sender.send(kind.clone())).await;
        assert!(beyond.is_err(), "{room} is the maximum");
        publisher.next_batch().await.unwrap();
        let beyond = timeout(LONG, part_sender.send(kind.clone())).await;
        assert!(matches!(beyond, Ok(Ok(()))));
        drop(publisher);
        assert_eq!(part_sender.send(kind).await, Err(Closed));
    };
    check(RunPartKind::KeptAlive, PARTS_WAITING_MAX).await;
    let bytes = usize::try_from(BYTES_WAITING_MAX).unwrap();
    check(text(bytes), 1).await;
    check(text(bytes / 4), 4).await;
}

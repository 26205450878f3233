//! The catalogue in memory is read again before it expires.

use domain::{ConversationId, TenantId};
use event_log::{Record, RecordConfig};
use tokio::time::timeout;

use super::*;
use crate::known_segments::KnownSegments;

/// An archive that read its catalogue so long ago.
async fn read_ago(record: &Record, key: &ConversationKey, age: Duration) -> Archive {
    let archive = Archive::of(record);
    assert_eq!(archive.hibernated(key, Sequence(0)).await, Ok(None));
    let known = archive.known.get().unwrap();
    archive.known.set(Known { read_at: Instant::now().checked_sub(age), ..known });
    archive
}

async fn is_read_again(archive: &Archive) -> bool {
    let is_young = async {
        while archive.known.recent(Duration::from_secs(1)).is_none() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), is_young).await.is_ok()
}

/// A frozen server answers nothing: calls do not wait for the read that they start.
#[tokio::test]
async fn an_old_catalogue_is_read_again_in_the_background() {
    let mut server = devstack::test::nats().await;
    let record = Record::create(RecordConfig::new(server.url())).await.unwrap();
    let key = ConversationKey {
        tenant: TenantId::parse("acme").unwrap(),
        conversation: ConversationId::parse("chat").unwrap(),
    };
    let archive = read_ago(&record, &key, REFRESH_AGE).await;
    server.pause();
    for _ in 0..3 {
        assert_eq!(archive.hibernated(&key, Sequence(0)).await, Ok(None));
    }
    assert!(archive.known.recent(Duration::from_secs(1)).is_none());
    server.resume();
    assert!(is_read_again(&archive).await);
}

#[tokio::test]
async fn one_call_at_a_time_reads_an_old_catalogue_again() {
    tokio::time::pause();
    let known = KnownSegments::default();
    assert!(known.begin_refresh(REFRESH_AGE).is_none(), "nothing is known");
    let read = |read_at| Known { revision: None, read_at, segments: Arc::default() };
    known.set(read(Some(Instant::now())));
    let moment = Duration::from_millis(1);
    tokio::time::advance(REFRESH_AGE.saturating_sub(moment)).await;
    assert!(known.begin_refresh(REFRESH_AGE).is_none(), "young");
    tokio::time::advance(moment).await;
    let reading = known.begin_refresh(REFRESH_AGE);
    assert!(reading.is_some());
    assert!(known.begin_refresh(REFRESH_AGE).is_none(), "being read");
    drop(reading);
    assert!(known.begin_refresh(REFRESH_AGE).is_some());
    known.set(read(None));
    assert!(known.begin_refresh(REFRESH_AGE).is_none(), "expired");
}

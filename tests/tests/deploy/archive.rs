//! The archive catalogue with the roles' credentials: operators change it, the other roles read it.

use event_log::{ArchiveEntry, Record};
use tests::program;
use tests::settings;
use uuid::Uuid;

use tests::nats_accounts;

#[tokio::test(flavor = "multi_thread")]
async fn operators_change_the_catalogue_and_other_roles_read_it() {
    let mut stack = nats_accounts::prepare(program!()).await;
    stack.writer.start().await;
    let entry = ArchiveEntry {
        segment: Uuid::now_v7(),
        partition: 1,
        store: "file:///srv/archive".to_owned(),
        sealed: None,
        loose: vec!["a".to_owned()],
    };
    let operator = nats_accounts::record(&stack).await;
    let put = operator.put_archive_entry(&entry, None).await.expect("an entry");
    let plain = settings::record(&stack.servers);
    let of = |user: &str| Record::open(nats_accounts::record_config(&plain.nats_url, user));
    for user in ["writer", "projector", "gateway"] {
        let record = of(user).await.expect("a record");
        let seen = record.archive_entries(None).await.expect(user);
        assert_eq!(seen, std::slice::from_ref(&put), "{user}");
        let revision = record.archive_revision().await.expect(user);
        assert_ne!(revision, None, "{user}");
    }
    let other = ArchiveEntry { store: "file:///elsewhere".to_owned(), ..entry };
    for user in ["writer", "projector", "gateway"] {
        let record = of(user).await.expect("a record");
        record.put_archive_entry(&other, Some(put.revision)).await.expect_err(user);
        record.remove_archive_entry(&put).await.expect_err(user);
    }
    let left = operator.archive_entries(None).await.expect("a catalogue");
    assert_eq!(left, [put]);
}

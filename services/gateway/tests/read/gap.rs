//! A missing commit among the commits without rows.

use devstack::test;
use event_log::ArchiveEntry;
use tonic::Code;
use uuid::Uuid;

use crate::author::Author;
use crate::client::{events_request, target};
use crate::errors::check;
use crate::facts::user;
use crate::stack::{Stack, run};

/// A conversation with one commit in the middle that is not in the record.
async fn with_gap(stack: &Stack) -> Author<'_> {
    let mut author = Author::begin(stack).await;
    author.append(vec![user("2")]).await;
    author.lose(vec![user("3")]);
    author.append(vec![user("4")]).await;
    author.append(vec![user("5")]).await;
    author
}

#[test]
fn a_gap_within_a_page_is_reported() {
    run(async {
        let nats = test::nats().await;
        let stack = Stack::over(&nats, &test::database().await.url).await;
        let author = with_gap(&stack).await;
        let read = async || {
            let request = events_request(target(&author));
            author.stack.client.events(request).await
        };
        // Without an archive, the commit is lost.
        let lost = check(read().await, Code::DataLoss, "DATA_CORRUPT", "");
        let (conversation, after) = (&author.key.conversation, "after version 2,");
        assert!(lost.message().contains(conversation.as_str()), "{lost}");
        assert!(lost.message().contains(after), "{lost}");
        // With an archive, the commit may be there, and the rows will have it.
        stack.record.ensure_archive().await.unwrap();
        let entry = ArchiveEntry {
            segment: Uuid::now_v7(),
            partition: 0,
            store: "file:///srv/archive".to_owned(),
            sealed: None,
            loose: Vec::new(),
        };
        stack.record.put_archive_entry(&entry, None).await.unwrap();
        check(read().await, Code::Unavailable, "RECORD_UNAVAILABLE", "");
        stack.shutdown.begin();
    });
}

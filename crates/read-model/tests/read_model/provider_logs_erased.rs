//! Logged calls are erased with their conversation, in any order of the writes.

use std::time::Duration;

use domain::{Fact, Lifecycle};
use read_model::projections::conversations::residue;
use read_model::queries::provider_logs;

use crate::fixture::{Author, Projection, access};
use crate::provider_logs::{Log, all, call, key, listed};

#[tokio::test]
async fn calls_are_erased_with_their_conversation() {
    let mut projection = Projection::new().await;
    let mut log = Log::new(&projection.model).await;
    let mut author = Author::new("c");
    let items = vec![author.begin(1), author.say(2, "hello")];
    projection.apply(items).await;
    let mut foreign = call("c", 0);
    foreign.key = key("other", "c");
    log.write(vec![call("c", 0), call("d", 0), foreign]).await;
    let erased = [&key("acme", "c")];
    let tombstone = author.commit(3, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
    projection.apply(vec![tombstone]).await;
    log.write(vec![call("c", 1)]).await;
    let rows = listed(&projection.model, &all()).await;
    let left: Vec<&str> = rows.iter().map(|row| row.conversation.as_str()).collect();
    assert_eq!(left, ["d"]);
    assert_eq!(residue(&projection.model, &erased).await, Ok(0));
    let theirs = provider_logs(&projection.model, &access("other"), &all()).await;
    assert_eq!(theirs.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_call_outlives_a_concurrent_erasure() {
    let mut projection = Projection::new().await;
    let mut log = Log::new(&projection.model).await;
    let model = projection.model.clone();
    for round in 0..20 {
        let name = format!("c{round}");
        let mut author = Author::new(&name);
        let at = round * 2 + 1;
        projection.apply(vec![author.begin(at)]).await;
        let tombstone = author.commit(at + 1, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]);
        let writing = async {
            for second in 0..6 {
                log.write(vec![call(&name, second)]).await;
            }
        };
        let erasing = async {
            tokio::time::sleep(Duration::from_micros(round * 300)).await;
            projection.apply(vec![tombstone]).await;
        };
        tokio::join!(writing, erasing);
        let erased = [&key("acme", &name)];
        assert_eq!(residue(&model, &erased).await, Ok(0), "{round}");
    }
}

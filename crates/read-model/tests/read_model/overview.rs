//! The state of the projection and the schema for operators.

use domain::{Fact, Lifecycle, Partition, Sequence};
use read_model::projections::conversations::lease::{self, Holder};
use read_model::projections::conversations::overview::{ErasedCommits, erased_commits, overview};
use read_model::projections::conversations::parking;
use read_model::{ReadModel, ReadModelConfig, SchemaName, schema_status};

use crate::fixture::{Author, Projection};

#[tokio::test]
async fn the_overview_lists_holders_and_checkpoints() {
    let mut projection = Projection::new().await;
    let mut bad = Author::new("bad");
    let items = vec![bad.begin(1), bad.garbage(2), Author::new("good").begin(3)];
    projection.apply(items).await;
    let model = &projection.model;
    // One projector is gone; its lease has expired.
    for (holder, ttl_ms) in [("b", 60_000), ("gone", 0)] {
        let holder = Holder(holder.to_owned());
        lease::heartbeat(model, &holder, ttl_ms).await.unwrap();
        let partition = Partition(if ttl_ms == 0 { 2 } else { 1 });
        lease::take(model, partition, &holder, ttl_ms).await.unwrap().unwrap();
    }
    let overview = overview(model).await.unwrap();
    assert_eq!(overview.projectors, [Holder("b".to_owned())]);
    let rows: Vec<_> = overview
        .partitions
        .iter()
        .map(|one| {
            let holder = one.holder.as_ref().map(|holder| holder.0.as_str());
            (one.epoch, one.checkpoint.0, holder, one.parked)
        })
        .collect();
    assert_eq!(rows[0], (1, 3, Some("a"), 1));
    assert_eq!(rows[1], (1, 0, Some("b"), 0));
    assert_eq!(rows[2], (1, 0, None, 0));
    assert_eq!((rows[3], rows.len()), ((0, 0, None, 0), 8));

    let parked = parking::find(model, &bad.key).await.unwrap().unwrap();
    assert_eq!(parked.position.sequence, Sequence(2));
    let good = parking::find(model, &Author::new("good").key).await;
    assert_eq!(good.unwrap(), None);
}

#[tokio::test]
async fn erased_commits_are_counted() {
    let mut projection = Projection::new().await;
    assert_eq!(erased_commits(&projection.model).await, Ok(Some(Vec::new())));
    let (mut one, mut two, mut kept) = (Author::new("a"), Author::new("b"), Author::new("c"));
    let mut items = vec![one.begin(1), two.begin(2), kept.begin(3), one.say(4, "x")];
    items.push(one.commit(5, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]));
    items.push(two.commit(6, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]));
    projection.apply(items).await;
    let removed = ErasedCommits { partition: Partition(0), commits: 3 };
    assert_eq!(erased_commits(&projection.model).await, Ok(Some(vec![removed])));
}

#[tokio::test]
async fn the_schema_status_is_read() {
    let url = devstack::test::database().await.url;
    let model = ReadModel::connect_lazy(&ReadModelConfig::new(url)).unwrap();
    assert!(schema_status(&model).await.unwrap_err().is_unavailable());
    model.migrate().await.unwrap();
    let status = schema_status(&model).await.unwrap();
    assert_eq!(status.migrations.found, status.migrations.known);
    let live = status.live.iter().find(|live| live.projection == "conversations");
    assert_eq!(live.unwrap().schema, SchemaName::FIRST.to_string());
}

//! Restarts of Postgres: reads and writes fail as unavailable, and work again with the same handle.

use std::time::Duration;

use devstack::test::postgres;
use read_model::projections::conversations::{ApplyError, Item, lease};
use read_model::{ReadModel, ReadModelConfig, conversation};
use tokio::time::timeout;

use crate::fixture::{Author, Projection, access, sequence as sequence_of};

const DEADLINE: Duration = Duration::from_secs(30);

async fn is_up(model: &ReadModel) -> bool {
    match model.check().await {
        Ok(()) => true,
        Err(error) => {
            assert!(error.is_unavailable(), "{error}");
            false
        }
    }
}

#[tokio::test]
async fn a_crash_is_survived() {
    let mut server = postgres().await;
    server.create_database("restart").await.unwrap();
    let mut projection = Projection::at(&server.database_url("restart")).await;
    let mut author = Author::new("c");
    let mut items = vec![author.begin(1)];
    let id = author.key.conversation.clone();
    projection.apply(items.clone()).await;
    for sequence in 2..5 {
        let item = author.say(sequence, "x");
        items.push(item.clone());
        projection.apply(vec![item]).await;
        // Several idle connections, which all break.
        let model = &projection.model;
        futures::future::join_all((0..5).map(|_| is_up(model))).await;
        server.kill();
        let read = conversation(&projection.model, &access("acme"), &id).await;
        assert!(read.unwrap_err().is_unavailable());
        server.restart().await.unwrap();
        // A crash may lose the last transactions completely: continue from the checkpoint.
        projection.checkpoint = lease::checkpoints(&projection.model).await.unwrap()[0];
        let reached = projection.checkpoint.sequence;
        let rest: Vec<Item> = items.iter().filter(|item| sequence_of(item) > reached).cloned().collect();
        if !rest.is_empty() {
            projection.apply(rest).await;
        }
        assert_eq!(projection.row(&author).await.unwrap().head, *author.head());
    }
}

#[tokio::test]
async fn a_write_on_a_lost_connection_can_be_retried() {
    let mut server = postgres().await;
    server.create_database("restart").await.unwrap();
    let mut projection = Projection::at(&server.database_url("restart")).await;
    let mut author = Author::new("c");
    server.kill();
    server.restart().await.unwrap();
    let items = vec![author.begin(1)];
    let refused = projection.try_apply(items.clone()).await.unwrap_err();
    assert!(matches!(&refused, ApplyError::ReadModel(error) if error.is_unavailable()), "{refused}");
    projection.apply(items).await;
}

#[tokio::test]
async fn a_frozen_server_causes_a_timeout() {
    let mut server = postgres().await;
    server.create_database("frozen").await.unwrap();
    let connect = |timeout_ms| {
        let config = ReadModelConfig {
            acquire_timeout_ms: timeout_ms,
            statement_timeout_ms: timeout_ms,
            ..ReadModelConfig::new(server.database_url("frozen"))
        };
        ReadModel::connect_lazy(&config).unwrap()
    };
    // The second one has a longer timeout, and still waits when the first one has ended.
    let (model, patient) = (connect(200), connect(30_000));
    model.migrate().await.unwrap();
    assert!(is_up(&patient).await);
    server.pause();
    tokio::select! {
        biased;
        _ = is_up(&patient) => panic!("both have the same timeout"),
        first = timeout(DEADLINE, is_up(&model)) => assert!(!first.unwrap()),
    }
    server.resume();
    let up = async {
        while !is_up(&model).await {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, up).await.unwrap();
}

#[tokio::test]
async fn connections_are_bounded() {
    let url = devstack::test::database().await.url;
    let config = ReadModelConfig { connections_max: 1, acquire_timeout_ms: 100, ..ReadModelConfig::new(&url) };
    let model = ReadModel::connect_lazy(&config).unwrap();
    model.migrate().await.unwrap();
    // One connection answers at least one of many checks. On a busy machine a whole round may time out.
    let some_are_up = async {
        let many = || futures::future::join_all((0..50).map(|_| is_up(&model)));
        while !many().await.contains(&true) {}
    };
    timeout(DEADLINE, some_are_up).await.unwrap();
    let one_is_up = async { while !is_up(&model).await {} };
    timeout(DEADLINE, one_is_up).await.unwrap();
}

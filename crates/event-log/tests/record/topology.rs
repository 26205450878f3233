//! Creation of a record, and rejected configurations.

use async_nats::jetstream::{Context, stream};
use devstack::NatsServer;
use event_log::{Durability, Record, RecordConfig, RecordError};
use futures::future::join_all;

use crate::support::{Writer, config, jetstream};

async fn stream_config(context: &Context, name: &str) -> stream::Config {
    let stream = context.get_stream(name).await.unwrap();
    stream.cached_info().config.clone()
}

fn with(server: &NatsServer, change: impl FnOnce(&mut RecordConfig)) -> RecordConfig {
    let mut config = config(&server.url());
    change(&mut config);
    config
}

#[tokio::test]
async fn several_processes_may_create_it_at_once() {
    let server = devstack::test::nats().await;
    let creating = (0..6).map(|_| Record::create(config(&server.url())));
    let records = join_all(creating).await;
    let ids: Vec<_> = records.iter().map(|record| record.as_ref().unwrap().id()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let opened = Record::open(config(&server.url())).await.unwrap();
    assert_eq!((opened.id(), opened.partitions()), (ids[0], 8));
    assert_eq!(opened.payload_bytes_max(), 8 * 1024 * 1024 - 4 * 1024);
}

#[tokio::test]
async fn another_number_of_partitions_is_rejected() {
    let server = devstack::test::nats().await;
    let made = Record::create(config(&server.url())).await.unwrap();
    for partitions in [1, 7, 9] {
        let other = || with(&server, |config| config.partitions = partitions);
        for refused in [Record::open(other()).await, Record::create(other()).await] {
            let error = refused.unwrap_err();
            let expected = format!("the record has 8 partitions, {partitions} are configured: configure 8");
            assert_eq!(error.to_string(), expected);
        }
    }
    let again = Record::create(config(&server.url())).await.unwrap();
    assert_eq!(again.id(), made.id());
}

#[tokio::test]
async fn missing_streams_are_named_and_created() {
    let server = devstack::test::nats().await;
    let check = async |missing: &str| {
        let error = Record::open(config(&server.url())).await.unwrap_err();
        assert!(matches!(&error, RecordError::Missing { stream } if stream == missing), "{error:?}");
    };
    check("HANSARD_0").await;
    let made = Record::create(config(&server.url())).await.unwrap();
    let context = jetstream(&server).await;
    for stream in ["HANSARD_7", "KV_HANSARD_registry"] {
        context.delete_stream(stream).await.unwrap();
        check(stream).await;
        let again = Record::create(config(&server.url())).await.unwrap();
        assert_eq!(again.id(), made.id());
    }
}

#[tokio::test]
async fn foreign_streams_are_rejected() {
    let server = devstack::test::nats().await;
    let context = jetstream(&server).await;
    let foreign = |name: &str| stream::Config {
        name: name.to_owned(),
        subjects: vec![format!("{name}.>")],
        ..stream::Config::default()
    };
    let check = async |foreign: &str| {
        for refused in [Record::open(config(&server.url())).await, Record::create(config(&server.url())).await] {
            let error = refused.unwrap_err();
            assert!(matches!(&error, RecordError::Foreign { stream, .. } if stream == foreign), "{error:?}");
        }
    };
    context.create_stream(foreign("HANSARD_0")).await.unwrap();
    check("HANSARD_0").await;
    context.delete_stream("HANSARD_0").await.unwrap();
    Record::create(config(&server.url())).await.unwrap();
    // A stream of another record, such as a restored one.
    let mut other = stream_config(&context, "HANSARD_3").await;
    let record = "0011223344556677".to_owned();
    other.metadata.insert("hansard_record".to_owned(), record);
    context.update_stream(other).await.unwrap();
    check("HANSARD_3").await;
}

#[tokio::test]
async fn a_server_that_loses_data_is_rejected_by_default() {
    for (durability, seen) in [
        (devstack::Durability::Always, Durability::Durable),
        (
            devstack::Durability::ServerDefault,
            Durability::NotDurable { why: "it acknowledges before it syncs (sync_interval is not always)".to_owned() },
        ),
    ] {
        let server = devstack::test::nats_with(|config| config.durability = durability).await;
        let monitored = || {
            with(&server, |config| {
                config.monitor_url = Some(server.monitor_url());
            })
        };
        let accepting = || RecordConfig { accept_data_loss: true, ..monitored() };
        match (&seen, Record::create(monitored()).await) {
            (Durability::Durable, Ok(_)) => {}
            (_, Err(RecordError::NotDurable { why })) => assert!(why.contains("sync_interval")),
            (_, other) => panic!("{other:?}"),
        }
        let record = Record::create(accepting()).await.unwrap();
        assert_eq!(record.durability().await.unwrap(), seen);
        Record::open(monitored()).await.unwrap();
        // Unknown without the page.
        for monitor_url in [None, Some("http://127.0.0.1:1".to_owned()), Some(server.url().replace("nats", "http"))] {
            let record = Record::create(with(&server, |config| config.monitor_url = monitor_url));
            let seen = record.await.unwrap().durability().await.unwrap();
            assert_eq!(seen, Durability::Unknown);
        }
    }
}

#[tokio::test]
async fn a_stream_in_memory_is_not_durable() {
    let server = devstack::test::nats().await;
    Record::create(config(&server.url())).await.unwrap();
    let context = jetstream(&server).await;
    let mut config_of_5 = stream_config(&context, "HANSARD_5").await;
    context.delete_stream("HANSARD_5").await.unwrap();
    config_of_5.storage = stream::StorageType::Memory;
    context.create_stream(config_of_5).await.unwrap();
    let error = Record::create(config(&server.url())).await.unwrap_err();
    assert!(
        matches!(&error, RecordError::NotDurable { why } if why == "the stream HANSARD_5 is kept in memory"),
        "{error:?}"
    );
}

#[tokio::test]
async fn opening_times_out_without_a_server() {
    let mut server = devstack::test::nats().await;
    server.kill();
    let error = Record::open(config(&server.url())).await.unwrap_err();
    assert!(matches!(error, RecordError::Unavailable(_)), "{error:?}");
    server.restart().await.unwrap();
    server.pause();
    // Without the timeout it waits for ever.
    let config = config(&server.url());
    let opening = tokio::time::timeout(std::time::Duration::from_secs(30), Record::open(config));
    let error = opening.await.expect("a timeout").unwrap_err();
    assert!(matches!(error, RecordError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn corrupt_messages_are_named() {
    let server = devstack::test::nats().await;
    let record = crate::support::record_of_one(&server).await;
    let context = jetstream(&server).await;
    let ack = context.publish("hansard.0.acme.c", "not a commit".into());
    assert_eq!(ack.await.unwrap().await.unwrap().sequence, 1);
    let message = record.last(&Writer::of("c").key).await.unwrap().unwrap();
    let error = message.open().unwrap_err();
    let actual = error.to_string();
    assert_eq!(actual, "message 1 of stream HANSARD_0 is corrupt");
    assert_eq!(message.open_head().unwrap_err(), error);
    // An append is superseded by it, so that a rebase reports it.
    let outcome = record.append(&Writer::of("c").key, Writer::of("c").seal("x").append).await;
    assert!(
        matches!(&outcome, Ok(event_log::AppendOutcome::Superseded { last: Some(last) }) if *last == message),
        "{outcome:?}"
    );
}

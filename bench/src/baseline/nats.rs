//! Raw publishes: the record's messages, sequence checks, durability and stream configuration, without Hansard.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, Republish};
use async_nats::jetstream::{self, Context};
use bytes::Bytes;
use futures::future::try_join_all;
use uuid::Uuid;

use crate::latency::Measure;
use crate::pace::{ClosedLoop, pick};

/// The first subject token of the baseline's streams.
const SUBJECT: &str = "hansardbench";

#[derive(Clone)]
pub(crate) struct Publisher {
    contexts: Arc<[Context]>,
    partitions: u16,
}

impl Publisher {
    pub(crate) async fn connect(url: &str, partitions: u16, connections: usize) -> anyhow::Result<Self> {
        let open = || async {
            let client = async_nats::connect(url).await;
            anyhow::Ok(jetstream::new(client.context("NATS cannot be reached")?))
        };
        let contexts = try_join_all((0..connections.max(1)).map(|_| open())).await?;
        Ok(Self { contexts: contexts.into(), partitions })
    }

    /// Creates a stream with the configuration of each partition's stream; replaces streams of earlier runs.
    pub(crate) async fn make_streams(&self) -> anyhow::Result<()> {
        self.remove_streams().await;
        let Some(context) = self.contexts.first() else {
            return Ok(());
        };
        for partition in 0..self.partitions {
            let stream = context.get_stream(format!("HANSARD_{partition}")).await?;
            let record = &stream.cached_info().config;
            let subjects = format!("{SUBJECT}.{partition}.>");
            let republish = record.republish.as_ref().map(|republish| Republish {
                source: subjects.clone(),
                destination: format!("live.{subjects}"),
                headers_only: republish.headers_only,
            });
            let config = Config {
                name: stream_name(partition),
                republish,
                subjects: vec![subjects],
                metadata: std::collections::HashMap::new(),
                ..record.clone()
            };
            context.create_stream(config).await?;
        }
        Ok(())
    }

    /// Removes the streams; ignores missing ones.
    pub(crate) async fn remove_streams(&self) {
        let Some(context) = self.contexts.first() else {
            return;
        };
        for partition in 0..self.partitions {
            if let Err(error) = context.delete_stream(stream_name(partition)).await {
                tracing::debug!(partition, %error, "a stream of the baseline was not removed");
            }
        }
    }

    /// Publishes `payload` with an id and the expected last sequence; each worker has its own subjects.
    pub(crate) async fn publish(
        &self,
        closed: ClosedLoop,
        subjects_per_worker: usize,
        payload: Bytes,
    ) -> anyhow::Result<Measure> {
        let subjects_per_worker = subjects_per_worker.max(1);
        let subjects: Arc<[Subject]> =
            (0..closed.in_flight * subjects_per_worker).map(|number| subject(number, self.partitions)).collect();
        let shared = (Arc::clone(&self.contexts), subjects, payload);
        closed
            .measure(shared, move |(nats, subjects, payload), call| async move {
                let index = call.worker * subjects_per_worker + call.count % subjects_per_worker;
                let context = pick(&nats, call.worker)?;
                publish_one(context, pick(&subjects, index)?, payload).await
            })
            .await
    }
}

/// A subject and the sequence of its last message.
struct Subject {
    name: String,
    last: AtomicU64,
}

fn subject(number: usize, partitions: u16) -> Subject {
    let partition = number % usize::from(partitions.max(1));
    Subject { name: format!("{SUBJECT}.{partition}.bench.{}", Uuid::now_v7().simple()), last: AtomicU64::new(0) }
}

async fn publish_one(context: &Context, subject: &Subject, payload: Bytes) -> anyhow::Result<()> {
    let message = PublishMessage::build()
        .payload(payload)
        .message_id(Uuid::now_v7().to_string())
        .expected_last_subject_sequence(subject.last.load(Ordering::Relaxed));
    let ack = context.send_publish(subject.name.clone(), message).await?.await?;
    subject.last.store(ack.sequence, Ordering::Relaxed);
    Ok(())
}

fn stream_name(partition: u16) -> String {
    format!("HANSARD_BENCH_{partition}")
}

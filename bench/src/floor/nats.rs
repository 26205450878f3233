//! Raw publishes: the record's own messages, checks, durability and streams, with nothing around them.

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
use crate::pace::{Closed, closed_loop};

/// The subjects of the floor's streams begin with it.
const SUBJECT: &str = "hansardbench";

/// Connections to NATS that publish.
#[derive(Debug, Clone)]
pub struct Publisher {
    contexts: Arc<[Context]>,
    partitions: u16,
}

impl Publisher {
    /// Opens `connections` connections.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn connect(url: &str, partitions: u16, connections: usize) -> anyhow::Result<Self> {
        let open = || async {
            let client = async_nats::connect(url)
                .await
                .context("NATS cannot be reached")?;
            anyhow::Ok(jetstream::new(client))
        };
        let contexts = try_join_all((0..connections.max(1)).map(|_| open())).await?;
        Ok(Self {
            contexts: contexts.into(),
            partitions,
        })
    }

    /// Makes a stream beside each partition's, configured as that is; one that an earlier run left is made anew.
    ///
    /// # Errors
    /// NATS refuses.
    pub async fn make_streams(&self) -> anyhow::Result<()> {
        self.remove_streams().await;
        let Some(context) = self.contexts.first() else {
            return Ok(());
        };
        for partition in 0..self.partitions {
            let record = context.get_stream(format!("HANSARD_{partition}")).await?;
            let subjects = format!("{SUBJECT}.{partition}.>");
            let config = Config {
                name: stream_name(partition),
                republish: record
                    .cached_info()
                    .config
                    .republish
                    .as_ref()
                    .map(|republish| Republish {
                        source: subjects.clone(),
                        destination: format!("live.{subjects}"),
                        headers_only: republish.headers_only,
                    }),
                subjects: vec![subjects],
                metadata: std::collections::HashMap::new(),
                ..record.cached_info().config.clone()
            };
            context.create_stream(config).await?;
        }
        Ok(())
    }

    /// Removes the streams; those that are not there are no matter.
    pub async fn remove_streams(&self) {
        let Some(context) = self.contexts.first() else {
            return;
        };
        for partition in 0..self.partitions {
            if let Err(error) = context.delete_stream(stream_name(partition)).await {
                tracing::debug!(partition, %error, "no stream of a floor to remove");
            }
        }
    }

    /// Publishes `payload`, each to a subject of its own worker, each with the last sequence of its subject and an id.
    ///
    /// # Errors
    /// A publish is refused or not acknowledged.
    pub async fn publish(
        &self,
        closed: Closed,
        subjects_per_worker: usize,
        payload: Bytes,
    ) -> anyhow::Result<Measure> {
        let subjects_per_worker = subjects_per_worker.max(1);
        let subjects: Arc<[Subject]> = (0..closed.in_flight * subjects_per_worker)
            .map(|number| Subject::new(number, self.partitions))
            .collect();
        let contexts = Arc::clone(&self.contexts);
        closed_loop(closed, move |turn| {
            let (contexts, subjects) = (Arc::clone(&contexts), Arc::clone(&subjects));
            let payload = payload.clone();
            async move {
                let place = turn.worker * subjects_per_worker + turn.count % subjects_per_worker;
                let subject = subjects.get(place).context("no subject")?;
                let context = contexts
                    .get(turn.worker % contexts.len())
                    .context("no connection")?;
                publish_one(context, subject, payload).await
            }
        })
        .await
    }
}

/// A subject, and the sequence of its last message.
#[derive(Debug)]
struct Subject {
    name: String,
    last: AtomicU64,
}

impl Subject {
    fn new(number: usize, partitions: u16) -> Self {
        let partition = number % usize::from(partitions.max(1));
        let name = format!("{SUBJECT}.{partition}.bench.{}", Uuid::now_v7().simple());
        Self {
            name,
            last: AtomicU64::new(0),
        }
    }
}

async fn publish_one(context: &Context, subject: &Subject, payload: Bytes) -> anyhow::Result<()> {
    let message = PublishMessage::build()
        .payload(payload)
        .message_id(Uuid::now_v7().to_string())
        .expected_last_subject_sequence(subject.last.load(Ordering::Relaxed));
    let ack = context
        .send_publish(subject.name.clone(), message)
        .await?
        .await?;
    subject.last.store(ack.sequence, Ordering::Relaxed);
    Ok(())
}

fn stream_name(partition: u16) -> String {
    format!("HANSARD_BENCH_{partition}")
}

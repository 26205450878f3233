//! The entry of the layout on the server. A record that has not grown has none.

use std::sync::Arc;

use async_nats::jetstream::stream::Config;
use domain::{Layout, Sequence, Stage};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::stream_update::update;
use super::{LAYOUT_STREAM, LAYOUT_SUBJECT, LAYOUT_SUBJECTS, info};
use crate::connection::Connection;
use crate::connection::get::{MessageQuery, RawMessage};
use crate::error::Unavailable;

/// The entry on the server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Entry {
    /// The numbers of partitions of the generations.
    partitions: Vec<u16>,
    stage: StoredStage,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredStage {
    Announced,
    Closing,
    Open,
}

/// A layout and the revision of its entry; 0: no entry.
#[derive(Debug, Clone)]
pub(crate) struct StoredLayout {
    pub(crate) layout: Arc<Layout>,
    pub(crate) revision: Sequence,
}

impl StoredLayout {
    /// Reads the entry from the leader.
    pub(crate) async fn read(connection: &Connection, partitions: u16, deadline: Instant) -> Result<Self, Unavailable> {
        let info = info(connection, LAYOUT_STREAM, deadline).await?;
        if info.is_some() {
            let query = MessageQuery::LastOfSubject(LAYOUT_SUBJECT);
            let last = connection.get_from_leader(LAYOUT_STREAM, &query, deadline);
            if let Some(message) = last.await? {
                return Self::of(&message);
            }
        }
        Ok(Self { layout: Arc::new(Layout::new(partitions)), revision: Sequence(0) })
    }

    /// Decodes the entry.
    pub(crate) fn of(message: &RawMessage) -> Result<Self, Unavailable> {
        let corrupt = Unavailable::new("the layout of the record cannot be decoded");
        let entry: Entry = serde_json::from_slice(&message.payload).map_err(|_| corrupt)?;
        let stage = match entry.stage {
            StoredStage::Announced => Stage::Announced,
            StoredStage::Closing => Stage::Closing,
            StoredStage::Open => Stage::Open,
        };
        Ok(Self {
            layout: Arc::new(Layout::from_parts(&entry.partitions, stage).ok_or(corrupt)?),
            revision: message.sequence,
        })
    }
}

/// Gives the stream of a record that an earlier version has grown the subjects of this version. Without the permission to change streams
/// the record stays as it is.
pub(super) async fn widen_subjects(connection: &Connection, deadline: Instant) -> Result<(), Unavailable> {
    let Some(info) = info(connection, LAYOUT_STREAM, deadline).await? else {
        return Ok(());
    };
    let subjects = vec![LAYOUT_SUBJECTS.to_owned()];
    if info.config.subjects == subjects {
        return Ok(());
    }
    let stream = Config { subjects, ..info.config };
    if let Err(error) = update(connection, &stream, deadline).await {
        tracing::warn!(
            stream = LAYOUT_STREAM, %error,
            "NATS users that only read can overwrite the layout: run `hansard bootstrap` as a NATS user that may change streams"
        );
    }
    Ok(())
}

/// Encodes an entry.
pub(crate) fn encode(layout: &Layout) -> Result<Vec<u8>, Unavailable> {
    let entry = Entry {
        partitions: layout.generations(),
        stage: match layout.stage() {
            Stage::Announced => StoredStage::Announced,
            Stage::Closing => StoredStage::Closing,
            Stage::Open => StoredStage::Open,
        },
    };
    serde_json::to_vec(&entry).map_err(|_| Unavailable::new("a layout cannot be encoded"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::Timestamp;

    use super::*;

    #[test]
    fn entries_have_a_stable_form() {
        let check = |text: &'static str, expected: Option<(&[u16], Stage)>| {
            let message = RawMessage {
                subject: LAYOUT_SUBJECT.to_owned(),
                sequence: Sequence(7),
                payload: Bytes::from_static(text.as_bytes()),
                trace: crate::TraceHeaders::default(),
                stored_at: Timestamp(0),
            };
            let stored = StoredLayout::of(&message).ok();
            let layout = stored.as_ref().map(|stored| stored.layout.as_ref().clone());
            let expected = expected.and_then(|(parts, stage)| Layout::from_parts(parts, stage));
            assert_eq!(layout, expected, "{text}");
            if let Some(layout) = layout {
                assert_eq!(encode(&layout).unwrap(), text.as_bytes());
            }
        };
        check(r#"{"partitions":[8,24],"stage":"announced"}"#, Some((&[8, 24], Stage::Announced)));
        check(r#"{"partitions":[8,24],"stage":"closing"}"#, Some((&[8, 24], Stage::Closing)));
        check(r#"{"partitions":[1,2,3],"stage":"open"}"#, Some((&[1, 2, 3], Stage::Open)));
        check(r#"{"partitions":[8,8],"stage":"open"}"#, None);
        check(r#"{"partitions":[8],"stage":"later"}"#, None);
        check("{}", None);
    }
}

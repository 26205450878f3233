//! Erasing what a conversation was.

use domain::ConversationKey;
use serde::{Deserialize, Serialize};

use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

#[derive(Serialize)]
struct Purge<'a> {
    filter: &'a str,
    /// The first message that stays; `None`: none does. Never `keep`: a replica that is restarted and carries out such a
    /// purge anew carries out another one, and goes on with commits that the others have erased (nats-server 2.15.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
}

#[derive(Deserialize)]
struct Purged {
    #[serde(default)]
    success: bool,
}

impl Record {
    /// Removes all commits of a conversation but its last one from the record, for good. Done twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds.
    pub async fn purge_before_last(&self, key: &ConversationKey) -> Result<(), Unavailable> {
        let place = self.place(key);
        let Some(last) = self.last_from_leader(key).await? else {
            return Ok(());
        };
        let before_last = Purge {
            filter: &place.subject,
            seq: Some(last.position.sequence.0),
        };
        self.purge(&place.stream, &before_last).await
    }

    /// Removes the parts of all runs of a conversation, for good. Done twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds.
    pub async fn purge_parts(&self, key: &ConversationKey) -> Result<(), Unavailable> {
        let partition = self.partition_of(key);
        let all = Purge {
            filter: &topology::all_parts_subjects(partition, key),
            seq: None,
        };
        let stream = topology::parts_stream_name(partition);
        self.purge(&stream, &all).await
    }

    async fn purge(&self, stream: &str, purge: &Purge<'_>) -> Result<(), Unavailable> {
        let connection = self.connection();
        let subject = connection.api_subject(&format!("STREAM.PURGE.{stream}"));
        let purged: Purged = connection.api(subject, purge, self.deadline()).await?;
        if purged.success {
            return Ok(());
        }
        Err(Unavailable::new("the stream refused a purge"))
    }
}

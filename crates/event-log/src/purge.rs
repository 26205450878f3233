//! Erasing what a conversation was.

use domain::ConversationKey;
use serde::{Deserialize, Serialize};

use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

#[derive(Serialize)]
struct Purge<'a> {
    filter: &'a str,
    /// How many of the newest messages stay.
    keep: u64,
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
        let all_but_last = Purge {
            filter: &place.subject,
            keep: 1,
        };
        self.purge(&place.stream, &all_but_last).await
    }

    /// Removes the parts of all runs of a conversation, for good. Done twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds.
    pub async fn purge_parts(&self, key: &ConversationKey) -> Result<(), Unavailable> {
        let partition = self.partition_of(key);
        let all = Purge {
            filter: &topology::all_parts_subjects(partition, key),
            keep: 0,
        };
        let stream = topology::parts_stream_name(partition);
        self.purge(&stream, &all).await
    }

    async fn purge(&self, stream: &str, purge: &Purge<'_>) -> Result<(), Unavailable> {
        let subject = format!("$JS.API.STREAM.PURGE.{stream}");
        let connection = self.connection();
        let purged: Purged = connection.api(subject, purge, self.deadline()).await?;
        if purged.success {
            return Ok(());
        }
        Err(Unavailable::new("the stream refused a purge"))
    }
}

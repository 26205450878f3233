//! Erasing what a conversation was.

use domain::ConversationKey;
use serde::{Deserialize, Serialize};

use crate::error::Unavailable;
use crate::record::Record;

#[derive(Serialize)]
struct Purge<'a> {
    filter: &'a str,
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
        let purge = Purge {
            filter: &place.subject,
            keep: 1,
        };
        let subject = format!("$JS.API.STREAM.PURGE.{}", place.stream);
        let connection = self.connection();
        let purged: Purged = connection.api(subject, &purge, self.deadline()).await?;
        if purged.success {
            return Ok(());
        }
        Err(Unavailable::new("the stream refused a purge"))
    }
}

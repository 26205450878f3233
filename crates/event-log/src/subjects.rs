//! Which conversations there are, as the streams' leaders know them: every one whose beginning was acknowledged.

use std::collections::HashMap;

use domain::{ConversationKey, Partition, TenantId};
use serde::Deserialize;
use serde_json::json;

use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

/// Most answers of a server about one stream: 100,000 subjects each.
const PAGES_MAX: usize = 10_000;

/// A conversation of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedConversation {
    /// The conversation.
    pub key: ConversationKey,
    /// How many commits of it the record holds.
    pub commits: u64,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    total: usize,
    state: Option<State>,
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct State {
    #[serde(default)]
    subjects: HashMap<String, u64>,
}

impl Record {
    /// A partition's conversations, those of one tenant or of all, by tenant and id. About 100 bytes each are held.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn conversations(
        &self,
        partition: Partition,
        tenant: Option<&TenantId>,
    ) -> Result<Vec<ListedConversation>, Unavailable> {
        let stream = topology::stream_name(partition);
        let filter = match tenant {
            Some(tenant) => format!("hansard.{partition}.{tenant}.*"),
            None => format!("hansard.{partition}.*.*"),
        };
        let subjects = self.subjects(&stream, &filter).await?;
        let listed = subjects.into_iter().filter_map(|(subject, commits)| {
            Some(ListedConversation {
                key: topology::key_of(&subject)?,
                commits,
            })
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort_unstable_by(|one, other| {
            (one.key.tenant.as_str(), one.key.conversation.as_str())
                .cmp(&(other.key.tenant.as_str(), other.key.conversation.as_str()))
        });
        Ok(listed)
    }

    /// How many commits of a conversation the record holds, as the stream's leader knows them.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn commits_of(&self, key: &ConversationKey) -> Result<u64, Unavailable> {
        let place = self.place(key);
        let subjects = self.subjects(&place.stream, &place.subject).await?;
        Ok(subjects.values().sum())
    }

    /// The subjects of a stream that a filter lets through, and how many messages each has.
    pub(crate) async fn subjects(
        &self,
        stream: &str,
        filter: &str,
    ) -> Result<HashMap<String, u64>, Unavailable> {
        let mut subjects = HashMap::new();
        for _ in 0..PAGES_MAX {
            let request = json!({ "subjects_filter": filter, "offset": subjects.len() });
            let connection = self.connection();
            let subject = connection.api_subject(&format!("STREAM.INFO.{stream}"));
            let page: Answer = connection.api(subject, &request, self.deadline()).await?;
            if page.error.is_some() {
                return Err(Unavailable::new("a stream cannot be looked at"));
            }
            let read = page.state.map(|state| state.subjects).unwrap_or_default();
            let is_last = read.is_empty();
            subjects.extend(read);
            if is_last || subjects.len() >= page.total {
                return Ok(subjects);
            }
        }
        Err(Unavailable::new(
            "a stream has more subjects than can be listed",
        ))
    }
}

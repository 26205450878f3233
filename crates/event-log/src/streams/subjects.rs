//! Lists conversations from the streams' leaders, which have every acknowledged commit.

use std::collections::HashMap;

use domain::{ConversationKey, Partition, TenantId};
use serde::Deserialize;
use serde_json::json;

use crate::connection::ApiFailure;
use crate::connection::reads::ApiAnswer;
use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

/// Maximum replies of a server about one stream: 100,000 subjects each.
const PAGES_MAX: usize = 10_000;

/// The messages of a conversation in the record's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConversationMessages {
    /// Its commits in the record.
    pub commits: u64,
    /// Batches of streamed parts of its runs.
    pub part_batches: u64,
    /// Its logged calls of model servers.
    pub logged_calls: u64,
}

/// A conversation of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedConversation {
    /// The conversation.
    pub key: ConversationKey,
    /// The number of its commits in the record.
    pub commits: u64,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    total: usize,
    state: Option<State>,
    error: Option<ApiFailure>,
}

impl ApiAnswer for Answer {
    fn failure(&self) -> Option<&ApiFailure> {
        self.error.as_ref()
    }
}

#[derive(Deserialize)]
struct State {
    #[serde(default)]
    subjects: HashMap<String, u64>,
}

impl Record {
    /// A partition's conversations, of one tenant or of all, by tenant and id. Uses about 100 bytes of memory per conversation.
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
        let mut listed: Vec<_> = subjects
            .into_iter()
            .filter_map(|(subject, commits)| Some(ListedConversation { key: topology::key_of(&subject)?, commits }))
            .collect();
        listed.sort_unstable_by(|one, other| {
            (one.key.tenant.as_str(), one.key.conversation.as_str())
                .cmp(&(other.key.tenant.as_str(), other.key.conversation.as_str()))
        });
        Ok(listed)
    }

    /// The number of commits of a conversation in the record, from the stream's leader.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn commits_of(&self, key: &ConversationKey) -> Result<u64, Unavailable> {
        let route = self.route(key).await?;
        let subjects = self.subjects(&route.stream, &route.subject).await?;
        Ok(subjects.values().sum())
    }

    /// The messages of a conversation, from the leaders of their streams: what an erasure overwrites, and the tombstone after it.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn messages_of(&self, key: &ConversationKey) -> Result<ConversationMessages, Unavailable> {
        let partition = self.partition_of(key).await?;
        let parts_stream = topology::parts_stream_name(partition);
        let parts = self.subjects(&parts_stream, &topology::all_parts_subjects(partition, key)).await?;
        let logged_calls = if self.logs_bounds().await?.is_some() {
            let filter = topology::logs::subject(key);
            let logs = self.subjects(topology::logs::STREAM, &filter).await?;
            logs.values().sum()
        } else {
            0
        };
        Ok(ConversationMessages {
            commits: self.commits_of(key).await?,
            part_batches: parts.values().sum(),
            logged_calls,
        })
    }

    /// The subjects of a stream that match a filter, with their numbers of messages.
    pub(crate) async fn subjects(&self, stream: &str, filter: &str) -> Result<HashMap<String, u64>, Unavailable> {
        let mut subjects = HashMap::new();
        for _ in 0..PAGES_MAX {
            let request = json!({ "subjects_filter": filter, "offset": subjects.len() });
            let info = format!("STREAM.INFO.{stream}");
            let page: Answer = self.connection().api_read(&info, &request, self.deadline()).await?;
            if page.error.is_some() {
                return Err(Unavailable::new("the state of a stream cannot be read"));
            }
            let read = page.state.map(|state| state.subjects).unwrap_or_default();
            let is_last = read.is_empty();
            subjects.extend(read);
            if is_last || subjects.len() >= page.total {
                return Ok(subjects);
            }
        }
        Err(Unavailable::new("a stream has too many subjects to list"))
    }
}

//! Reads by service tokens for the audit logs of the tenants that ask for them.
//!
//! A read of a conversation of a user or a session is recorded once for each token, conversation and hour, in the background. A read that
//! cannot be queued is refused: none is lost silently. What waits is lost only if the process is killed.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::{CommitId, ConversationId, ConversationKey, Owner, Status, TenantId, Timestamp};
use history::Deadline;
use registry::{AgentAccess, Principal};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;
use wire::proto::operate::v1::audited_read::Reader;
use wire::proto::operate::v1::{AuditedRead, DashboardAction, RecordReadsRequest};
use wire::status::{Problem, Reason};

use crate::problem::RETRY_AFTER;
use crate::{Gateway, metrics, problem};

/// Maximum number of reads of a tenant that wait for the writer. Further ones are refused.
pub const READS_QUEUED_MAX: usize = 1_024;
/// Maximum number of reads of a tenant in an hour that a gateway remembers. At the bound it forgets them, and may record one again.
pub const READS_REMEMBERED_MAX: usize = 100_000;
/// Maximum number of reads of a request to the writer.
const BATCH_MAX: usize = 100;
const SECONDS_PER_HOUR: i64 = 3_600;
const DIGEST_BYTES: usize = 16;

/// A read, as the log names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRead {
    token_id: String,
    name: String,
    /// `None`: a listing or a search.
    conversation: Option<ConversationId>,
    operation: &'static str,
    /// Hours since 1970.
    hour: i64,
}

type ReadDigest = [u8; DIGEST_BYTES];

impl TokenRead {
    /// A read of a conversation by the token of a principal.
    #[must_use]
    pub fn of(
        principal: &Principal,
        conversation: Option<ConversationId>,
        operation: &'static str,
        now: Timestamp,
    ) -> Self {
        Self {
            token_id: principal.token_id.to_string(),
            name: principal.actor.0.as_str().to_owned(),
            conversation,
            operation,
            hour: now.seconds().div_euclid(SECONDS_PER_HOUR),
        }
    }

    /// What is recorded once in an hour.
    fn digest(&self) -> ReadDigest {
        let conversation = self.conversation.as_ref().map_or("", ConversationId::as_str);
        // None of them contains a zero byte.
        let text = [self.token_id.as_str(), conversation, self.operation].join("\0");
        let mut digest = ReadDigest::default();
        digest.iter_mut().zip(Sha256::digest(text)).for_each(|(to, from)| *to = from);
        digest
    }

    fn to_proto(&self) -> AuditedRead {
        AuditedRead {
            reader: Some(Reader::ServiceToken(self.name.clone())),
            action: DashboardAction::Viewed.into(),
            conversation_id: self.conversation.as_ref().map_or_else(String::new, ConversationId::to_string),
            detail: format!("{} by token {}", self.operation, self.token_id),
        }
    }
}

/// The reads of all tenants that wait for the writer, and those that were recorded in this hour.
#[derive(Debug, Default)]
pub struct TokenReads {
    state: Mutex<State>,
    pub(super) queued: Notify,
}

#[derive(Debug, Default)]
struct State {
    tenants: HashMap<TenantId, TenantReads>,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct TenantReads {
    hour: i64,
    remembered: HashSet<ReadDigest>,
    queue: VecDeque<TokenRead>,
    /// What is sent until the writer has answered: a retry has the same key.
    sending: Option<RecordReadsRequest>,
}

impl TokenReads {
    /// Whether a read of this hour was queued before.
    fn is_remembered(&self, tenant: &TenantId, read: &TokenRead) -> bool {
        let state = self.state();
        let reads = state.tenants.get(tenant).filter(|reads| reads.hour == read.hour);
        reads.is_some_and(|reads| reads.remembered.contains(&read.digest()))
    }

    /// Queues a read, unless it was queued before in its hour.
    ///
    /// # Errors
    /// `RECORD_UNAVAILABLE`: [`READS_QUEUED_MAX`] reads of the tenant wait, or the gateway shuts down.
    pub fn queue(&self, tenant: &TenantId, read: TokenRead) -> Result<(), Problem> {
        let mut state = self.state();
        if state.is_closed {
            return Err(problem::draining());
        }
        let reads = state.tenants.entry(tenant.clone()).or_default();
        if reads.hour != read.hour || reads.remembered.len() >= READS_REMEMBERED_MAX {
            reads.hour = read.hour;
            reads.remembered.clear();
        }
        let digest = read.digest();
        if reads.remembered.contains(&digest) {
            return Ok(());
        }
        if reads.queue.len() >= READS_QUEUED_MAX {
            metrics::audited_reads("refused", 1);
            return Err(queue_full());
        }
        reads.remembered.insert(digest);
        reads.queue.push_back(read);
        drop(state);
        self.queued.notify_one();
        Ok(())
    }

    /// The next request of each tenant with waiting reads. It is the same until [`TokenReads::sent`]. `new_key` makes idempotency keys.
    pub(super) fn requests(&self, new_key: impl Fn() -> CommitId) -> Vec<(TenantId, RecordReadsRequest)> {
        let mut state = self.state();
        let tenants = state.tenants.iter_mut();
        tenants.filter_map(|(tenant, reads)| Some((tenant.clone(), reads.request(tenant, &new_key)?))).collect()
    }

    /// The writer has recorded the request of a tenant, or the tenant does not exist any more.
    pub(super) fn sent(&self, tenant: &TenantId) {
        if let Entry::Occupied(mut reads) = self.state().tenants.entry(tenant.clone()) {
            reads.get_mut().sending = None;
        }
    }

    /// Refuses further reads if none waits; returns whether it does.
    pub(super) fn close_if_empty(&self) -> bool {
        let mut state = self.state();
        state.is_closed = state.tenants.values().all(|reads| reads.sending.is_none() && reads.queue.is_empty());
        state.is_closed
    }

    /// Refuses further reads; returns how many wait.
    pub(super) fn close(&self) -> usize {
        let mut state = self.state();
        state.is_closed = true;
        let waiting =
            |reads: &TenantReads| reads.queue.len() + reads.sending.as_ref().map_or(0, |request| request.reads.len());
        state.tenants.values().map(waiting).sum()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TenantReads {
    fn request(&mut self, tenant: &TenantId, new_key: impl Fn() -> CommitId) -> Option<RecordReadsRequest> {
        if self.sending.is_none() && !self.queue.is_empty() {
            let count = self.queue.len().min(BATCH_MAX);
            self.sending = Some(RecordReadsRequest {
                tenant_id: tenant.to_string(),
                idempotency_key: new_key().to_string(),
                reads: self.queue.drain(..count).map(|read| read.to_proto()).collect(),
            });
        }
        self.sending.clone()
    }
}

impl Gateway {
    /// Records a read of a conversation by a service token, if the tenant asks for it and a user or a session owns the conversation. Call
    /// it before the read is answered. It costs one look-up in memory if the tenant does not ask for it.
    ///
    /// # Errors
    /// `RECORD_UNAVAILABLE`: the read cannot be queued, or the owner cannot be read.
    pub async fn record_token_read(
        &self,
        principal: &Principal,
        (access, key): (&AgentAccess, &ConversationKey),
        deadline: Deadline,
    ) -> Result<(), Problem> {
        if !self.registry.audits_service_tokens(&key.tenant) {
            return Ok(());
        }
        let read = TokenRead::of(principal, Some(key.conversation.clone()), "read", self.now());
        if self.token_reads.is_remembered(&key.tenant, &read) || !is_of_end_user(self, access, key, deadline).await? {
            return Ok(());
        }
        self.token_reads.queue(&key.tenant, read)
    }
}

/// Records a listing or a search by a service token, if the tenant asks for it.
///
/// # Errors
/// As [`Gateway::record_token_read`].
pub fn record_listing(
    gateway: &Gateway,
    principal: &Principal,
    tenant: &TenantId,
    operation: &'static str,
) -> Result<(), Problem> {
    if !gateway.registry.audits_service_tokens(tenant) {
        return Ok(());
    }
    gateway.token_reads.queue(tenant, TokenRead::of(principal, None, operation, gateway.now()))
}

/// Whether the caller's agent has this conversation, and a user or a session owns it. The answer to a read of another one is that there is
/// none.
async fn is_of_end_user(
    gateway: &Gateway,
    access: &AgentAccess,
    key: &ConversationKey,
    deadline: Deadline,
) -> Result<bool, Problem> {
    let Some(last) = deadline.record(gateway.reader.archive.last_commit(key)).await? else {
        return Ok(false);
    };
    let head = last.open_head().map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    let is_readable = head.agent == access.agent && head.status != Status::Erased;
    Ok(is_readable && matches!(head.owner, Some(Owner::User(_) | Owner::Session(_))))
}

fn queue_full() -> Problem {
    let message = format!("{READS_QUEUED_MAX} reads of this tenant wait for its audit log: try again");
    Problem::new(Reason::RecordUnavailable, message).retry_after(RETRY_AFTER)
}

#[cfg(test)]
mod tests;

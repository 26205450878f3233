//! Sends the calls of the provider log to the writer, redacted and truncated, with bounded concurrency and retries.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use backoff::exponential;
use backon::Retryable as _;
use domain::{Label, LogId, LoggedBody, ModelCall, Timestamp, Violation};
use models::Exchange;
use redact::{Counts, Rules, redact_text};
use runtime::shutdown::Shutdown;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use uuid::Uuid;
use wire::proto::run::v1 as proto;

use super::{CallLog, CallOrigin, QueuedCall, metrics};
use record_access::Gateway;
use record_access::policies::ReadyPolicy;
use record_access::writer::{WriterClient, WriterError};

/// Maximum number of concurrent sends.
const SENDS_AT_ONCE: usize = 4;
/// Maximum number of retries of a call.
const RETRIES_MAX: usize = 4;
/// First wait between two attempts.
const WAIT_BASE: Duration = Duration::from_millis(250);
/// Maximum wait between two attempts.
const WAIT_MAX: Duration = Duration::from_secs(4);

/// The dependencies of sending. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Dependencies {
    pub(super) gateway: Gateway,
    pub(super) writer: WriterClient,
}

/// Sends the queued calls. Ends when all senders are dropped.
pub(super) async fn ship(deps: Dependencies, mut queue: mpsc::Receiver<QueuedCall>, log: CallLog, shutdown: Shutdown) {
    let mut sends = JoinSet::new();
    let mut is_closed = false;
    loop {
        tokio::select! {
            () = shutdown.begun(), if !is_closed => {
                log.close();
                is_closed = true;
            }
            next = queue.recv(), if sends.len() < SENDS_AT_ONCE => {
                let Some(next) = next else { break };
                sends.spawn(send(deps.clone(), next, shutdown.clone()));
            }
            Some(_) = sends.join_next() => {}
        }
    }
    while sends.join_next().await.is_some() {}
}

async fn send(deps: Dependencies, call: QueuedCall, shutdown: Shutdown) {
    let outcome = try_send(&deps, call, &shutdown).await;
    metrics::logged(outcome);
}

async fn try_send(deps: &Dependencies, call: QueuedCall, shutdown: &Shutdown) -> &'static str {
    let QueuedCall { origin, exchange, _room: room } = call;
    let has_bodies = exchange.request.is_some() || exchange.reply.is_some();
    let policy = if has_bodies { policy(&deps.gateway, &origin).await } else { None };
    // Redacting a large body takes about ten milliseconds of CPU time, and far longer with patterns of the tenant.
    let entry = deps.gateway.compute.run(origin.key.tenant.as_str(), || {
        let rules = policy.as_deref().map(|policy| &policy.rules);
        entry(&origin, exchange, rules)
    });
    let Ok(Ok(call)) = entry.await else {
        return "refused";
    };
    drop(room);
    let request = request(&origin, &call);
    let log = || async { deps.writer.runs().log_model_call(request.clone()).await.map_err(WriterError::from) };
    let answer = log
        .retry(exponential(WAIT_BASE, WAIT_MAX).with_max_times(RETRIES_MAX))
        .when(|refusal| refusal.is_retryable() && !shutdown.has_begun())
        .await;
    match answer {
        Ok(answer) if answer.get_ref().is_kept => "kept",
        Ok(_) => "off",
        Err(refusal) if refusal.is_retryable() => "unreachable",
        Err(_) => "refused",
    }
}

/// The agent's context policy; `None`: it is unavailable. No body is logged without its redaction rules.
async fn policy(gateway: &Gateway, origin: &CallOrigin) -> Option<Arc<ReadyPolicy>> {
    let (tenant, agent) = (&origin.key.tenant, &origin.agent);
    gateway.policies.find(&gateway.registry, tenant, agent, None).await.ok()
}

fn request(origin: &CallOrigin, call: &ModelCall) -> proto::LogModelCallRequest {
    proto::LogModelCallRequest {
        agent_id: origin.agent.as_str().to_owned(),
        conversation_id: origin.key.conversation.as_str().to_owned(),
        call: Some(wire::model_call::call_to_proto(call)),
    }
}

/// The entry of a call. Without rules its bodies are not kept.
///
/// Bodies are redacted before they are truncated: a truncated secret would not match the rules.
///
/// # Errors
/// The outcome is not a valid label.
pub(super) fn entry(origin: &CallOrigin, exchange: Exchange, rules: Option<&Rules>) -> Result<ModelCall, Violation> {
    let since_epoch = exchange.started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let request = exchange.request.map(|body| String::from_utf8_lossy(&body).into_owned());
    Ok(ModelCall {
        id: LogId(Uuid::now_v7()),
        run: origin.run,
        purpose: origin.purpose,
        attempt: exchange.attempt,
        server: origin.server.clone(),
        model: origin.model.clone(),
        started_at: Timestamp(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX)),
        first_piece_ms: exchange.first_piece.map(ms),
        took_ms: ms(exchange.took),
        http_status: exchange.http_status,
        outcome: Label::parse(exchange.outcome)?,
        finish_reason: exchange.finish_reason,
        usage: exchange.usage,
        request_bytes: count(exchange.request_bytes),
        reply_bytes: count(exchange.reply_bytes),
        request: redacted(request, rules),
        reply: redacted(exchange.reply, rules),
    })
}

fn redacted(body: Option<String>, rules: Option<&Rules>) -> Option<LoggedBody> {
    let (text, rules) = (body?, rules?);
    // The counts are in the receipts of contexts.
    let redacted = redact_text(&text, &rules.redactor(), &mut Counts::default());
    Some(LoggedBody::of(redacted.unwrap_or(text)))
}

fn ms(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

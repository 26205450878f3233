//! Sends calls to the writer, a few at a time, each a few times at most.

use std::sync::Arc;
use std::time::Duration;

use backon::Retryable as _;
use domain::ModelCall;
use runtime::backoff::exponential;
use runtime::shutdown::Shutdown;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use wire::proto::run::v1 as proto;

use super::entry::entry;
use super::{About, CallLog, Waiting, metrics};
use crate::Gateway;
use crate::writer::WriterClient;
use crate::writer::refusal::Refusal;

/// Most calls that are sent at once.
const SENDS_AT_ONCE: usize = 4;
/// How often a call is sent again while the writer does not take it.
const RESENDS_MAX: usize = 4;
/// The first wait before it is sent again.
const WAIT_BASE: Duration = Duration::from_millis(250);
/// The longest wait before it is sent again.
const WAIT_MAX: Duration = Duration::from_secs(4);

/// What sending needs. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Means {
    pub(super) gateway: Gateway,
    pub(super) writer: WriterClient,
}

/// Sends what is told; ends once nobody can tell any more.
pub(super) async fn ship(
    means: Means,
    mut waiting: mpsc::Receiver<Waiting>,
    log: CallLog,
    shutdown: Shutdown,
) {
    let mut sends = JoinSet::new();
    let mut is_closed = false;
    loop {
        tokio::select! {
            () = shutdown.begun(), if !is_closed => {
                log.close();
                is_closed = true;
            }
            next = waiting.recv(), if sends.len() < SENDS_AT_ONCE => {
                let Some(next) = next else { break };
                sends.spawn(send(means.clone(), next, shutdown.clone()));
            }
            Some(_) = sends.join_next() => {}
        }
    }
    while sends.join_next().await.is_some() {}
}

async fn send(means: Means, waiting: Waiting, shutdown: Shutdown) {
    let outcome = try_send(&means, waiting, &shutdown).await;
    metrics::told(outcome);
}

async fn try_send(means: &Means, waiting: Waiting, shutdown: &Shutdown) -> &'static str {
    let Waiting {
        about,
        exchange,
        _room: room,
    } = waiting;
    let has_bodies = exchange.request.is_some() || exchange.reply.is_some();
    let rules = if has_bodies {
        rules(&means.gateway, &about).await
    } else {
        None
    };
    let of_call = Arc::clone(&about);
    // A large body keeps a thread busy for some ten milliseconds, which no answer is to wait for.
    let entry = tokio::task::spawn_blocking(move || {
        entry(
            &of_call,
            exchange,
            rules.as_deref().map(|ready| &ready.rules),
        )
    });
    let Ok(Ok(call)) = entry.await else {
        return "refused";
    };
    drop(room);
    let request = request(&about, &call);
    let log = || async {
        let answer = means.writer.runs().log_model_call(request.clone()).await;
        answer.map_err(Refusal::from)
    };
    let answer = log
        .retry(exponential(WAIT_BASE, WAIT_MAX).with_max_times(RESENDS_MAX))
        .when(|refusal| refusal.is_passing() && !shutdown.has_begun())
        .await;
    match answer {
        Ok(answer) if answer.get_ref().is_kept => "kept",
        Ok(_) => "off",
        Err(refusal) if refusal.is_passing() => "unreachable",
        Err(_) => "refused",
    }
}

/// The rules of the agent's policy; `None`: they cannot be had, and nothing goes out without them.
async fn rules(gateway: &Gateway, about: &About) -> Option<Arc<crate::policies::ReadyPolicy>> {
    let agent = (&about.key.tenant, &about.agent);
    let policy = gateway.policies.find(&gateway.registry, agent, None);
    policy.await.ok()
}

fn request(about: &About, call: &ModelCall) -> proto::LogModelCallRequest {
    proto::LogModelCallRequest {
        agent_id: about.agent.as_str().to_owned(),
        conversation_id: about.key.conversation.as_str().to_owned(),
        call: Some(wire::model_call::call_to_proto(call)),
    }
}

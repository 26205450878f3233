//! An erasure that forks block: no acknowledged fork loses its parent.

use domain::{ConversationId, ConversationKey, Status, TenantId};
use event_log::Record;
use futures::future::join_all;
use tests::agent::{Agent, Outcome};
use tests::errors::{Failure, check_failure};
use tests::events::session;
use tests::eventually::eventually;
use tonic::Code;
use uuid::Uuid;
use wire::proto::write::v1::{CreateConversationRequest, EraseConversationRequest, ForkRule};

use super::fork_request;
use crate::write::with;

const HAS_FORKS: (Code, &str, &str) = (Code::FailedPrecondition, "HAS_FORKS", "");
/// Rounds of the race, each with a parent of its own.
const ROUNDS: u64 = 24;
/// Forks of each parent.
const FORKS: u64 = 3;

/// Sends an erasure of a conversation of the session `s`.
async fn erase(agent: &Agent, id: &str, forks: i32, is_owner_named: bool) -> Outcome {
    let request = EraseConversationRequest {
        target: Some(agent.target(id)),
        expected_owner: is_owner_named.then(|| session("s")),
        forks,
    };
    let answer = agent.caller().write().erase_conversation(request).await?;
    Ok(answer.into_inner().result.expect("a result"))
}

/// An erasure of `parent` is rejected because of its forks, whose ids are in the error.
pub(super) async fn is_refused(agent: &Agent, record: &Record, parent: &str, forks: &[&str]) {
    for rule in [ForkRule::Unspecified, ForkRule::Refuse] {
        for is_owner_named in [false, true] {
            let refused = erase(agent, parent, rule.into(), is_owner_named).await;
            let failure = check_failure(parent, refused, HAS_FORKS);
            assert_eq!(failure.metadata["forks"], forks.len().to_string());
            assert_eq!(failure.metadata["fork_ids"], forks.join(","));
        }
    }
    let unknown = erase(agent, parent, 3, false).await;
    let expected = (Code::InvalidArgument, "FIELD_MALFORMED", "forks");
    check_failure("no rule", unknown, expected);
    assert_eq!(record.count_pending_erasures().await, Ok(0));
}

/// An erasure of `parent` is undecided while the rows may lack a fork, and leaves no entry.
pub(super) async fn is_undecided(agent: &Agent, record: &Record, parent: &str) {
    let undecided = agent.try_erase_by(agent.target(parent), ForkRule::Refuse);
    let expected = (Code::Unavailable, "READ_MODEL_UNAVAILABLE", "");
    let failure = check_failure(parent, undecided.await, expected);
    assert!(failure.retry_after.is_some(), "{failure:?}");
    assert_eq!(record.count_pending_erasures().await, Ok(0));
}

/// The result of a round.
struct Round {
    /// The requests of the forks, and whether they were acknowledged.
    forks: Vec<(CreateConversationRequest, bool)>,
    is_erased: bool,
}

/// Races forks with erasures of one parent, through two writers.
pub(super) async fn race(agents: [&Agent; 2], record: &Record) {
    let (mut kept, mut erased) = (0, 0);
    for number in 0..ROUNDS {
        let round = run_round(agents, record, number).await;
        let acknowledged = round.forks.iter().filter(|(_, is_acknowledged)| *is_acknowledged);
        kept += acknowledged.count();
        erased += u64::from(round.is_erased);
        for (request, is_acknowledged) in round.forks {
            let id = request.conversation_id.clone();
            assert!(!(is_acknowledged && round.is_erased), "{id} was acknowledged and lost its parent");
            // A retry gets the same answer.
            let again = send_until_decided(agents[0], request).await;
            assert_eq!(again, is_acknowledged, "{id}, again");
            let read = agents[0].try_get(agents[0].read_target(&id)).await;
            assert_eq!(read.is_ok(), is_acknowledged, "{id}: {read:?}");
        }
    }
    assert!(kept > 0 && erased > 0, "{kept} kept, {erased} erased");
}

/// In every other round the forks start after an erasure is entered.
async fn run_round([one, other]: [&Agent; 2], record: &Record, number: u64) -> Round {
    let parent = format!("kept-{number}");
    let key = ConversationKey {
        tenant: TenantId::parse("acme").expect("an id"),
        conversation: ConversationId::parse(parent.as_str()).expect("an id"),
    };
    one.create(&parent).await;
    let forking = (0..FORKS).map(|fork| {
        let (parent, key) = (&parent, &key);
        async move {
            let request = with(fork_request(one, &format!("{parent}-{fork}"), parent, 1), |request| {
                request.idempotency_key = Uuid::now_v7().to_string();
            });
            if number.is_multiple_of(2) {
                eventually("an erasure", || is_entered(record, key)).await;
            }
            let agent = if fork % 2 == 0 { one } else { other };
            let is_acknowledged = send_until_decided(agent, request.clone()).await;
            (request, is_acknowledged)
        }
    });
    let erasing = [one, other].map(|agent| async {
        match agent.try_erase_by(agent.target(&parent), ForkRule::Refuse).await {
            Ok(_) => {}
            Err(status) => {
                let failure = Failure::from(status);
                let reasons = ["HAS_FORKS", "READ_MODEL_UNAVAILABLE", "CONTENTION"];
                assert!(reasons.contains(&failure.reason.as_str()), "{failure:?}");
            }
        }
    });
    let (forks, _) = tokio::join!(join_all(forking), join_all(erasing));
    let is_erased = status(record, &key).await == Status::Erased;
    Round { forks, is_erased }
}

/// Whether an erasure is entered or finished.
async fn is_entered(record: &Record, key: &ConversationKey) -> Option<()> {
    let entry = record.pending_erasure(key).await.expect("an answer");
    let is_entered = entry.is_some() || status(record, key).await == Status::Erased;
    is_entered.then_some(())
}

async fn status(record: &Record, key: &ConversationKey) -> Status {
    let last = record.last_from_leader(key).await.expect("an answer");
    let head = last.expect("a parent").open_head().expect("a head");
    head.status
}

/// Sends a fork until it is decided; returns whether it is acknowledged.
async fn send_until_decided(agent: &Agent, request: CreateConversationRequest) -> bool {
    loop {
        let Err(status) = agent.try_create(request.clone()).await else {
            return true;
        };
        if status.code() != Code::Unavailable {
            let gone = (Code::NotFound, "FORK_POINT_NOT_FOUND", "forked_from");
            check_failure("a fork", Err::<(), _>(status), gone);
            return false;
        }
    }
}

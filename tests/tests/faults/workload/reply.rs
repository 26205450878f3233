//! The meaning of an answer: settled, or still open.

use domain::{CommitId, Timestamp, Version};
use tests::checker::{Answer, Outcome, Refusal};
use tests::errors::Failure;
use tonic::Code;
use wire::proto::write::v1::CommitResult;
use wire::token::{PositionToken, RecordId};

/// The result of a try.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// The command is settled.
    Settled(Outcome),
    /// It is not settled: it may have been executed, and is sent again with the same key.
    Open,
}

/// The meaning of one answer to the command with this key.
pub(crate) fn reply(key: CommitId, answer: Result<CommitResult, Failure>, record: RecordId) -> Reply {
    match answer {
        Ok(result) => Reply::Settled(settled_outcome(key, &result, record)),
        Err(failure) if is_open(&failure) => Reply::Open,
        Err(failure) => {
            let current =
                failure.metadata.get("current_version").map(|version| Version(version.parse().expect("a version")));
            Reply::Settled(Outcome::Refused(Refusal { reason: reason_of(&failure), current }))
        }
    }
}

fn settled_outcome(key: CommitId, result: &CommitResult, record: RecordId) -> Outcome {
    if result.commit_id.is_empty() {
        return Outcome::Unchanged;
    }
    assert_eq!(result.commit_id, key.to_string(), "the commit's id is the key");
    let token = PositionToken::decode(&result.position_token, record).expect("a position token");
    assert_eq!(token.version.0, result.version, "the token's version is the answer's");
    let recorded_at = result.recorded_at.expect("a time");
    let recorded_at: Timestamp = wire::time::from_proto(recorded_at).expect("a time in range");
    Outcome::Committed(Answer {
        first_version: Version(result.first_version),
        version: Version(result.version),
        position: token.position,
        recorded_at,
    })
}

/// A failure without a reason is not from the service: the connection broke, or a deadline passed. If one writer's
/// clock rejects a key as future, the command is sent to another writer.
pub(super) fn is_open(failure: &Failure) -> bool {
    let passing = [Code::Unavailable, Code::DeadlineExceeded, Code::Cancelled, Code::ResourceExhausted];
    let is_refused_by_clock = failure.reason == "IDEMPOTENCY_KEY_IN_FUTURE";
    failure.reason.is_empty() || is_refused_by_clock || passing.contains(&failure.code) || failure.retry_after.is_some()
}

/// The reason; for unexpected ones with their details.
fn reason_of(failure: &Failure) -> String {
    let refusals = [Code::Aborted, Code::FailedPrecondition, Code::AlreadyExists];
    if refusals.contains(&failure.code) {
        return failure.reason.clone();
    }
    format!("{} ({:?}: {})", failure.reason, failure.code, failure.message)
}

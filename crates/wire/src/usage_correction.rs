//! Conversions of corrections of usage, and their encoding in the stream of calls.

use bytes::Bytes;
use domain::{
    AgentId, CommitId, CorrectedCounts, OwnerDigest, TokenChanges, UsageCorrection, Violation, ViolationReason,
};
use prost::Message as _;

use crate::commit::CorruptCommit;
use crate::proto::run::v1 as proto;
use crate::proto::run::v1::usage_correction::Counts;
use crate::{optional, time};

/// A correction as protobuf.
#[must_use]
pub fn correction_to_proto(correction: &UsageCorrection) -> proto::UsageCorrection {
    let TokenChanges { input, output, cached, reasoning } = correction.tokens;
    proto::UsageCorrection {
        correction_id: correction.id.to_string(),
        agent_id: correction.agent.as_str().to_owned(),
        day: Some(time::to_proto(correction.day)),
        counts: Some(counts_to_proto(&correction.counts)),
        input_tokens: input,
        output_tokens: output,
        cached_tokens: cached,
        reasoning_tokens: reasoning,
    }
}

fn counts_to_proto(counts: &CorrectedCounts) -> Counts {
    match counts {
        CorrectedCounts::ModelCalls { api_key, owner } => Counts::ModelCalls(proto::CorrectedModelCalls {
            api_key_id: optional::label_text(api_key.as_ref()),
            owner_digest: owner.as_ref().map(OwnerDigest::as_str).unwrap_or_default().to_owned(),
        }),
        CorrectedCounts::Messages { model } => {
            Counts::Messages(proto::CorrectedMessages { model: optional::label_text(model.as_ref()) })
        }
    }
}

/// A correction as the domain type.
///
/// # Errors
/// The first field that breaks a rule, by its path in the correction.
pub fn correction_from_proto(given: proto::UsageCorrection) -> Result<UsageCorrection, Violation> {
    let within = |field: &'static str| move |violation: Violation| violation.within(field);
    let missing = |field: &'static str| Violation::new(ViolationReason::Missing, "is required").within(field);
    let tokens = TokenChanges {
        input: given.input_tokens,
        output: given.output_tokens,
        cached: given.cached_tokens,
        reasoning: given.reasoning_tokens,
    };
    let counts = counts_from_proto(given.counts.ok_or_else(|| missing("counts"))?)?;
    check_tokens(&counts, tokens)?;
    Ok(UsageCorrection {
        id: CommitId::parse(&given.correction_id).map_err(within("correction_id"))?,
        agent: AgentId::parse(given.agent_id).map_err(within("agent_id"))?,
        day: time::from_proto(given.day.ok_or_else(|| missing("day"))?).map_err(within("day"))?,
        counts,
        tokens,
    })
}

fn counts_from_proto(counts: Counts) -> Result<CorrectedCounts, Violation> {
    match counts {
        Counts::ModelCalls(calls) => calls_from_proto(calls).map_err(|violation| violation.within("model_calls")),
        Counts::Messages(messages) => {
            let model = optional::label(messages.model, "model").map_err(|violation| violation.within("messages"))?;
            Ok(CorrectedCounts::Messages { model })
        }
    }
}

fn calls_from_proto(calls: proto::CorrectedModelCalls) -> Result<CorrectedCounts, Violation> {
    let owner = match calls.owner_digest.as_str() {
        "" => None,
        digest => Some(OwnerDigest::parse(digest).map_err(|violation| violation.within("owner_digest"))?),
    };
    Ok(CorrectedCounts::ModelCalls { api_key: optional::label(calls.api_key_id, "api_key_id")?, owner })
}

/// Checks that the correction changes counts that exist.
fn check_tokens(counts: &CorrectedCounts, tokens: TokenChanges) -> Result<(), Violation> {
    if tokens == TokenChanges::default() {
        return Err(
            Violation::new(ViolationReason::Missing, "is required: set a number of tokens").within("input_tokens")
        );
    }
    let is_of_calls = matches!(counts, CorrectedCounts::ModelCalls { .. });
    for (field, number) in [("cached_tokens", tokens.cached), ("reasoning_tokens", tokens.reasoning)] {
        if is_of_calls && number != 0 {
            let rule = format!("is {number}, but model calls do not count them: leave it out");
            return Err(Violation::new(ViolationReason::OutOfRange, rule).within(field));
        }
    }
    Ok(())
}

/// Encodes a correction for its stream.
#[must_use]
pub fn encode_correction(correction: &UsageCorrection) -> Bytes {
    correction_to_proto(correction).encode_to_vec().into()
}

/// Decodes a correction of its stream.
///
/// # Errors
/// [`CorruptCommit`].
pub fn decode_correction(bytes: Bytes) -> Result<UsageCorrection, CorruptCommit> {
    let stored = proto::UsageCorrection::decode(bytes).map_err(|_| CorruptCommit::Body)?;
    correction_from_proto(stored).map_err(|violation| CorruptCommit::Field(violation.field))
}

#[cfg(test)]
mod tests {
    use domain::{Label, Owner, Timestamp, UserId};
    use uuid::Uuid;

    use super::*;

    fn correction(counts: CorrectedCounts) -> UsageCorrection {
        UsageCorrection {
            id: CommitId(Uuid::nil()),
            agent: AgentId::parse("support").unwrap(),
            day: Timestamp(7),
            counts,
            tokens: TokenChanges { input: i64::MIN, output: i64::MAX, ..TokenChanges::default() },
        }
    }

    #[test]
    fn a_correction_comes_back_as_it_was() {
        let owner = OwnerDigest::of(&Owner::User(UserId::parse("ada").unwrap()));
        for counts in [
            CorrectedCounts::ModelCalls { api_key: None, owner: None },
            CorrectedCounts::ModelCalls { api_key: Label::parse("k-1").ok(), owner: Some(owner) },
            CorrectedCounts::Messages { model: None },
            CorrectedCounts::Messages { model: Label::parse("m-1").ok() },
        ] {
            let whole = correction(counts);
            assert_eq!(decode_correction(encode_correction(&whole)).as_ref(), Ok(&whole));
        }
        let mut details = correction(CorrectedCounts::Messages { model: None });
        details.tokens = TokenChanges { cached: -1, reasoning: 1, ..TokenChanges::default() };
        assert_eq!(decode_correction(encode_correction(&details)).as_ref(), Ok(&details));
    }

    #[test]
    fn what_is_stored_is_checked() {
        let valid = correction_to_proto(&correction(CorrectedCounts::ModelCalls { api_key: None, owner: None }));
        let check = |change: fn(&mut proto::UsageCorrection), field: &str| {
            let mut correction = valid.clone();
            change(&mut correction);
            let stored = decode_correction(correction.encode_to_vec().into());
            assert_eq!(stored, Err(CorruptCommit::Field(field.into())));
        };
        let calls = |api_key_id: &str, owner_digest: &str| {
            let (api_key_id, owner_digest) = (api_key_id.to_owned(), owner_digest.to_owned());
            Some(Counts::ModelCalls(proto::CorrectedModelCalls { api_key_id, owner_digest }))
        };
        check(|correction| correction.correction_id = "1".to_owned(), "correction_id");
        check(|correction| correction.agent_id.clear(), "agent_id");
        check(|correction| correction.day = None, "day");
        check(|correction| correction.counts = None, "counts");
        check(|correction| (correction.input_tokens, correction.output_tokens) = (0, 0), "input_tokens");
        check(|correction| correction.cached_tokens = 1, "cached_tokens");
        check(|correction| correction.reasoning_tokens = -1, "reasoning_tokens");
        for (counts, field) in [
            (calls(&"k".repeat(257), ""), "model_calls.api_key_id"),
            (calls("", "ada"), "model_calls.owner_digest"),
            (Some(Counts::Messages(proto::CorrectedMessages { model: "m".repeat(257) })), "messages.model"),
        ] {
            let given = proto::UsageCorrection { counts, ..valid.clone() };
            assert_eq!(correction_from_proto(given).map_err(|violation| violation.field), Err(field.into()));
        }
    }
}

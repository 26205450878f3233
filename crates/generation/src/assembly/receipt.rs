//! Receipts of contexts.

use context::report::{LeftOut, Reason};
use context::stages::redact::Dropped;
use context::{ASSEMBLY_REVISION, Assembled, Effect, Epoch, Outcome, Report};
use domain::Version;
use formats::{Loss, Rendered};
use history::Target;
use sha2::{Digest as _, Sha256};
use wire::proto::read::v1 as proto;

use super::ContextRequest;

/// The receipt of a context at a version.
pub(super) fn of(
    request: &ContextRequest,
    target: &Target,
    at: Version,
    assembled: &Assembled,
    rendered: &Rendered,
) -> proto::Receipt {
    let report = &assembled.report;
    let versions = |effect| {
        let versions = context::outcome::versions(&report.outcomes, &effect);
        versions.map(|version| version.0).collect::<Vec<u64>>()
    };
    let digest = request.policy.policy.tool_digest.as_ref();
    proto::Receipt {
        conversation_id: target.key.conversation.to_string(),
        agent_id: target.access.agent.to_string(),
        version: at.0,
        policy_digest: request.policy.digest.0.to_vec().into(),
        format: request.format.number(),
        render: Some(request.render),
        messages_max: number(request.messages_max.map_or(0, |count| count.0)),
        turns: number(assembled.transcript.turns.len()),
        body_sha256: Sha256::digest(&rendered.body).to_vec().into(),
        body_bytes: u64::try_from(rendered.body.len()).unwrap_or(u64::MAX),
        epoch: Some(epoch(report.epoch)),
        tokens: Some(proto::ContextTokens {
            instructions: report.sections.instructions,
            opening: report.sections.opening,
            turns: report.sections.turns,
            closing: report.sections.closing,
            room: report.room,
        }),
        left_out: report.left_out.map(left_out),
        summarised_through: report.summarised.map_or(0, |version| version.0),
        own_instructions_through: report.own_instructions.0,
        carried_versions: versions(Effect::Carried),
        cleared: report.outcomes.iter().filter_map(cleared).collect(),
        redactions: redactions(report),
        tool_digest: digest.map(|_| proto::ToolDigestAccount {
            told_versions: versions(Effect::Digested),
            untold_versions: versions(Effect::NotDigested),
        }),
        assembly_revision: ASSEMBLY_REVISION,
        dropped_parts: report.redactions.dropped().iter().map(dropped).collect(),
        repeated_versions: Vec::new(),
        orphaned_versions: versions(Effect::Orphaned),
        pending_call_ids: report.outcomes.iter().filter_map(pending).collect(),
        interrupted_call_ids: report.outcomes.iter().filter_map(interrupted).collect(),
        losses: rendered.losses.iter().map(loss).collect(),
        tool_names: rendered.names.tools().map(written).collect(),
        call_ids: rendered.names.calls().map(written).collect(),
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn epoch(epoch: Epoch) -> proto::Epoch {
    proto::Epoch {
        first_version: epoch.first.0,
        line_tokens: epoch.threshold,
        summary_version: epoch.summary.0,
        revised_version: epoch.revised.0,
    }
}

fn left_out(left_out: LeftOut) -> proto::LeftOut {
    let reason = match left_out.reason {
        Reason::Budget => proto::LeftOutReason::Budget,
        Reason::Bound => proto::LeftOutReason::Bound,
    };
    proto::LeftOut { before_version: left_out.before.0, tokens: left_out.tokens, reason: reason.into() }
}

fn cleared(outcome: &Outcome) -> Option<proto::ClearedResult> {
    let Effect::Cleared { call, tokens } = &outcome.effect else {
        return None;
    };
    Some(proto::ClearedResult { version: outcome.first.0, call_id: call.as_str().to_owned(), tokens: *tokens })
}

fn pending(outcome: &Outcome) -> Option<String> {
    let Effect::Pending(call) = &outcome.effect else {
        return None;
    };
    Some(call.as_str().to_owned())
}

fn interrupted(outcome: &Outcome) -> Option<String> {
    let Effect::Interrupted(call) = &outcome.effect else {
        return None;
    };
    Some(call.as_str().to_owned())
}

fn redactions(report: &Report) -> Vec<proto::Redaction> {
    let counts = report.redactions.iter();
    counts
        .map(|(rule, count)| proto::Redaction {
            rule: rule.as_str().to_owned(),
            count: u32::try_from(count).unwrap_or(u32::MAX),
        })
        .collect()
}

fn dropped(dropped: &Dropped) -> proto::DroppedPart {
    proto::DroppedPart { version: dropped.version.0, what: dropped.what.as_str().to_owned() }
}

fn loss(loss: &Loss) -> proto::ContextLoss {
    proto::ContextLoss {
        version: loss.version.0,
        lost: loss.lost.as_str().to_owned(),
        became: loss.replacement.as_str().to_owned(),
    }
}

fn written((written, recorded): (&str, &str)) -> proto::WrittenName {
    proto::WrittenName { written: written.to_owned(), recorded: recorded.to_owned() }
}

//! The proof of a context: what became of each part of the conversation.

use context::account::{LeftOut, Reason};
use context::stages::clear::Cleared;
use context::stages::redact::Dropped;
use context::stages::tool_digest::Told;
use context::{ASSEMBLY_REVISION, Account, Epoch};
use domain::{CallId, Version};
use formats::{Loss, Rendered};
use sha2::{Digest as _, Sha256};
use wire::proto::read::v1 as proto;

/// The receipt of a context, but for what was asked for.
pub(super) fn of(account: &Account, rendered: &Rendered) -> proto::Receipt {
    proto::Receipt {
        body_sha256: Sha256::digest(&rendered.body).to_vec().into(),
        body_bytes: u64::try_from(rendered.body.len()).unwrap_or(u64::MAX),
        epoch: Some(epoch(account.epoch)),
        tokens: Some(proto::ContextTokens {
            instructions: account.sections.instructions,
            opening: account.sections.opening,
            turns: account.sections.turns,
            closing: account.sections.closing,
            room: account.room,
        }),
        left_out: account.left_out.map(left_out),
        summarised_through: account.summarised.map_or(0, |version| version.0),
        own_instructions_through: account.own_instructions.0,
        carried_versions: versions(&account.carried),
        cleared: account.cleared.iter().map(cleared).collect(),
        redactions: redactions(account),
        tool_digest: account.digest.as_ref().map(digest),
        assembly_revision: ASSEMBLY_REVISION,
        dropped_parts: account.redactions.dropped().iter().map(dropped).collect(),
        repeated_versions: versions(&account.repeated),
        orphaned_versions: versions(&account.orphans),
        pending_call_ids: call_ids(&account.pending),
        interrupted_call_ids: call_ids(&account.interrupted),
        losses: rendered.losses.iter().map(loss).collect(),
        tool_names: rendered.names.tools().map(written).collect(),
        call_ids: rendered.names.calls().map(written).collect(),
        ..proto::Receipt::default()
    }
}

fn epoch(epoch: Epoch) -> proto::Epoch {
    proto::Epoch {
        first_version: epoch.first.0,
        line_tokens: epoch.line,
        summary_version: epoch.summary.0,
        revised_version: epoch.revised.0,
    }
}

fn left_out(left_out: LeftOut) -> proto::LeftOut {
    let reason = match left_out.reason {
        Reason::Budget => proto::LeftOutReason::Budget,
        Reason::Bound => proto::LeftOutReason::Bound,
    };
    proto::LeftOut {
        before_version: left_out.before.0,
        tokens: left_out.tokens,
        reason: reason.into(),
    }
}

fn cleared(cleared: &Cleared) -> proto::ClearedResult {
    proto::ClearedResult {
        version: cleared.version.0,
        call_id: cleared.call.as_str().to_owned(),
        tokens: cleared.tokens,
    }
}

fn redactions(account: &Account) -> Vec<proto::Redaction> {
    let counts = account.redactions.iter();
    counts
        .map(|(rule, count)| proto::Redaction {
            rule: rule.as_str().to_owned(),
            count: u32::try_from(count).unwrap_or(u32::MAX),
        })
        .collect()
}

fn digest(digest: &Told) -> proto::ToolDigestAccount {
    proto::ToolDigestAccount {
        told_versions: versions(&digest.told),
        untold_versions: versions(&digest.untold),
    }
}

fn dropped(dropped: &Dropped) -> proto::DroppedPart {
    proto::DroppedPart {
        version: dropped.version.0,
        what: dropped.what.as_str().to_owned(),
    }
}

fn loss(loss: &Loss) -> proto::ContextLoss {
    proto::ContextLoss {
        version: loss.version.0,
        lost: loss.lost.as_str().to_owned(),
        became: loss.became.as_str().to_owned(),
    }
}

fn written((written, recorded): (&str, &str)) -> proto::WrittenName {
    proto::WrittenName {
        written: written.to_owned(),
        recorded: recorded.to_owned(),
    }
}

fn versions(versions: &[Version]) -> Vec<u64> {
    versions.iter().map(|version| version.0).collect()
}

fn call_ids(calls: &[CallId]) -> Vec<String> {
    calls.iter().map(|id| id.as_str().to_owned()).collect()
}

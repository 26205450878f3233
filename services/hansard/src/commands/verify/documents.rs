//! Compares the documents of the search with the rows of events, conversation by conversation.

use domain::ConversationKey;
use read_model::projections::conversations::verification::KeyRange;
use read_model::projections::search::verification::{Differences, DocumentsState, compare_documents};
use serde_json::json;

use super::problem::name;
use super::report::Report;
use super::sampled::each_row;
use super::{Repair, VerifyJob};

/// Compares the documents of the conversations of a range, or of one conversation.
pub(super) async fn run(
    job: &VerifyJob,
    range: &KeyRange,
    only: Option<&ConversationKey>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut keys = Vec::from_iter(only.cloned());
    if only.is_none() {
        each_row(job, range.clone(), |row| keys.push(row.key)).await?;
    }
    let steps = u64::try_from(keys.len()).unwrap_or(u64::MAX);
    report.start_phase("verify: documents", steps);
    let model = job.model.for_search();
    let differences = match job.repair {
        Repair::Yes(_) => Differences::Repair,
        Repair::No | Repair::Dry(_) => Differences::Count,
    };
    for (step, key) in (1..).zip(keys) {
        if let Some(state) = compare_documents(&model, &key, differences).await? {
            reported(&key, state, differences, report)?;
        }
        report.advance(step, steps);
    }
    Ok(())
}

fn reported(
    key: &ConversationKey,
    state: DocumentsState,
    differences: Differences,
    report: &mut Report,
) -> anyhow::Result<()> {
    let DocumentsState { correct, wrong, unfounded } = state;
    report.correct(1, correct);
    if wrong == 0 && unfounded == 0 {
        return Ok(());
    }
    let is_repaired = differences == Differences::Repair;
    let line = json!({
        "tenant": key.tenant.as_str(),
        "conversation": key.conversation.as_str(),
        "kind": "documents",
        "wrong": wrong,
        "unfounded": unfounded,
        "repaired": is_repaired,
    });
    let what = format!("{wrong} documents are missing or different, {unfounded} have no event");
    let outcome = if is_repaired { "repaired" } else { "not repaired" };
    report.finding(&line, [&name(key), "documents", &what, outcome])?;
    if is_repaired {
        report.repaired();
    }
    Ok(())
}

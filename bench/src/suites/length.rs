//! The cost of a conversation's length: contexts and appends with 10,000 messages, compared with 10.

use std::sync::Arc;

use super::context::contexts;
use crate::Plan;
use crate::latency::Measure;
use crate::pace::pick;
use crate::report::{Comparison, Round, Threshold};
use crate::rounds::{alternate, p50_verdict};
use crate::setup::{self, Fill};
use crate::target::Target;

/// Times the short conversations.
const P50: Threshold = Threshold::AtMost(1.2);
const SHORT_MESSAGES: usize = 10;
const LONG_MESSAGES: usize = 10_000;
/// Enough conversations to stay short during the appends.
const SHORT_CONVERSATIONS: usize = 2_000;
const LONG_CONVERSATIONS: usize = 8;
/// Appends to the same conversation would wait for each other.
const APPENDS_IN_FLIGHT: usize = 1;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Vec<Comparison>> {
    let fill = |name, conversations, messages| Fill {
        name,
        conversations,
        messages,
        per_commit: setup::IMPORT,
        event_bytes: plan.event_bytes,
    };
    let short = fill("short", SHORT_CONVERSATIONS, SHORT_MESSAGES);
    let long = fill("long", LONG_CONVERSATIONS, LONG_MESSAGES);
    let short = setup::conversations(target, short).await?;
    let long = setup::conversations(target, long).await?;
    target.caught_up().await?;
    let closed = plan.closed_loop(plan.readers());
    let read = |ids: &Arc<[String]>| contexts(target, closed, SHORT_MESSAGES, Arc::clone(ids));
    let reads = alternate(plan.rounds, || read(&short), || read(&long)).await?;
    let append = |ids: &Arc<[String]>| appends(plan, target, Arc::clone(ids));
    let appends = alternate(plan.rounds, || append(&short), || append(&long)).await?;
    let readers = plan.readers();
    let load = format!("contexts of {SHORT_MESSAGES} messages, {readers} readers");
    let appended = "appends to long conversations";
    Ok(vec![
        comparison("contexts of long conversations", load, "contexts", reads),
        comparison(appended, "one at a time".to_owned(), "commits", appends),
    ])
}

fn comparison(title: &str, load: String, unit: &'static str, rounds: Vec<Round>) -> Comparison {
    Comparison {
        title: title.to_owned(),
        load,
        unit,
        base: "10 messages",
        system: "10,000 messages",
        verdicts: p50_verdict(&rounds, "p50 / short", P50),
        rounds,
        ..Comparison::default()
    }
}

async fn appends(plan: &Plan, target: &Target, conversations: Arc<[String]>) -> anyhow::Result<Measure> {
    let closed = plan.closed_loop(APPENDS_IN_FLIGHT);
    let messages = setup::messages(1, plan.event_bytes);
    let template = Arc::new(setup::append(target, "", messages));
    let shared = (target.writer()?.writer(), template, conversations);
    closed
        .measure(shared, |(mut writer, template, ids), call| async move {
            let request = setup::from_template(&template, pick(&ids, call.count)?);
            writer.append_events(request).await?;
            Ok(())
        })
        .await
}

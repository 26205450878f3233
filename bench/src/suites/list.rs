//! The cost of a list's length and a page's depth.

use std::sync::Arc;

use hansard::progress::grouped;
use wire::proto::read::v1::ListConversationsRequest;
use wire::proto::read::v1::list_conversations_request::Filter;

use crate::Plan;
use crate::latency::Measure;
use crate::pace::pick;
use crate::report::{Comparison, Threshold};
use crate::rounds::{alternate, p50_verdict};
use crate::setup::{self, Fill, session};
use crate::target::Target;

/// Times the first page of the short list.
const P50: Threshold = Threshold::AtMost(1.3);
const PAGE: u32 = 50;
const SHORT: usize = 100;

pub(super) async fn measure(plan: &Plan, target: &Target) -> anyhow::Result<Comparison> {
    let fill =
        |name, conversations| Fill { name, conversations, messages: 0, per_commit: setup::IMPORT, event_bytes: 0 };
    setup::conversations(target, fill("few", SHORT)).await?;
    setup::conversations(target, fill("many", plan.list_conversations)).await?;
    target.caught_up().await?;
    let first: Arc<[ListConversationsRequest]> = Arc::from([page(target, "few")]);
    let all: Arc<[ListConversationsRequest]> = walk(target, page(target, "many")).await?.into();
    let pages = all.len();
    let read = |requests: &Arc<[ListConversationsRequest]>| lists(plan, target, Arc::clone(requests));
    let rounds = alternate(plan.rounds, || read(&first), || read(&all)).await?;
    Ok(Comparison {
        title: "pages of a long list".to_owned(),
        load: format!(
            "{} readers, pages of {PAGE}: all {} pages of {} conversations, compared with the first of {SHORT}",
            plan.readers(),
            grouped(u64::try_from(pages)?),
            grouped(u64::try_from(plan.list_conversations)?),
        ),
        unit: "pages",
        base: "short list",
        system: "long list",
        verdicts: p50_verdict(&rounds, "p50 / short list", P50),
        rounds,
        ..Comparison::default()
    })
}

fn page(target: &Target, name: &str) -> ListConversationsRequest {
    ListConversationsRequest {
        agent_id: target.agent.clone(),
        filter: Some(Filter::SessionId(session(target, name))),
        page_size: PAGE,
        ..ListConversationsRequest::default()
    }
}

/// The requests of all full pages, in order.
async fn walk(target: &Target, first: ListConversationsRequest) -> anyhow::Result<Vec<ListConversationsRequest>> {
    let mut reader = target.gateway.reader();
    let (mut pages, mut next) = (Vec::new(), first);
    loop {
        let page = reader.list_conversations(next.clone()).await?.into_inner();
        if page.conversations.len() < usize::try_from(PAGE)? {
            return Ok(pages);
        }
        pages.push(next.clone());
        if page.next_page_token.is_empty() {
            return Ok(pages);
        }
        next.page_token = page.next_page_token;
    }
}

async fn lists(plan: &Plan, target: &Target, requests: Arc<[ListConversationsRequest]>) -> anyhow::Result<Measure> {
    let closed = plan.closed_loop(plan.readers());
    let shared = (target.gateway.reader(), requests);
    closed
        .measure(shared, move |(mut reader, requests), call| async move {
            // A prime step mixes shallow and deep pages.
            let index = (call.worker + call.count * closed.in_flight) * 7_919;
            let page = reader.list_conversations(pick(&requests, index)?.clone());
            let count = page.await?.into_inner().conversations.len();
            anyhow::ensure!(count == usize::try_from(PAGE)?, "a short page");
            Ok(())
        })
        .await
}

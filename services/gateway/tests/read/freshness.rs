//! Freshness: answers do not depend on how much of a conversation is projected.

use domain::Fact;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tokio_stream::StreamExt as _;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::watch_conversation_response::Item;

use crate::author::Author;
use crate::client::{context_request, events_request, get_request, target, watch_request};
use crate::facts::{assistant, call, message, note, result, titled, user};
use crate::stack::{run, shared};

/// The number of random histories.
const CASES: usize = 24;

#[test]
fn reads_do_not_depend_on_what_is_projected() {
    run(async {
        let mut runner = TestRunner::deterministic();
        let history = histories();
        for _ in 0..CASES {
            let (commits, share) = history.new_tree(&mut runner).unwrap().current();
            Box::pin(check(commits, share)).await;
        }
    });
}

#[test]
fn answers_do_not_depend_on_a_projector_that_is_far_behind() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        author.append(vec![titled("early")]).await;
        author.append(vec![user("first"), assistant("calls"), call("early")]).await;
        for _ in 0..600 {
            author.append(vec![note(), user("later")]).await;
        }
        let unprojected = answers(&author, 300).await;
        let title = unprojected.conversation.conversation.as_ref().unwrap().title.as_str();
        assert_eq!(title, "early");
        author.project(4).await;
        assert_eq!(answers(&author, 300).await, unprojected);
        author.project_all().await;
        assert_eq!(answers(&author, 300).await, unprojected);
    });
}

/// Reads with nothing, a share (in percent) and all of the history projected.
async fn check(commits: Vec<Vec<Fact>>, share: usize) {
    let mut author = Author::begin(shared().await).await;
    for facts in commits {
        author.append(facts).await;
    }
    let unprojected = answers(&author, 3).await;
    author.project(author.commits.len() * share / 100).await;
    assert_eq!(answers(&author, 3).await, unprojected, "{share} % projected");
    author.project_all().await;
    assert_eq!(answers(&author, 3).await, unprojected, "all projected");
}

/// The answers of every endpoint that reads one conversation.
#[derive(Debug, PartialEq)]
struct Answers {
    conversation: proto::GetConversationResponse,
    contexts: Vec<proto::AssembleContextResponse>,
    pages: Vec<Vec<proto::ListEventsResponse>>,
    watched: Vec<Item>,
}

async fn answers(author: &Author<'_>, page_size: u32) -> Answers {
    let client = &author.stack.client;
    let mut contexts = Vec::new();
    for messages_max in [1, 2, 3, 7, 20, 1_000] {
        let request = context_request(target(author), messages_max);
        let mut response = client.context(request).await.unwrap();
        let report = response.report.as_mut().unwrap();
        // Only the source of the events may differ.
        (report.events_from_rows, report.events_from_tail) = (report.events_from_rows + report.events_from_tail, 0);
        contexts.push(response);
    }
    let mut listings = Vec::new();
    for direction in [proto::Direction::Forward, proto::Direction::Backward] {
        for (page_size, kinds) in [(page_size, vec![]), (page_size, vec![1]), (1_000, vec![2, 3, 4])] {
            let query = proto::ListEventsRequest {
                direction: direction.into(),
                kinds,
                page_size,
                from_version: 2,
                to_version: author.version() - 1,
                ..events_request(target(author))
            };
            listings.push(pages(author, query).await);
        }
    }
    Answers {
        conversation: client.get(get_request(target(author))).await.unwrap(),
        contexts,
        pages: listings,
        watched: watched(author, 3).await,
    }
}

/// Every page of a query, without tokens: those contain sequences of the record.
async fn pages(author: &Author<'_>, mut query: proto::ListEventsRequest) -> Vec<proto::ListEventsResponse> {
    let mut pages = Vec::new();
    loop {
        let mut page = author.stack.client.events(query.clone()).await.unwrap();
        query.page_token = std::mem::take(&mut page.next_page_token);
        pages.push(page);
        if query.page_token.is_empty() {
            return pages;
        }
    }
}

/// The items that a watcher receives until it has caught up.
async fn watched(author: &Author<'_>, from_version: u64) -> Vec<Item> {
    let request = watch_request(author, from_version.min(author.version() + 1));
    let mut responses = author.stack.client.watch(request).await.unwrap();
    let mut items = Vec::new();
    while let Some(response) = responses.next().await {
        let item = response.unwrap().item.unwrap();
        let is_end = matches!(item, Item::CaughtUp(_));
        items.push(item);
        if is_end {
            return items;
        }
    }
    panic!("the stream ends before it has caught up");
}

/// Commits of one to six facts that keep the rules of tool calls, and the share of them that is projected, in percent.
fn histories() -> impl Strategy<Value = (Vec<Vec<Fact>>, usize)> {
    let steps = prop::collection::vec((0_u8..14, 0_usize..6), 2..90);
    let sizes = prop::collection::vec(1_usize..6, 90);
    (steps, sizes, 0_usize..100).prop_map(|(steps, sizes, share)| {
        let mut facts = valid(steps).into_iter();
        let commits = sizes.into_iter().map(|size| facts.by_ref().take(size).collect());
        (commits.take_while(|commit: &Vec<Fact>| !commit.is_empty()).collect(), share)
    })
}

fn valid(steps: Vec<(u8, usize)>) -> Vec<Fact> {
    let mut open: Vec<usize> = Vec::new();
    let fact = |(step, pick): (u8, usize)| match step {
        0..=2 => user("question"),
        3..=4 => assistant("answer"),
        5 => note(),
        6 => titled(&format!("title {pick}")),
        7..=9 if !open.contains(&pick) => {
            open.push(pick);
            call(&pick.to_string())
        }
        10..=12 if !open.is_empty() => {
            let id = open.remove(pick % open.len());
            result(&id.to_string())
        }
        _ => message(domain::event::Role::Developer, "instruction"),
    };
    steps.into_iter().map(fact).collect()
}

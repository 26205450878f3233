//! Concurrent contexts, which share statements: each is that of its own conversation.

use domain::{Owner, SessionId};
use futures::future::join_all;
use wire::proto::read::v1 as proto;

use crate::author::Author;
use crate::client::{context_request, target};
use crate::facts::{assistant, call, note, result, user};
use crate::stack::{AGENT, FOREIGN_AGENT, FOREIGN_TENANT, OTHER_AGENT, Stack, TENANT, run, shared};

/// Conversations with the same ids in two tenants.
const IDS: usize = 12;
/// The conversations with this number have over 1 MiB, so a statement of several does not contain all of their events.
const LARGE: usize = 6;
const ROUNDS: usize = 6;
/// Contexts whose first reads differ.
const MESSAGES_MAX: [u32; 3] = [1, 4, 40];

/// A conversation whose texts contain its tenant and its number. The last commits are not in the rows.
async fn begin<'s>(
    stack: &'s Stack,
    (tenant, agent): (&str, &str),
    like: Option<&Author<'_>>,
    number: usize,
) -> Author<'s> {
    let owner = Owner::Session(SessionId::parse(format!("session-{number}")).unwrap());
    let mut author = match like {
        Some(like) => {
            let id = like.key.conversation.clone();
            Author::begin_as(stack, owner, (tenant, agent), id).await
        }
        None => Author::begin_with(stack, owner, (tenant, agent)).await,
    };
    let filling = "x".repeat(if number == LARGE { 400 * 1024 } else { 0 });
    for turn in 0..number {
        let text = format!("{tenant}:{agent}:{number}:{turn}");
        let question = format!("{text} {filling}");
        author.append(vec![user(&question), note()]).await;
        let calls = vec![assistant(&text), call(&text), result(&text)];
        author.append(calls).await;
    }
    author.project(author.commits.len() - number % 3).await;
    author
}

#[test]
fn concurrent_contexts_are_those_of_their_conversations() {
    run(async {
        let stack = shared().await;
        let mut authors = Vec::new();
        for number in 2..2 + IDS {
            let agent = [AGENT, OTHER_AGENT][number % 2];
            let own = begin(stack, (TENANT, agent), None, number).await;
            let foreign = (FOREIGN_TENANT, FOREIGN_AGENT);
            authors.push(begin(stack, foreign, Some(&own), number).await);
            authors.push(own);
        }
        let requests: Vec<proto::AssembleContextRequest> =
            authors.iter().flat_map(|author| MESSAGES_MAX.map(|most| context_request(target(author), most))).collect();
        let mut alone = Vec::new();
        for request in &requests {
            alone.push(stack.client.context(request.clone()).await.unwrap());
        }
        for (author, contexts) in authors.iter().zip(alone.chunks(MESSAGES_MAX.len())) {
            let text = format!("{}:{}:", author.key.tenant, author.agent);
            for context in contexts.iter().filter(|context| !context.messages.is_empty()) {
                assert!(format!("{:?}", context.messages).contains(&text), "{text}");
            }
        }
        for _ in 0..ROUNDS {
            let contexts = requests.iter().map(|request| stack.client.context(request.clone()));
            for (context, alone) in join_all(contexts).await.into_iter().zip(&alone) {
                assert_eq!(context.unwrap(), *alone);
            }
        }
    });
}

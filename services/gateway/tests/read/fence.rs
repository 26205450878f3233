//! Reads with position tokens.

use tonic::Code;
use wire::proto::read::v1 as proto;
use wire::token::PositionToken;

use crate::author::Author;
use crate::client::{context_request, eventual, get_request, target};
use crate::errors::check;
use crate::facts::user;
use crate::stack::{run, shared};

#[test]
fn a_fresh_read_includes_an_acknowledged_commit() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        let position_token = author.append(vec![user("1")]).await;
        let target = proto::ReadTarget { position_token, ..target(&author) };
        let response = author.stack.client.get(get_request(target)).await.unwrap();
        assert_eq!(response.conversation.unwrap().version, 2);
        assert_eq!(response.position_token, author.token());
    });
}

#[test]
fn an_eventual_read_waits_for_the_rows() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        author.project_all().await;
        let position_token = author.append(vec![user("1")]).await;
        let target = proto::ReadTarget { position_token, ..eventual(&author) };
        let early = author.stack.client.get(get_request(target.clone())).await;
        check(early, Code::Unavailable, "POSITION_NOT_REACHED", "");
        // A gateway that waits until the rows are projected, however slowly.
        let (client, shutdown) = author.stack.gateway_with(|config| config.fence_wait_ms = 10_000).await;
        let waiting = async { client.context(context_request(target, 5)).await };
        let ((), response) = tokio::join!(author.project_all(), waiting);
        assert_eq!(response.unwrap().version, 2);
        shutdown.begin();
    });
}

#[test]
fn a_position_of_the_future_is_not_reached() {
    run(async {
        let author = Author::begin(shared().await).await;
        let mut token = PositionToken::decode(&author.token(), author.stack.record.id()).unwrap();
        token.position.sequence.0 += 1_000_000;
        for target in [target(&author), eventual(&author)] {
            let target = proto::ReadTarget { position_token: token.encode(), ..target };
            let outcome = author.stack.client.get(get_request(target)).await;
            check(outcome, Code::Unavailable, "POSITION_NOT_REACHED", "");
        }
    });
}

#[test]
fn a_position_of_another_conversation_of_the_partition_is_reached() {
    run(async {
        let author = Author::begin(shared().await).await;
        let partition = |author: &Author<'_>| author.stack.record.layout().only_candidate(&author.key);
        let other = loop {
            let other = Author::begin(shared().await).await;
            if partition(&other) == partition(&author) {
                break other;
            }
        };
        let target = proto::ReadTarget { position_token: other.token(), ..target(&author) };
        let response = author.stack.client.get(get_request(target)).await.unwrap();
        assert_eq!(response.conversation.unwrap().version, 1);
    });
}

#[test]
fn rows_ahead_of_a_lagging_replica_are_used() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        author.append(vec![user("1")]).await;
        author.withhold(vec![user("2")]);
        author.project_all().await;
        let response = author.stack.client.context(context_request(target(&author), 5)).await.unwrap();
        assert_eq!((response.version, response.messages.len()), (3, 2));
        assert_eq!(response.position_token, author.token());
    });
}

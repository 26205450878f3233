//! Position tokens fence a read: it includes the position, or fails.

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::events::user;
use tests::stack::Setup;
use tonic::Code::{InvalidArgument, Unavailable};
use wire::proto::read::v1 as proto;

fn fenced_target(agent: &Agent, conversation: &str, token: &str) -> proto::ReadTarget {
    proto::ReadTarget { position_token: token.to_owned(), ..agent.read_target(conversation) }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_include_the_position_of_their_token() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    stack.projector.stop().await;
    for _ in 0..20 {
        let written = agent.append("c", vec![user("x")]).await;
        let target = fenced_target(&agent, "c", &written.position_token);
        let read = agent.try_get(target.clone()).await.expect("a conversation");
        assert_eq!(read.position_token, written.position_token);
        assert_eq!(read.conversation.expect("a conversation").version, written.version);
        let context = agent.try_context(target, 1).await.expect("a context");
        assert_eq!(context.version, written.version);
        assert_eq!(context.position_token, written.position_token);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn eventual_reads_wait_for_rows_or_fail() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let made = agent.create("c").await;
    agent.wait_for_rows("c", 1).await;
    let eventual = |token: &str| proto::ReadTarget {
        consistency: proto::Consistency::Eventual.into(),
        ..fenced_target(&agent, "c", token)
    };
    agent.try_get(eventual(&made.position_token)).await.expect("a position that is reached");
    stack.projector.stop().await;
    let written = agent.append("c", vec![user("x")]).await;
    let target = eventual(&written.position_token);
    let late: Expected = (Unavailable, "POSITION_NOT_REACHED", "");
    let failure = check_failure("late rows", agent.try_get(target.clone()).await, late);
    assert!(failure.retry_after.is_some());
    let unfenced = agent.try_get(agent.eventual_target("c")).await.expect("what the rows hold");
    assert_eq!(unfenced.conversation.expect("a conversation").version, 1);
    let (read, ()) = tokio::join!(
        tests::eventually::eventually("a position in the rows", || async { agent.try_get(target.clone()).await.ok() }),
        stack.projector.start()
    );
    assert_eq!(read.conversation.expect("a conversation").version, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_positions() {
    let (stack, other) = tokio::join!(Setup::tasks().start(), Setup::tasks().start());
    let (agent, stranger) = tokio::join!(stack.any_agent(), other.any_agent());
    agent.create("c").await;
    let foreign = stranger.create("c").await.position_token;
    // Enough of them that one is in another partition.
    let mut other_tokens = Vec::new();
    for index in 0..16 {
        other_tokens.push(agent.create(&format!("d{index}")).await.position_token);
    }
    let check = async |case, token: &str, reason| {
        let expected = (InvalidArgument, reason, "target.position_token");
        let target = fenced_target(&agent, "c", token);
        check_failure(case, agent.try_get(target.clone()).await, expected);
        check_failure(case, agent.try_context(target.clone(), 1).await, expected);
        let request = proto::ListEventsRequest { target: Some(target), ..Default::default() };
        check_failure(case, agent.try_events(request).await, expected);
    };
    check("no token", "x", "POSITION_TOKEN_MALFORMED").await;
    check("no base64", "!", "POSITION_TOKEN_MALFORMED").await;
    check("cut short", &foreign[..foreign.len() - 2], "POSITION_TOKEN_MALFORMED").await;
    check("of another record", &foreign, "POSITION_TOKEN_OF_OTHER_RECORD").await;
    let own = agent.append("c", vec![user("x")]).await.position_token;
    let mut refused = 0;
    for token in &other_tokens {
        if let Err(status) = agent.try_get(fenced_target(&agent, "c", token)).await {
            assert_eq!(tests::errors::Failure::from(status).reason, "POSITION_TOKEN_MALFORMED");
            refused += 1;
        }
    }
    assert!(refused > 0);
    agent.try_get(fenced_target(&agent, "c", &own)).await.expect("a position of its own");
}

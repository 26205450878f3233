//! Followers of runs.

use domain::RunId;
use futures::StreamExt as _;
use generation::FollowItem;
use tokio::time::sleep;
use tonic::Code;
use uuid::Uuid;

use crate::chat::Chat;
use crate::node::Node;
use crate::stack::{SLOW, WORD_DELAY, run, shared};
use crate::texts::{answers, prose, text_of};

#[test]
fn followers_receive_every_part_once_at_any_time() {
    run(async {
        let (one, other, chat) = Chat::with_two_nodes(SLOW).await;
        let handle = chat.say(&one, &prose(40)).await;
        let mut joins = Vec::new();
        for number in 0..24 {
            let after = rand::random_range(0..45);
            let (chat, node) = (chat.clone(), if number % 2 == 0 { &one } else { &other });
            joins.push(async move {
                sleep(WORD_DELAY * after).await;
                text_of(&chat.parts(node, handle.run, 1).await)
            });
        }
        let texts = futures::future::join_all(joins).await;
        let (_, events) = chat.wait_for_finish(&one, handle.run).await;
        let committed = answers(&events).pop().unwrap();
        assert_eq!(committed, format!("echo: {}", prose(40)));
        assert!(texts.iter().all(|text| *text == committed));
    });
}

#[test]
fn a_follower_can_start_at_any_part() {
    run(async {
        let (node, chat) = Chat::with_node("echo").await;
        let handle = chat.say(&node, &prose(50)).await;
        let all = chat.parts(&node, handle.run, 1).await;
        for from in 1..=all.len() {
            let rest = chat.parts(&node, handle.run, u64::try_from(from).unwrap()).await;
            assert_eq!(rest, all[from - 1..], "from {from}");
        }
    });
}

#[test]
fn parts_that_are_not_stored_are_gone() {
    run(async {
        let stack = shared().await;
        let node = Node::start(stack).await;
        let chat = Chat::answered_by(stack, "echo").await;
        let gone = [FollowItem::Gone];
        assert_eq!(chat.follow(&node, RunId(Uuid::now_v7()), 1).await, gone);
        let handle = chat.say(&node, "x").await;
        let last = chat.parts(&node, handle.run, 1).await.len();
        chat.wait_for_finish(&node, handle.run).await;
        let beyond = u64::try_from(last).unwrap() + 1;
        assert_eq!(chat.follow(&node, handle.run, beyond).await, gone);
        stack.record.erase_parts(&chat.key).await.unwrap();
        assert_eq!(chat.follow(&node, handle.run, 1).await, gone);
    });
}

#[test]
fn the_number_of_followers_is_limited() {
    run(async {
        let stack = shared().await;
        let node = Node::start_with(stack, |config| config.generation.followers_max = 1).await;
        let chat = Chat::answered_by(stack, SLOW).await;
        let handle = chat.say(&node, &prose(10)).await;
        let (generations, key) = (node.generations.clone(), chat.key.clone());
        node.within(async move {
            let first = generations.follow(&key, handle.run, 1).await.unwrap();
            let second = generations.follow(&key, handle.run, 1).await;
            let problem = second.err().unwrap();
            assert_eq!(problem.reason().code(), Code::ResourceExhausted);
            drop(first);
            let again = generations.follow(&key, handle.run, 1).await.unwrap();
            assert!(again.count().await > 0);
        })
        .await;
    });
}

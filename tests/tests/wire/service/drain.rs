//! A role that is told to end finishes what it has begun, takes nothing new, and says so.

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use tests::agent::Agent;
use tests::events::{text_of, user};
use tests::eventually::{eventually_true, within};
use tests::program;
use tests::stack::Setup;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::append_stream_response::Outcome;

/// Appends until told to stop; gives the numbers that were acknowledged.
async fn append_on(
    agent: Agent,
    name: String,
    stop: Arc<AtomicBool>,
    count: Arc<Mutex<u64>>,
) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let text = format!("{name}-{number}");
        match agent
            .try_append(agent.append_request("c", vec![user(text.clone())]))
            .await
        {
            Ok(_) => {
                acknowledged.push(text);
                *count.lock().unwrap() += 1;
            }
            Err(status) => assert!(is_of_the_end(&status), "{status:?}"),
        }
    }
    acknowledged
}

/// Refused by a server that ends, or cut short with the connection.
fn is_of_the_end(status: &Status) -> bool {
    status.code() == Code::Unavailable || status.source().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_process_loses_nothing_that_it_acknowledged() {
    let mut stack = Setup::processes(program!()).start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(0)));
    let mut writing = Vec::new();
    for name in 0..4 {
        let (agent, stop, count) = (agent.clone(), Arc::clone(&stop), Arc::clone(&count));
        writing.push(tokio::spawn(append_on(
            agent,
            name.to_string(),
            stop,
            count,
        )));
    }
    for round in 1..=3_u64 {
        eventually_true("some commits", || *count.lock().unwrap() >= round * 50).await;
        let status = stack.writer.stop().await.expect("a process");
        assert_eq!(status.code(), Some(0));
        stack.writer.start().await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for task in writing {
        acknowledged.extend(within("a caller", task).await.expect("a caller"));
    }
    let events = agent.events(agent.list_request("c")).await;
    let kept: Vec<String> = events.iter().filter_map(text_of).collect();
    for text in &acknowledged {
        assert_eq!(
            kept.iter().filter(|kept| *kept == text).count(),
            1,
            "{text}"
        );
    }
    for status in [stack.projector.stop().await, stack.gateway.stop().await] {
        assert_eq!(status.expect("a process").code(), Some(0));
    }
}

/// Whatever a stream has taken is answered; then it ends, and says why.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_stream_is_answered_to_its_end() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let (commands, receiver) = mpsc::channel(100);
    let answers = agent
        .caller()
        .write()
        .append_stream(ReceiverStream::new(receiver))
        .await;
    let mut answers = answers.expect("a stream").into_inner();
    let sender = agent.clone();
    let sending = tokio::spawn(async move {
        for correlation_id in 0.. {
            let request = sender.append_request("c", vec![user("x")]);
            let command = Some(Command::AppendEvents(request));
            let request = proto::AppendStreamRequest {
                correlation_id,
                command,
            };
            if commands.send(request).await.is_err() {
                break;
            }
        }
    });
    let mut version = 1;
    let next = async |answers: &mut tonic::Streaming<proto::AppendStreamResponse>| {
        within("an answer", answers.next())
            .await
            .expect("a word on the end")
    };
    for _ in 0..50 {
        let answer = next(&mut answers).await.expect("an answer");
        let Some(Outcome::Result(result)) = answer.outcome else {
            panic!("{answer:?}")
        };
        version = result.version;
    }
    let (end, _) = tokio::join!(
        async {
            loop {
                match next(&mut answers).await {
                    Ok(answer) => {
                        let Some(Outcome::Result(result)) = answer.outcome else {
                            panic!()
                        };
                        version = result.version;
                    }
                    Err(status) => break tests::errors::Failure::from(status),
                }
            }
        },
        stack.writer.stop()
    );
    assert_eq!(
        (end.code, end.reason.as_str()),
        (Code::Unavailable, "DRAINING"),
        "{end:?}"
    );
    assert!(end.retry_after.is_some(), "{end:?}");
    within("the end of sending", sending)
        .await
        .expect("a sender");
    assert_eq!(
        agent.version("c").await,
        version,
        "a command that was taken was not answered"
    );
}

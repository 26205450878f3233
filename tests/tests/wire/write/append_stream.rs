//! `AppendStream`: volume, order within a conversation, errors of single commands, and independence of callers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt as _;
use tests::agent::Agent;
use tests::errors::Failure;
use tests::events::{call, result, text_of, user};
use tests::eventually::{eventually, within};
use tests::stack::{Setup, Stack};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Endpoint;
use wire::proto::event::v1::Event;
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::append_stream_request::Command;
use wire::proto::write::v1::append_stream_response::Outcome;

/// HTTP/2's default, which this client's library raises to 2 MiB.
const ANSWER_WINDOW_BYTES: u32 = 64 * 1_024;

/// A stream for single commands of the test.
struct CommandStream {
    commands: mpsc::Sender<proto::AppendStreamRequest>,
    answers: Streaming<proto::AppendStreamResponse>,
}

impl CommandStream {
    async fn of(agent: &Agent) -> Self {
        let (commands, receiver) = mpsc::channel(16);
        let answers = agent.caller().write().append_stream(ReceiverStream::new(receiver)).await;
        Self { commands, answers: answers.expect("a stream").into_inner() }
    }

    async fn send(&self, correlation_id: u64, command: Command) {
        let request = proto::AppendStreamRequest { correlation_id, command: Some(command) };
        within("room in the stream", self.commands.send(request)).await.expect("an open stream");
    }

    async fn answer(&mut self) -> (u64, Result<proto::CommitResult, Failure>) {
        let answer =
            within("an answer", self.answers.next()).await.expect("an open stream").expect("no failure of the stream");
        match answer.outcome.expect("an outcome") {
            Outcome::Result(result) => (answer.correlation_id, Ok(result)),
            Outcome::Error(error) => (answer.correlation_id, Err(error.into())),
        }
    }
}

fn create(agent: &Agent, id: &str) -> Command {
    Command::CreateConversation(agent.create_request(id))
}

fn append(agent: &Agent, id: &str, events: Vec<Event>) -> Command {
    Command::AppendEvents(agent.append_request(id, events))
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_commands_keep_their_order_in_each_conversation() {
    const CONVERSATIONS: u64 = 50;
    const COMMANDS: u64 = 10_000;
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let sender = agent.clone();
    let commands = (0..COMMANDS).map(move |number| {
        let id = format!("c{}", number % CONVERSATIONS);
        let command = if number < CONVERSATIONS {
            create(&sender, &id)
        } else {
            append(&sender, &id, vec![user(number.to_string())])
        };
        proto::AppendStreamRequest { correlation_id: number, command: Some(command) }
    });
    let mut answers =
        agent.caller().write().append_stream(tokio_stream::iter(commands)).await.expect("a stream").into_inner();
    let mut seen: HashMap<u64, proto::CommitResult> = HashMap::new();
    while let Some(answer) = within("an answer", answers.next()).await {
        let answer = answer.expect("no failure of the stream");
        let Some(Outcome::Result(result)) = answer.outcome else { panic!("{answer:?}") };
        let again = seen.insert(answer.correlation_id, result);
        assert!(again.is_none(), "two answers to {}", answer.correlation_id);
    }
    assert_eq!(seen.len(), usize::try_from(COMMANDS).unwrap());
    for (number, result) in &seen {
        assert_eq!(result.version, number / CONVERSATIONS + 1, "{number}");
        assert_eq!(result.conversation_id, format!("c{}", number % CONVERSATIONS));
    }
    for conversation in 0..CONVERSATIONS {
        let events = agent.events(agent.list_request(&format!("c{conversation}"))).await;
        let texts: Vec<u64> = events.iter().filter_map(|event| text_of(event)?.parse().ok()).collect();
        let sent: Vec<u64> = (1..COMMANDS / CONVERSATIONS).map(|round| round * CONVERSATIONS + conversation).collect();
        assert_eq!(texts, sent, "c{conversation}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_commands_do_not_end_the_stream() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let commands = [
        (create(&agent, "c"), "", 1),
        (append(&agent, "c", Vec::new()), "NO_EVENTS", 0),
        (append(&agent, "c", vec![call("1", "{")]), "INVALID_JSON", 0),
        (append(&agent, "c", vec![call("1", "{}")]), "", 2),
        (append(&agent, "none", vec![user("x")]), "CONVERSATION_NOT_FOUND", 0),
        (append(&agent, "c", vec![result("1", "1"), result("1", "2")]), "TOOL_CALL_NOT_OPEN", 0),
        (create(&agent, "c"), "CONVERSATION_EXISTS", 0),
        (append(&agent, "c", vec![result("1", "1")]), "", 3),
    ];
    let mut stream = CommandStream::of(&agent).await;
    for (number, (command, reason, version)) in (0..).zip(commands) {
        stream.send(number, command).await;
        let (correlation_id, outcome) = stream.answer().await;
        assert_eq!(correlation_id, number);
        match outcome {
            Ok(result) => assert_eq!((result.version, ""), (version, reason), "{number}"),
            Err(failure) => assert_eq!(failure.reason, reason, "{number}: {failure:?}"),
        }
    }
    let empty = proto::AppendStreamRequest { correlation_id: 99, command: None };
    stream.commands.send(empty).await.expect("an open stream");
    let (correlation_id, outcome) = stream.answer().await;
    let failure = outcome.expect_err("no command");
    assert_eq!((correlation_id, failure.reason.as_str()), (99, "FIELD_MISSING"));
    assert_eq!(failure.field, "command");
    assert_eq!(agent.version("c").await, 3);
}

/// Commands of one conversation are answered in the order sent, also after a failed one.
#[tokio::test(flavor = "multi_thread")]
async fn commands_after_a_failure_run_in_order() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let mut stream = CommandStream::of(&agent).await;
    for number in 0..100 {
        let events = match number % 3 {
            0 => vec![result("never", "1")],
            _ => vec![user(number.to_string())],
        };
        stream.send(number, append(&agent, "c", events)).await;
    }
    let mut versions = Vec::new();
    for _ in 0..100 {
        let (number, outcome) = stream.answer().await;
        assert_eq!(outcome.is_err(), number % 3 == 0, "{number}: {outcome:?}");
        versions.extend(outcome.ok().map(|result| result.version));
    }
    let expected: Vec<u64> = (2..68).collect();
    versions.sort_unstable();
    assert_eq!(versions, expected);
}

/// A stream with a small window for answers, so that a few unread ones fill it.
async fn open_narrow_stream(stack: &Stack, agent: &Agent) -> CommandStream {
    let endpoint = Endpoint::from_shared(stack.writer.grpc_url()).expect("a URL");
    let channel = endpoint.initial_stream_window_size(ANSWER_WINDOW_BYTES).connect_lazy();
    let (commands, receiver) = mpsc::channel(16);
    let mut client = agent.caller().write_over(&channel);
    let answers = client.append_stream(ReceiverStream::new(receiver)).await;
    CommandStream { commands, answers: answers.expect("a stream").into_inner() }
}

/// The version of the conversation after it stayed the same for several polls.
async fn wait_until_stuck(agent: &Agent) -> u64 {
    let (last, looks) = (AtomicU64::new(0), AtomicU64::new(0));
    eventually("a stream that is stuck", || async {
        let version = agent.version("c").await;
        if version > 1 && last.swap(version, Ordering::Relaxed) == version {
            looks.fetch_add(1, Ordering::Relaxed)
        } else {
            looks.swap(0, Ordering::Relaxed)
        };
        (looks.load(Ordering::Relaxed) >= 20).then_some(version)
    })
    .await
}

/// Thousands of commands without reading answers, with concurrent writes of others to the same conversation.
#[tokio::test(flavor = "multi_thread")]
async fn clients_that_read_no_answers_block_nobody_else() {
    const COMMANDS: u64 = 4_000;
    let stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let CommandStream { commands, answers } = open_narrow_stream(&stack, &agent).await;
    let deaf = agent.clone();
    let sending = tokio::spawn(async move {
        for correlation_id in 0..COMMANDS {
            let command = Some(append(&deaf, "c", vec![user("deaf")]));
            let request = proto::AppendStreamRequest { correlation_id, command };
            commands.send(request).await.expect("an open stream");
        }
    });
    let version = wait_until_stuck(&agent).await;
    assert!(version < COMMANDS, "nothing is stuck at {version}");
    for _ in 0..20 {
        within("another's turn", agent.append("c", vec![user("heard")])).await;
    }
    let answers: Vec<_> = within("the rest", answers.collect()).await;
    within("the end of sending", sending).await.expect("everything sent");
    assert_eq!(u64::try_from(answers.len()).unwrap(), COMMANDS);
    // A command that waited too long has an error, and is not recorded.
    let outcomes = answers.into_iter().map(|answer| answer.unwrap().outcome);
    let recorded = outcomes.filter(|outcome| matches!(outcome, Some(Outcome::Result(_))));
    let recorded = u64::try_from(recorded.count()).unwrap();
    assert!(recorded > version, "{recorded} after {version}");
    assert_eq!(agent.version("c").await, recorded + 21);
}

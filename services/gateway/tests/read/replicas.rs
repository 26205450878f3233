//! Reads from a streaming replica of Postgres, which stops, lags or ends.

use std::time::Duration;

use devstack::{NatsServer, PostgresServer, test};
use futures::future::join_all;
use runtime::shutdown::Shutdown;
use tokio::time::{Instant, sleep};
use tonic::{Code, Status};
use wire::proto::read::v1 as proto;

use crate::author::Author;
use crate::client::{Client, DEADLINE, context_request, events_request, eventual, get_request, target};
use crate::errors::check;
use crate::facts::user;
use crate::stack::{Stack, run};

/// The longest lag that is configurable: the replica of a test never lags too far.
const NEVER: u64 = 60_000;
/// A lag that a paused replica exceeds soon.
const LAG_MS_MAX: u64 = 500;
const POLL: Duration = Duration::from_millis(10);
const READERS: usize = 6;
/// The longest read while the replica ends or freezes: a measurement that fails, and what the read needs on the primary.
const READ_MAX: Duration = Duration::from_secs(4);

/// A stack whose gateway has a replica.
pub(crate) struct Replicated {
    // The order matters: the replica ends before its primary.
    pub(crate) standby: PostgresServer,
    postgres: PostgresServer,
    _nats: NatsServer,
    pub(crate) stack: Stack,
    pub(crate) client: Client,
    shutdown: Shutdown,
}

impl Replicated {
    pub(crate) async fn start(lag_ms_max: u64) -> Self {
        let (nats, postgres) = tokio::join!(test::nats(), test::postgres());
        postgres.create_database("rows").await.unwrap();
        let stack = Stack::over(&nats, &postgres.database_url("rows")).await;
        let standby = test::standby(&postgres).await;
        let (client, shutdown) = gateway(&stack, &standby, lag_ms_max).await;
        Self { standby, postgres, _nats: nats, stack, client, shutdown }
    }

    /// A conversation with this number of messages, which the replica has and answers.
    pub(crate) async fn conversation(&self, messages: usize) -> Author<'_> {
        let mut author = Author::begin(&self.stack).await;
        for message in 0..messages {
            author.append(vec![user(&message.to_string())]).await;
        }
        author.project_all().await;
        let deadline = Instant::now() + DEADLINE;
        loop {
            let (answered, behind) = (self.statements(), self.fallbacks("behind"));
            let version = self.version(eventual(&author)).await;
            let is_from_replica = self.statements() > answered && self.fallbacks("behind") <= behind;
            if is_from_replica && version.is_ok_and(|found| found == author.version()) {
                return author;
            }
            assert!(Instant::now() < deadline, "the replica is not read");
            sleep(POLL).await;
        }
    }

    async fn version(&self, target: proto::ReadTarget) -> Result<u64, Status> {
        let response = self.client.get(get_request(target)).await?;
        Ok(response.conversation.unwrap().version)
    }

    async fn pause_replay(&self) {
        test::pause_replay(&self.postgres, &self.standby).await;
    }

    /// The number of statements that the replica answered.
    fn statements(&self) -> f64 {
        self.metric("hansard_gateway_replica_statements_total", "")
    }

    fn fallbacks(&self, reason: &str) -> f64 {
        let label = format!(",reason=\"{reason}\"");
        self.metric("hansard_gateway_replica_fallbacks_total", &label)
    }

    fn metric(&self, name: &str, label: &str) -> f64 {
        let url = self.standby.database_url("rows");
        let (_, folder) = url.split_once("?host=").unwrap();
        let port = self.standby.port();
        let series = format!("{name}{{replica=\"{folder}:{port}\"{label}}} ");
        let text = runtime::metrics::install().unwrap().render();
        let value = text.lines().find_map(|line| line.strip_prefix(&series));
        value.map_or(0.0, |value| value.parse().unwrap())
    }
}

/// A gateway that reads a replica.
async fn gateway(stack: &Stack, standby: &PostgresServer, lag_ms_max: u64) -> (Client, Shutdown) {
    let gateway = stack.gateway_with(|config| {
        config.read_model.replica_urls = vec![standby.database_url("rows")];
        config.read_model.replica_lag_ms_max = lag_ms_max;
    });
    gateway.await
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what}: not in time");
        sleep(POLL).await;
    }
}

/// The same read, after the last commit.
fn after_last(author: &Author<'_>, target: proto::ReadTarget) -> proto::ReadTarget {
    proto::ReadTarget { position_token: author.token(), ..target }
}

#[test]
fn reads_include_their_tokens_while_the_replay_is_paused() {
    run(async {
        let replicated = Box::pin(Replicated::start(NEVER)).await;
        let mut author = replicated.conversation(1).await;
        let mut erased = replicated.conversation(1).await;
        replicated.pause_replay().await;
        author.append(vec![user("new")]).await;
        author.project_all().await;

        // Without its token, the read shows that the replica has earlier rows.
        assert_eq!(replicated.version(eventual(&author)).await.unwrap(), 2);
        let behind = replicated.fallbacks("behind");
        for target in [target(&author), after_last(&author, target(&author)), after_last(&author, eventual(&author))] {
            assert_eq!(replicated.version(target).await.unwrap(), 3);
        }
        assert!(replicated.fallbacks("behind") > behind);
        let context = replicated.client.context(context_request(target(&author), 5)).await.unwrap();
        assert_eq!(context.messages.len(), 2);
        let events = events_request(after_last(&author, eventual(&author)));
        let events = replicated.client.events(events).await.unwrap();
        assert_eq!(events.events.len(), 3);

        // A conversation without a row on the replica.
        let mut unknown = Author::begin(&replicated.stack).await;
        assert_eq!(replicated.version(target(&unknown)).await.unwrap(), 1);
        unknown.project_all().await;
        assert_eq!(replicated.version(eventual(&unknown)).await.unwrap(), 1);

        // A conversation that the replica does not know as erased.
        erased.erase().await;
        erased.project_all().await;
        for target in [target(&erased), after_last(&erased, target(&erased)), after_last(&erased, eventual(&erased))] {
            let read = replicated.client.get(get_request(target.clone())).await;
            check(read, Code::NotFound, "CONVERSATION_NOT_FOUND", "");
            let context = replicated.client.context(context_request(target, 5)).await;
            check(context, Code::NotFound, "CONVERSATION_NOT_FOUND", "");
        }
        replicated.shutdown.begin();

        // A gateway that accepts less lag reads the primary, until the replica has caught up.
        let (client, shutdown) = gateway(&replicated.stack, &replicated.standby, LAG_MS_MAX).await;
        until("the erasure is visible", async || {
            let read = client.get(get_request(eventual(&erased))).await;
            replicated.fallbacks("lagging") > 0.0 && read.is_err()
        })
        .await;
        test::resume_replay(&replicated.standby).await;
        let answered = replicated.statements();
        until("the replica is read", async || {
            let read = client.get(get_request(eventual(&author))).await;
            assert_eq!(read.unwrap().conversation.unwrap().version, 3);
            replicated.statements() > answered
        })
        .await;
        shutdown.begin();
    });
}

#[test]
fn no_read_fails_while_a_replica_ends_and_returns() {
    run(async {
        let mut replicated = Box::pin(Replicated::start(NEVER)).await;
        let mut requests = Vec::new();
        for messages in 1..=READERS {
            let author = replicated.conversation(messages).await;
            requests.push((target(&author), messages));
            requests.push((eventual(&author), messages));
        }
        // Undisturbed, the replica answers every read.
        let (before, lost) = (replicated.statements(), replicated.fallbacks("unreachable"));
        for (target, _) in &requests {
            replicated.version(target.clone()).await.unwrap();
        }
        let answered = replicated.statements() - before;
        assert!(answered >= f64::from(u8::try_from(requests.len()).unwrap()));

        let (stop, is_stopped) = tokio::sync::watch::channel(false);
        let readers: Vec<_> = requests
            .iter()
            .cloned()
            .map(|(target, messages)| {
                let (client, is_stopped) = (replicated.client.clone(), is_stopped.clone());
                tokio::spawn(async move {
                    let mut slowest = Duration::ZERO;
                    while !*is_stopped.borrow() {
                        let start = Instant::now();
                        let context = client.context(context_request(target.clone(), 50)).await;
                        assert_eq!(context.unwrap().messages.len(), messages);
                        slowest = slowest.max(start.elapsed());
                    }
                    slowest
                })
            })
            .collect();
        replicated.standby.kill();
        until("the replica is unreachable", async || replicated.fallbacks("unreachable") > lost).await;
        replicated.standby.restart().await.unwrap();
        replicated.conversation(1).await;
        replicated.standby.pause();
        let lost = replicated.fallbacks("unreachable");
        until("the replica is unreachable", async || replicated.fallbacks("unreachable") > lost).await;
        replicated.standby.resume();
        replicated.conversation(1).await;
        stop.send_replace(true);
        for slowest in join_all(readers).await {
            let slowest = slowest.unwrap();
            assert!(slowest < READ_MAX, "{slowest:?}");
        }
        replicated.shutdown.begin();
    });
}

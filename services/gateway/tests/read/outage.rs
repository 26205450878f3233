//! Outages of a dependency: a clear error within the deadline, and recovery without a restart.

use std::time::Duration;

use devstack::test;
use devstack::{NatsServer, PostgresServer};
use tokio::time::timeout;
use tonic::{Code, Status};
use wire::proto::read::v1 as proto;

use crate::author::Author;
use crate::client::{DEADLINE, context_request, eventual, target};
use crate::errors::check;
use crate::facts::user;
use crate::stack::{Stack, run};

/// The deadline of reads during an outage.
const READ_DEADLINE: Duration = Duration::from_secs(1);

#[test]
fn without_the_record_fresh_reads_fail_and_eventual_reads_work() {
    run(async {
        let mut nats = test::nats().await;
        let stack = Stack::over(&nats, &test::database().await.url).await;
        let mut author = Author::begin(&stack).await;
        author.append(vec![user("1")]).await;
        author.project_all().await;
        for away in [NatsServer::pause, NatsServer::kill] {
            away(&mut nats);
            unavailable(&author, target(&author), "RECORD_UNAVAILABLE").await;
            let rows = answer(&author, eventual(&author)).await;
            assert_eq!(rows.unwrap(), 1);
            nats.resume();
            if nats.pid().is_none() {
                nats.restart().await.unwrap();
            }
            recovers(&author).await;
        }
        stack.shutdown.begin();
    });
}

#[test]
fn without_the_rows_every_read_fails() {
    run(async {
        let nats = test::nats().await;
        let mut postgres = test::postgres().await;
        postgres.create_database("rows").await.unwrap();
        let stack = Stack::over(&nats, &postgres.database_url("rows")).await;
        let mut author = Author::begin(&stack).await;
        author.append(vec![user("1")]).await;
        author.project_all().await;
        for away in [PostgresServer::pause, PostgresServer::kill] {
            away(&mut postgres);
            unavailable(&author, target(&author), "READ_MODEL_UNAVAILABLE").await;
            unavailable(&author, eventual(&author), "READ_MODEL_UNAVAILABLE").await;
            postgres.resume();
            if postgres.pid().is_none() {
                postgres.restart().await.unwrap();
            }
            recovers(&author).await;
        }
        stack.shutdown.begin();
    });
}

/// Checks that the read fails with this reason, before its deadline.
async fn unavailable(author: &Author<'_>, target: proto::ReadTarget, reason: &str) {
    let outcome = answer(author, target).await;
    check(outcome, Code::Unavailable, reason, "");
}

/// The server's answer to a read. If the client library's own timeout is first, the read is repeated.
async fn answer(author: &Author<'_>, target: proto::ReadTarget) -> Result<usize, Status> {
    let answering = async {
        loop {
            match read(author, target.clone()).await {
                Err(status) if status.code() == Code::Cancelled => {}
                outcome => break outcome,
            }
        }
    };
    timeout(DEADLINE, answering).await.expect("an answer before the deadline of the read")
}

async fn recovers(author: &Author<'_>) {
    let again = async {
        while read(author, target(author)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, again).await.expect("reads work again");
}

/// The number of messages of a context.
async fn read(author: &Author<'_>, target: proto::ReadTarget) -> Result<usize, Status> {
    let request = context_request(target, 5);
    let response = author.stack.client.context_within(request, READ_DEADLINE).await?;
    Ok(response.messages.len())
}

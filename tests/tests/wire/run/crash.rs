//! A writer stops between a run's last part and its finish: another writer finishes the run.

use domain::RunPartKind;
use tests::agent::Agent;
use tests::parts::{end, text};
use tests::program;
use tests::settings::Role;
use tests::stack::Setup;
use wire::proto::event::v1::RunOutcome;

use super::{CONVERSATION, Run, record_of};

#[tokio::test(flavor = "multi_thread")]
async fn another_writer_finishes_a_closed_run() {
    let mut stack = Setup::processes(program!()).start().await;
    let mut run = Run::begin(&stack).await;
    run.publish(vec![text(1, "an"), text(2, "swer")]).await;
    run.publish(vec![end(3, RunOutcome::Completed)]).await;
    stack.writer.kill();
    let mut other = stack.another(Role::Writer);
    other.start().await;
    let caller = run.agent.caller().with_writer(&other.grpc_url());
    let heir = run.with_agent(Agent::new(caller, run.agent.id()));
    // The other writer knows from the last part that the run is closed.
    let record = record_of(&stack).await;
    let (key, id) = run.place();
    let last = record.last_parts(&key, id).await.expect("an answer");
    let parts = last.expect("parts").open().expect("a batch");
    assert!(matches!(parts.as_slice(), [part] if matches!(part.kind, RunPartKind::RunEnded(_))), "{parts:?}");
    let finished = heir.finish().await;
    assert!(!finished.replayed);
    stack.writer.start().await;
    // The first writer returns, and learns that the run is finished.
    let again = run.finish().await;
    assert!(again.replayed);
    assert_eq!(again.commit_id, finished.commit_id);
    assert_eq!(run.active().await, "");
    assert_eq!(run.agent.version(CONVERSATION).await, 5);
    let mut next = Run::start(&run.agent).await;
    next.say("on").await;
}

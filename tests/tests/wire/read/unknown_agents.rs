//! An agent that does not exist, with the path of its field; a foreign one has the same answer, see `operate::tenancy`.

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::stack::Stack;
use tonic::Code::NotFound;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

#[tokio::test(flavor = "multi_thread")]
async fn by_every_rpc() {
    let stack = Stack::shared().await;
    let known = stack.any_agent().await;
    let agent = Agent::new(known.caller().clone(), "nobody");
    let list = agent.conversations_request(Filter::WholeTenant(proto::WholeTenant {}));
    let watch = agent.watch_request("c", 0);
    let mut reader = agent.caller().read();
    let outcomes = [
        (agent.try_get(agent.read_target("c")).await.map(drop), "target.agent_id"),
        (agent.try_events(agent.list_request("c")).await.map(drop), "target.agent_id"),
        (agent.try_context(agent.read_target("c"), 5).await.map(drop), "target.agent_id"),
        (agent.try_conversations(list).await.map(drop), "agent_id"),
        (reader.watch_conversation(watch).await.map(drop), "agent_id"),
    ];
    for (outcome, field) in outcomes {
        check_failure("an unknown agent", outcome, (NotFound, "AGENT_NOT_FOUND", field));
    }
}

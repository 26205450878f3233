//! Agent settings: set, listed, rejected.

use futures::future::join_all;
use prost_types::FieldMask;
use tests::errors::{Expected, check_failure};
use tests::operator::Operator;
use tests::stack::Setup;
use tonic::Code::{InvalidArgument, NotFound};
use tonic::Status;
use wire::proto::operate::v1 as proto;

async fn set(operator: &Operator, agent: &str, settings: proto::AgentSettings) -> Result<proto::Agent, Status> {
    set_named(operator, agent, settings, &[]).await
}

async fn set_named(
    operator: &Operator,
    agent: &str,
    settings: proto::AgentSettings,
    paths: &[&str],
) -> Result<proto::Agent, Status> {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    let request = proto::SetAgentSettingsRequest {
        agent_id: agent.to_owned(),
        settings: Some(settings),
        update_mask: Some(FieldMask { paths }),
    };
    let set = operator.registry().set_agent_settings(request).await?;
    Ok(set.into_inner().agent.expect("an agent"))
}

fn settings() -> proto::AgentSettings {
    proto::AgentSettings {
        identity_mode: proto::IdentityMode::Trust.into(),
        model: Some(proto::ModelSettings {
            server: "local".to_owned(),
            model: "meta/llama".to_owned(),
            temperature: Some(0.0),
            ..proto::ModelSettings::default()
        }),
        tools: vec![proto::ToolSettings {
            tool_name: "search".to_owned(),
            input_schema_json: r#"{ "type": "object" }"#.to_owned(),
            ..proto::ToolSettings::default()
        }],
        provider_logs: Some(proto::ProviderLogSettings { detail: proto::ProviderLogDetail::Bodies.into(), days: 90 }),
        ..proto::AgentSettings::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_stored_and_replaced_as_a_whole() {
    let mut stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    let agent = set(&operator, "support", settings()).await.expect("settings");
    assert_eq!(agent.settings, Some(settings()));
    stack.writer.stop().await;
    stack.writer.start().await;
    let request = proto::ListAgentsRequest { tenant_id: "acme".to_owned() };
    let listed = operator.registry().list_agents(request).await.expect("agents");
    assert_eq!(listed.into_inner().agents, [agent]);
    let none = proto::AgentSettings::default();
    let agent = set(&operator, "support", none.clone()).await.expect("settings");
    assert_eq!(agent.settings, Some(none));
}

#[tokio::test(flavor = "multi_thread")]
async fn masked_updates_keep_other_fields() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    set(&operator, "support", settings()).await.expect("settings");
    let given = proto::AgentSettings {
        identity_mode: proto::IdentityMode::Signed.into(),
        model: Some(proto::ModelSettings {
            server: "other".to_owned(),
            model: "small".to_owned(),
            steps_max: 3,
            ..proto::ModelSettings::default()
        }),
        ..proto::AgentSettings::default()
    };
    // All at once: each field is stored, in any order.
    let setters = [&["identity_mode"][..], &["model.server", "model.model"], &["model.steps_max"], &["tools"]]
        .map(|paths| set_named(&operator, "support", given.clone(), paths));
    for set in join_all(setters).await {
        set.expect("settings");
    }
    let mut expected = settings();
    expected.identity_mode = given.identity_mode;
    expected.tools.clear();
    let model = expected.model.as_mut().expect("a model");
    (model.server, model.model) = ("other".to_owned(), "small".to_owned());
    model.steps_max = 3;
    // An update without fields returns the current settings.
    let agent = set_named(&operator, "support", expected.clone(), &["retention"]);
    assert_eq!(agent.await.expect("it").settings, Some(expected));
    let unknown = set_named(&operator, "support", given, &["tools", "name"]).await;
    let path = (InvalidArgument, "FIELD_MALFORMED", "update_mask.paths[1]");
    check_failure("unknown", unknown, path);
    let nameless = set_named(&operator, "support", proto::AgentSettings::default(), &["model.model"]).await;
    let missing = (InvalidArgument, "FIELD_MISSING", "settings.model.model");
    check_failure("no name", nameless, missing);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_are_rejected() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.agent("globex", "foreign").await;
    let token = operator.token(&[proto::Scope::Operate], "acme").await;
    let bound = Operator::new(operator.caller().with_token(&token.secret));
    let no_agent: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "agent_id");
    check_failure("missing", set(&bound, "nobody", settings()).await, no_agent);
    check_failure("foreign", set(&bound, "foreign", settings()).await, no_agent);
    let mut hot = settings();
    hot.model.as_mut().expect("a model").temperature = Some(2.1);
    let range = (InvalidArgument, "FIELD_OUT_OF_RANGE", "settings.model.temperature");
    check_failure("hot", set(&bound, "support", hot).await, range);
    let mut twice = settings();
    twice.tools.extend(settings().tools);
    let name = (InvalidArgument, "FIELD_MALFORMED", "settings.tools[1].tool_name");
    check_failure("twice", set(&bound, "support", twice).await, name);
    set(&bound, "support", settings()).await.expect("its own agent");
}

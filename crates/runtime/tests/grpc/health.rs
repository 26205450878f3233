//! The health service and reflection, over the wire.

use futures::StreamExt;
use runtime::health::State;
use tokio::time::timeout;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus::{self, *};
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1alpha;

use crate::stack::{Client, DEADLINE, serve};

fn of(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

async fn check(client: &Client, service: &str, expected: Result<ServingStatus, Code>) {
    let answer = HealthClient::new(client.0.clone()).check(of(service)).await;
    let status = answer.map(|r| r.into_inner().status()).map_err(|s| s.code());
    assert_eq!(status, expected, "{service:?}");
}

#[tokio::test]
async fn health_is_correct_also_when_the_server_is_overloaded_or_drains() {
    let stack = serve(|c| c.calls_max = 1).await;
    let client = stack.client().await;
    let mut watch = HealthClient::new(client.0.clone()).watch(of("test.Echo")).await.unwrap().into_inner();
    let mut seen = async || timeout(DEADLINE, watch.next()).await.unwrap().unwrap();

    check(&client, "", Ok(NotServing)).await;
    assert_eq!(seen().await.unwrap().status(), NotServing);
    stack.health.set("nats", State::Up);
    assert_eq!(seen().await.unwrap().status(), Serving);
    let held = client.saying("hold");
    stack.held(1).await;
    check(&client, "", Ok(Serving)).await;
    check(&client, "test.Echo", Ok(Serving)).await;
    check(&client, "test.Other", Err(Code::NotFound)).await;

    stack.health.set("nats", State::Down { reason: "gone".to_owned() });
    assert_eq!(seen().await.unwrap().status(), NotServing);
    check(&client, "test.Echo", Ok(NotServing)).await;
    stack.health.set("nats", State::Up);
    assert_eq!(seen().await.unwrap().status(), Serving);

    stack.echo.gate.add_permits(1);
    let drained = tokio::spawn(stack.drained());
    assert_eq!(seen().await.unwrap().status(), NotServing);
    assert_eq!(seen().await.unwrap_err().code(), Code::Unavailable);
    held.await.unwrap().unwrap();
    drained.await.unwrap();
}

#[tokio::test]
async fn a_watch_of_an_unknown_service_returns_service_unknown() {
    let stack = serve(|_| {}).await;
    let client = stack.client().await;
    let mut watch = HealthClient::new(client.0.clone()).watch(of("test.Other")).await.unwrap().into_inner();
    let first = timeout(DEADLINE, watch.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(first.status(), ServiceUnknown);
    stack.drained().await;
}

const SERVED: [&str; 4] = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
    "test.Echo",
];

fn list_services() -> ServerReflectionRequest {
    ServerReflectionRequest { host: String::new(), message_request: Some(MessageRequest::ListServices(String::new())) }
}

#[tokio::test]
async fn reflection_can_be_turned_off() {
    let stack = serve(|c| c.reflection = false).await;
    let client = stack.client().await;
    let refused = ServerReflectionClient::new(client.0.clone())
        .server_reflection_info(futures::stream::iter([list_services()]))
        .await;
    assert_eq!(refused.unwrap_err().code(), Code::Unimplemented);
    assert_eq!(client.say("hello").await.unwrap(), "hello");
    stack.drained().await;
}

#[tokio::test]
async fn reflection_lists_all_services_in_both_versions() {
    let stack = serve(|_| {}).await;
    let client = stack.client().await;
    let mut v1 = ServerReflectionClient::new(client.0.clone())
        .server_reflection_info(futures::stream::iter([list_services()]))
        .await
        .unwrap()
        .into_inner();
    let answer = v1.message().await.unwrap().unwrap().message_response;
    let Some(MessageResponse::ListServicesResponse(list)) = answer else { panic!("{answer:?}") };
    let mut names: Vec<_> = list.service.into_iter().map(|s| s.name).collect();
    names.sort();
    assert_eq!(names, SERVED);

    let list = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1alpha::server_reflection_request::MessageRequest::ListServices(String::new())),
    };
    let mut alpha = v1alpha::server_reflection_client::ServerReflectionClient::new(client.0)
        .server_reflection_info(futures::stream::iter([list]))
        .await
        .unwrap()
        .into_inner();
    let answer = alpha.message().await.unwrap().unwrap();
    assert_eq!(format!("{answer:?}").matches("name: ").count(), SERVED.len());
    stack.drained().await;
}

//! Reflection v1 and v1alpha: every service is listed, and described by its file.

use futures::StreamExt as _;
use tests::client::channel;
use tests::stack::Setup;

const WRITER: &[&str] = &[
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
    "hansard.operate.v1.RegistryService",
    "hansard.run.v1.RunService",
    "hansard.write.v1.WriteService",
];
const GATEWAY: &[&str] = &[
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
    "hansard.document.v1.DocumentService",
    "hansard.history.v1.HistoryService",
    "hansard.operate.v1.AuditService",
    "hansard.read.v1.ReadService",
    "hansard.write.v1.WriteService",
];

/// Two versions of one protocol: the same messages in two packages.
macro_rules! listed_and_described {
    ($name:ident, $version:ident) => {
        /// The listed services, and those with a file.
        async fn $name(url: &str) -> (Vec<String>, Vec<String>) {
            use tonic_reflection::pb::$version::ServerReflectionRequest;
            use tonic_reflection::pb::$version::server_reflection_client::ServerReflectionClient;
            use tonic_reflection::pb::$version::server_reflection_request::MessageRequest;
            use tonic_reflection::pb::$version::server_reflection_response::MessageResponse;
            let ask = async |request: MessageRequest| {
                let request = ServerReflectionRequest { host: String::new(), message_request: Some(request) };
                let mut client = ServerReflectionClient::new(channel(url));
                let answers = client.server_reflection_info(tokio_stream::iter([request])).await;
                let answer = answers.expect("reflection").into_inner().next().await;
                answer.expect("an answer").expect("no failure").message_response
            };
            let answer = ask(MessageRequest::ListServices(String::new())).await;
            let Some(MessageResponse::ListServicesResponse(list)) = answer else { panic!("{answer:?}") };
            let mut listed: Vec<String> = list.service.into_iter().map(|service| service.name).collect();
            listed.sort();
            let mut described = Vec::new();
            for name in &listed {
                let answer = ask(MessageRequest::FileContainingSymbol(name.clone())).await;
                if let Some(MessageResponse::FileDescriptorResponse(files)) = answer
                    && !files.file_descriptor_proto.is_empty()
                {
                    described.push(name.clone());
                }
            }
            (listed, described)
        }
    };
}

listed_and_described!(by_v1, v1);
listed_and_described!(by_v1alpha, v1alpha);

#[tokio::test(flavor = "multi_thread")]
async fn every_service_is_listed_and_described() {
    let stack = Setup::tasks().start().await;
    for (url, expected) in [(stack.writer.grpc_url(), WRITER), (stack.gateway.grpc_url(), GATEWAY)] {
        for (listed, described) in [by_v1(&url).await, by_v1alpha(&url).await] {
            assert_eq!(listed, expected);
            assert_eq!(described, expected);
        }
    }
}

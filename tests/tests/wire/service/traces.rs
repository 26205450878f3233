//! One trace from the caller, through the writer and the headers in the record, to the projector's transaction.

use domain::{ConversationId, ConversationKey, TenantId};
use event_log::Record;
use opentelemetry_proto::tonic::trace::v1::Span;
use tests::agent::Agent;
use tests::collector::Collector;
use tests::events::user;
use tests::program;
use tests::settings;
use tests::stack::Setup;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

/// A span of the caller's trace, or one with a link to it: a batch processes many commits.
fn is_of_trace(span: &Span) -> bool {
    hex(&span.trace_id) == TRACE || span.links.iter().any(|link| hex(&link.trace_id) == TRACE)
}

#[tokio::test(flavor = "multi_thread")]
async fn from_the_caller_to_the_projectors_transaction() {
    let collector = Collector::start().await;
    let mut stack = Setup::processes(program!()).prepare().await;
    for node in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
        let endpoint = collector.endpoint().to_owned();
        node.settings.variables.push(("HANSARD_TELEMETRY__OTLP_ENDPOINT".to_owned(), endpoint));
    }
    stack.start().await;
    let agent = stack.agent("acme", "support").await;
    agent.create("c").await;
    let traced = agent.caller().with_header("traceparent", &format!("00-{TRACE}-{PARENT}-01"));
    let traced = Agent::new(traced, agent.id());
    traced.append("c", vec![user("x")]).await;
    agent.wait_for_rows("c", 2).await;

    let call = collector
        .span("the writer's call", |span| {
            hex(&span.trace_id) == TRACE && span.name.ends_with("WriteService.AppendEvents")
        })
        .await;
    assert_eq!(hex(&call.parent_span_id), PARENT);
    let record = Record::open(settings::record(&stack.servers)).await.expect("the record");
    let key =
        ConversationKey { tenant: TenantId::parse("acme").unwrap(), conversation: ConversationId::parse("c").unwrap() };
    let stored = record.last(&key).await.expect("the record").expect("a commit");
    let header = stored.trace.traceparent.expect("a header");
    assert!(header.contains(TRACE), "{header}");
    let applied = collector
        .span("the projector's transaction", |span| span.name.starts_with("projector.") && is_of_trace(span))
        .await;
    assert_ne!(applied.span_id, call.span_id);

    traced.context("c", 5).await;
    let read = collector
        .span("the gateway's call", |span| {
            hex(&span.trace_id) == TRACE && span.name.ends_with("ReadService.AssembleContext")
        })
        .await;
    assert_eq!(hex(&read.parent_span_id), PARENT);
}

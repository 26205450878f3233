//! Counts the tokens of a call of a model.

use domain::{Violation, ViolationReason};
use tonic::Request;
use wire::metered_call::metered_from_proto;
use wire::proto::run::v1::MeterModelCallRequest;
use wire::status::Problem;

use crate::request::Caller;
use crate::{Writer, metrics, problem};

/// Returns `false` if the record has no stream for the call.
pub(super) async fn handle(
    writer: &Writer,
    request: Request<MeterModelCallRequest>,
) -> Result<bool, Problem> {
    let caller = Caller::from_metadata(request.metadata());
    let outcome = meter(writer, &caller, request.into_inner()).await;
    metrics::call_metered(&outcome);
    outcome
}

async fn meter(
    writer: &Writer,
    caller: &Caller,
    request: MeterModelCallRequest,
) -> Result<bool, Problem> {
    let missing = || Violation::new(ViolationReason::Missing, "is required").within("call");
    let call = metered_from_proto(request.call.ok_or_else(missing)?);
    let call = call.map_err(|violation| violation.within("call"))?;
    let field = "call.agent_id";
    let access = caller.authorize(writer, &call.agent, field).await?;
    let publishing = writer.record.publish_usage(access.tenant.tenant(), &call);
    publishing.await.map_err(problem::from_record)
}

//! Secrets that sign webhook calls.

use tonic::Request;
use wire::proto::operate::v1 as proto;
use wire::status::Problem;

use super::api_keys::overlap;
use super::{agents, from_registry, operator};
use crate::Writer;

pub(super) async fn rotate(
    writer: &Writer,
    request: Request<proto::RotateWebhookSecretRequest>,
) -> Result<String, Problem> {
    let (operator, request) = operator(writer, request).await?;
    let agent = agents::visible(writer, &operator, &request.agent_id)?;
    let overlap = overlap(request.overlap_seconds)?;
    let registry = &writer.registry;
    let rotated = registry
        .rotate_webhook_secret(&agent, overlap, writer.now())
        .await;
    let secret = rotated.map_err(from_registry("agent_id"))?;
    Ok(secret.reveal().to_owned())
}

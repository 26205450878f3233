//! Settings of agents.

use event_log::registry::CheckedSettings;
use tonic::Request;
use wire::proto::operate::v1 as proto;
use wire::status::Problem;

use super::{agents, of_registry, operator};
use crate::Writer;

pub(super) async fn set(
    writer: &Writer,
    request: Request<proto::SetAgentSettingsRequest>,
) -> Result<proto::SetAgentSettingsResponse, Problem> {
    let operator = operator(writer, request.metadata()).await?;
    let request = request.into_inner();
    let agent = agents::visible(writer, &operator, &request.agent_id)?;
    let settings = CheckedSettings::parse(request.settings.unwrap_or_default())
        .map_err(|violation| violation.within("settings"))?;
    let set = writer.registry.set_agent_settings(&agent, settings).await;
    let agent = set.map_err(|error| of_registry(&error, "agent_id"))?;
    Ok(proto::SetAgentSettingsResponse { agent: Some(agent) })
}

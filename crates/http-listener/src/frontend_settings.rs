//! The settings of an agent about the callers of its public API keys. Unknown values, of a later version, are treated as the strictest.

use domain::{AttachmentType, ToolName};
use registry::{ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX};
use runs::{Disclosure, ToolDetail};
use wire::proto::event::v1::ClientContext;
use wire::proto::operate::v1::{
    AgentSettings, Approvers, AttachmentSettings, ClientContextField, FrontendSettings, ToolCallDetail, ToolSettings,
};

/// The files that messages may contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedFiles {
    /// Their types.
    pub types: Vec<AttachmentType>,
    /// Maximum size of a file.
    pub file_bytes_max: u32,
    /// Maximum number of files of a message.
    pub files_max: u32,
}

/// What is shown of tool calls.
#[must_use]
pub fn disclosure(settings: &AgentSettings) -> Disclosure {
    let answered = settings.tools.iter().filter(|tool| is_answered(tool, settings));
    let names = answered.filter_map(|tool| ToolName::parse(tool.tool_name.as_str()).ok());
    Disclosure::new(tool_detail(settings.frontend.as_ref()), names.collect())
}

/// Whether the caller runs the tool or may approve its calls.
fn is_answered(tool: &ToolSettings, settings: &AgentSettings) -> bool {
    let is_approver = !matches!(Approvers::try_from(settings.approvers), Ok(Approvers::Administrator) | Err(_));
    tool.webhook_url.is_empty() || (tool.needs_approval && is_approver)
}

/// The detail of tool calls that are neither run nor approved by the caller.
#[must_use]
pub fn tool_detail(frontend: Option<&FrontendSettings>) -> ToolDetail {
    let detail = frontend.map_or(0, |frontend| frontend.tool_calls);
    match ToolCallDetail::try_from(detail) {
        Ok(ToolCallDetail::Unspecified | ToolCallDetail::Full) => ToolDetail::Full,
        Ok(ToolCallDetail::Names) => ToolDetail::Names,
        Ok(ToolCallDetail::Hidden) | Err(_) => ToolDetail::Hidden,
    }
}

/// The accepted files; `None`: any.
#[must_use]
pub fn accepted_files(frontend: Option<&FrontendSettings>) -> Option<AcceptedFiles> {
    frontend?.attachments.as_ref().map(AcceptedFiles::from)
}

impl From<&AttachmentSettings> for AcceptedFiles {
    fn from(settings: &AttachmentSettings) -> Self {
        let or_max = |value: u32, max: u32| if value == 0 { max } else { value };
        let types = settings.media_types.iter();
        Self {
            types: types.filter_map(|name| AttachmentType::parse(name)).collect(),
            file_bytes_max: or_max(settings.file_bytes_max, ATTACHMENT_BYTES_MAX),
            files_max: or_max(settings.files_max, ATTACHMENTS_MAX),
        }
    }
}

/// The fields of the context that are recorded; `None`: all.
#[must_use]
pub fn context_fields(frontend: Option<&FrontendSettings>) -> Option<Vec<ClientContextField>> {
    let context = frontend?.client_context.as_ref()?;
    Some(context.fields().collect())
}

/// The context without the fields that the agent does not record; `None`: nothing is left.
#[must_use]
pub fn recorded_context(frontend: Option<&FrontendSettings>, context: ClientContext) -> Option<ClientContext> {
    let Some(fields) = context_fields(frontend) else {
        return Some(context);
    };
    let keep = |field: ClientContextField, value: String| {
        if fields.contains(&field) { value } else { String::new() }
    };
    let recorded = ClientContext {
        page_url: keep(ClientContextField::PageUrl, context.page_url),
        referrer: keep(ClientContextField::Referrer, context.referrer),
        user_agent: keep(ClientContextField::UserAgent, context.user_agent),
        locale: keep(ClientContextField::Locale, context.locale),
        timezone: keep(ClientContextField::Timezone, context.timezone),
        custom_metadata_json: keep(ClientContextField::CustomMetadata, context.custom_metadata_json),
    };
    (recorded != ClientContext::default()).then_some(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_get_the_calls_that_they_answer() {
        let check = |webhook_url: &str, needs_approval, approvers: i32, expected: bool| {
            let tool = ToolSettings { webhook_url: webhook_url.to_owned(), needs_approval, ..ToolSettings::default() };
            let settings = AgentSettings { approvers, ..AgentSettings::default() };
            assert_eq!(is_answered(&tool, &settings), expected);
        };
        let administrator = i32::from(Approvers::Administrator);
        check("", false, administrator, true);
        check("https://x.example", false, 0, false);
        check("https://x.example", true, 0, true);
        check("https://x.example", true, Approvers::User.into(), true);
        check("https://x.example", true, administrator, false);
        check("https://x.example", true, 99, false);
    }

    #[test]
    fn unknown_details_hide_everything() {
        for (tool_calls, expected) in [
            (0, ToolDetail::Full),
            (1, ToolDetail::Hidden),
            (2, ToolDetail::Names),
            (3, ToolDetail::Full),
            (99, ToolDetail::Hidden),
        ] {
            let frontend = FrontendSettings { tool_calls, ..FrontendSettings::default() };
            assert_eq!(tool_detail(Some(&frontend)), expected);
        }
    }

    #[test]
    fn bounds_of_files_have_defaults() {
        let settings = AttachmentSettings {
            media_types: vec!["image/png".to_owned(), "image/new".to_owned()],
            ..AttachmentSettings::default()
        };
        let expected = AcceptedFiles {
            types: vec![AttachmentType::Png],
            file_bytes_max: ATTACHMENT_BYTES_MAX,
            files_max: ATTACHMENTS_MAX,
        };
        assert_eq!(AcceptedFiles::from(&settings), expected);
    }
}

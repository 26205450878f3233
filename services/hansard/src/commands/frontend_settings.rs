//! Options of `hansard agent set` about the callers of public API keys.

use clap::ValueEnum;
use wire::proto::operate::v1::{AgentSettings, ClientContextField, ClientContextSettings, ToolCallDetail};

/// The value of a list that replaces the previous one by an empty list.
const NONE: &str = "none";

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// What callers of public API keys get of tool calls.
    #[arg(long, value_name = "DETAIL")]
    tool_calls: Option<Detail>,
    /// Media type of files that callers of public API keys may send: image/png, image/jpeg, image/gif, image/webp, application/pdf
    /// or text/plain. Repeat the option for several types; `none`: no file. The list replaces the previous one.
    #[arg(long, value_name = "MEDIA_TYPE")]
    attachment: Vec<String>,
    /// Field of the page's context that is recorded. Repeat the option for several fields. The list replaces the previous one.
    #[arg(long, value_name = "FIELD")]
    context: Vec<ContextField>,
}

/// What answers contain of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Detail {
    /// Nothing.
    Hidden,
    /// Names and states.
    Names,
    /// Everything.
    Full,
}

impl From<Detail> for ToolCallDetail {
    fn from(detail: Detail) -> Self {
        match detail {
            Detail::Hidden => Self::Hidden,
            Detail::Names => Self::Names,
            Detail::Full => Self::Full,
        }
    }
}

/// A field of the page's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ContextField {
    /// No field.
    None,
    /// The URL of the page.
    PageUrl,
    /// The URL of the page before it.
    Referrer,
    /// The user agent.
    UserAgent,
    /// The locale.
    Locale,
    /// The timezone.
    Timezone,
    /// Values of the page's author.
    CustomMetadata,
}

impl ContextField {
    fn setting(self) -> Option<ClientContextField> {
        match self {
            Self::None => None,
            Self::PageUrl => Some(ClientContextField::PageUrl),
            Self::Referrer => Some(ClientContextField::Referrer),
            Self::UserAgent => Some(ClientContextField::UserAgent),
            Self::Locale => Some(ClientContextField::Locale),
            Self::Timezone => Some(ClientContextField::Timezone),
            Self::CustomMetadata => Some(ClientContextField::CustomMetadata),
        }
    }
}

impl Options {
    /// Changes the settings that are named; returns their paths.
    pub(super) fn apply(self, settings: &mut AgentSettings) -> Vec<&'static str> {
        let mut named = Vec::new();
        if let Some(detail) = self.tool_calls {
            let frontend = settings.frontend.get_or_insert_default();
            frontend.set_tool_calls(detail.into());
            named.push("frontend.tool_calls");
        }
        if !self.attachment.is_empty() {
            let frontend = settings.frontend.get_or_insert_default();
            let mut types = self.attachment;
            types.retain(|name| name != NONE);
            let attachments = frontend.attachments.get_or_insert_default();
            attachments.media_types = types;
            named.push("frontend.attachments.media_types");
        }
        if !self.context.is_empty() {
            let fields = self.context.into_iter().filter_map(ContextField::setting);
            let frontend = settings.frontend.get_or_insert_default();
            frontend.client_context = Some(ClientContextSettings { fields: fields.map(i32::from).collect() });
            named.push("frontend.client_context");
        }
        named
    }
}

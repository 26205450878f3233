//! What an agent accepts from its frontends and sends to them, for its widget.

use domain::AttachmentType;
use runs::ToolDetail;
use serde::Serialize;
use utoipa::ToSchema;
use wire::proto::operate::v1::{ClientContextField, FrontendSettings};

use http_listener::frontend_settings::{AcceptedFiles, accepted_files, context_fields, tool_detail};

/// What an agent accepts from its frontends, and sends to them.
#[derive(Debug, Serialize, ToSchema)]
pub struct FrontendBody {
    /// What answers contain of tool calls: `hidden`, `names` or `full`. Calls that the frontend runs or may approve have their name
    /// and input in any case.
    #[schema(example = "names")]
    tool_calls: &'static str,
    /// The accepted files; absent: any file is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    attachments: Option<AttachmentsBody>,
    /// The recorded members of `context`; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["pageUrl", "locale"]))]
    context: Option<Vec<&'static str>>,
}

/// The files that a message may contain.
#[derive(Debug, Serialize, ToSchema)]
pub struct AttachmentsBody {
    /// The media types, which the content of a file must have.
    #[schema(example = json!(["image/png"]))]
    media_types: Vec<&'static str>,
    /// Maximum size of a file, in bytes.
    file_bytes_max: u32,
    /// Maximum number of files of a message.
    files_max: u32,
}

impl From<Option<&FrontendSettings>> for FrontendBody {
    fn from(settings: Option<&FrontendSettings>) -> Self {
        let fields = context_fields(settings);
        Self {
            tool_calls: match tool_detail(settings) {
                ToolDetail::Full => "full",
                ToolDetail::Names => "names",
                ToolDetail::Hidden => "hidden",
            },
            attachments: accepted_files(settings).map(AttachmentsBody::from),
            context: fields.map(|fields| fields.into_iter().filter_map(member).collect()),
        }
    }
}

impl From<AcceptedFiles> for AttachmentsBody {
    fn from(accepted: AcceptedFiles) -> Self {
        let types = accepted.types.into_iter();
        Self {
            media_types: types.map(AttachmentType::media_type).collect(),
            file_bytes_max: accepted.file_bytes_max,
            files_max: accepted.files_max,
        }
    }
}

/// The member of `context` with a field.
fn member(field: ClientContextField) -> Option<&'static str> {
    match field {
        ClientContextField::Unspecified => None,
        ClientContextField::PageUrl => Some("pageUrl"),
        ClientContextField::Referrer => Some("referrer"),
        ClientContextField::UserAgent => Some("userAgent"),
        ClientContextField::Locale => Some("locale"),
        ClientContextField::Timezone => Some("timezone"),
        ClientContextField::CustomMetadata => Some("customMetadata"),
    }
}

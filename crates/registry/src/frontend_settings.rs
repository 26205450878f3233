//! What callers of an agent's public API keys get and may send.

use domain::{AttachmentType, Violation, ViolationReason};
use wire::proto::operate::v1::{
    AttachmentSettings, ClientContextField, ClientContextSettings, FrontendSettings, ToolCallDetail,
};

use crate::bounds::check_max;

/// Maximum size of an attached file, in bytes: a message is an event of at most 512 KiB, in which files are base64.
pub const ATTACHMENT_BYTES_MAX: u32 = 360 * 1024;
/// Maximum number of files of a message.
pub const ATTACHMENTS_MAX: u32 = 5;

/// Checks the settings of an agent.
pub(crate) fn check_frontend(frontend: &FrontendSettings) -> Result<(), Violation> {
    if ToolCallDetail::try_from(frontend.tool_calls).is_err() {
        return Err(malformed("is not a detail of tool calls").within("tool_calls"));
    }
    let attachments = frontend.attachments.as_ref();
    attachments.map_or(Ok(()), check_attachments).map_err(|violation| violation.within("attachments"))?;
    let context = frontend.client_context.as_ref();
    context.map_or(Ok(()), check_context).map_err(|violation| violation.within("client_context"))
}

fn check_attachments(attachments: &AttachmentSettings) -> Result<(), Violation> {
    let types = &attachments.media_types;
    check_each("media_types", types, |media_type| {
        let known = AttachmentType::ALL.map(AttachmentType::media_type);
        let rule = || format!("must be one of {}", known.join(", "));
        AttachmentType::parse(media_type).map(|_| ()).ok_or_else(rule)
    })?;
    check_max("file_bytes_max", attachments.file_bytes_max, ATTACHMENT_BYTES_MAX)?;
    check_max("files_max", attachments.files_max, ATTACHMENTS_MAX)
}

fn check_context(context: &ClientContextSettings) -> Result<(), Violation> {
    check_each("fields", &context.fields, |field| match ClientContextField::try_from(*field) {
        Ok(ClientContextField::Unspecified) | Err(_) => Err("is not a field of the context".to_owned()),
        Ok(_) => Ok(()),
    })
}

/// Checks each entry. Each may appear once, which bounds their number.
fn check_each<T: PartialEq>(
    name: &str,
    entries: &[T],
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<(), Violation> {
    for (index, entry) in entries.iter().enumerate() {
        check(entry).map_err(|rule| malformed(rule).at(index).within(name))?;
        if entries.iter().take(index).any(|other| other == entry) {
            let rule = "is a duplicate: give each entry once";
            return Err(malformed(rule).at(index).within(name));
        }
    }
    Ok(())
}

fn malformed(rule: impl Into<String>) -> Violation {
    Violation::new(ViolationReason::Malformed, rule)
}

//! The targets of parts in a request.

/// The target of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// `system`: texts only.
    System,
    /// A user message that contains instructions.
    Instructions,
    /// A user message.
    User,
    /// An assistant message without thoughts: no images, no files.
    Assistant,
    /// An assistant message with thoughts.
    ThinkingAssistant,
    /// The result of a tool.
    ToolResult,
    /// The result of a failed tool: texts only (A9).
    FailedToolResult,
}

impl Target {
    pub(super) fn accepts_media(self) -> bool {
        matches!(self, Self::Instructions | Self::User | Self::ToolResult)
    }
}

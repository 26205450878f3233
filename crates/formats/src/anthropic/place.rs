//! The places of a request that hold parts.

/// Where parts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `system`: texts only.
    System,
    /// A user's message that stands for instructions.
    Instructions,
    /// A user's message.
    User,
    /// An assistant's message: no pictures, no files.
    Assistant,
    /// An assistant's message whose thoughts go back.
    ThinkingAssistant,
    /// A tool's result.
    ToolResult,
    /// The result of a tool that failed: texts only (A9).
    FailedToolResult,
}

impl Place {
    pub(super) fn takes_media(self) -> bool {
        matches!(self, Self::Instructions | Self::User | Self::ToolResult)
    }
}

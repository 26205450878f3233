//! The tools whose calls need approval.

use std::collections::BTreeSet;

use domain::ToolName;

/// The tools whose calls a person must approve. Empty by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Approvals(BTreeSet<ToolName>);

impl Approvals {
    /// Whether calls of the tool need approval.
    #[must_use]
    pub fn is_required_for(&self, tool: &ToolName) -> bool {
        self.0.contains(tool)
    }
}

impl FromIterator<ToolName> for Approvals {
    fn from_iter<I: IntoIterator<Item = ToolName>>(tools: I) -> Self {
        Self(tools.into_iter().collect())
    }
}

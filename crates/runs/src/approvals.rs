//! Which tools wait for a person's consent.

use std::collections::BTreeSet;

use domain::ToolName;

/// The tools whose calls a person must approve before they run; none by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Approvals(BTreeSet<ToolName>);

impl Approvals {
    /// Whether calls of the tool wait for consent.
    #[must_use]
    pub fn needed_for(&self, tool: &ToolName) -> bool {
        self.0.contains(tool)
    }
}

impl FromIterator<ToolName> for Approvals {
    fn from_iter<I: IntoIterator<Item = ToolName>>(tools: I) -> Self {
        Self(tools.into_iter().collect())
    }
}

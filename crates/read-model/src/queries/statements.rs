//! Statements that differ only in a column, a direction or a condition, from one template each. They are separate statements,
//! because each has a plan and an index of its own.

/// The statements by session, user and channel. `{owner_id}` in the template is the column of the owner.
pub(super) fn by_owner(template: &str) -> [String; 3] {
    ["session_id", "user_id", "channel_id"].map(|column| template.replace("{owner_id}", column))
}

/// The statements for reads forward and backward. `{direction}` in the template is the order of versions.
pub(super) fn by_direction(template: &str) -> [String; 2] {
    ["ASC", "DESC"].map(|direction| template.replace("{direction}", direction))
}

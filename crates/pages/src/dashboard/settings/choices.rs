//! The values of settings that are chosen from lists: the names in JSON of `hansard.operate.v1.AgentSettings`, and labels. The first
//! choice is the default.

/// How callers of API keys are identified.
pub const IDENTITY_MODES: &[(&str, &str)] = &[
    ("", "default: issued"),
    ("IDENTITY_MODE_ISSUED", "issued"),
    ("IDENTITY_MODE_SIGNED", "signed"),
    ("IDENTITY_MODE_TRUST", "trust"),
    ("IDENTITY_MODE_OPEN", "open"),
];
/// Who approves calls.
pub const APPROVERS: &[(&str, &str)] = &[
    ("", "default: owner"),
    ("APPROVERS_OWNER", "owner"),
    ("APPROVERS_USER", "user with a token"),
    ("APPROVERS_ADMINISTRATOR", "administrators only"),
];
/// Roles that public callers' messages may have.
pub const ROLES: &[(&str, &str)] =
    &[("ROLE_ASSISTANT", "assistant"), ("ROLE_SYSTEM", "system"), ("ROLE_DEVELOPER", "developer")];
/// What is logged of requests to model servers.
pub const LOG_DETAILS: &[(&str, &str)] = &[
    ("", "default: off"),
    ("PROVIDER_LOG_DETAIL_OFF", "off"),
    ("PROVIDER_LOG_DETAIL_FACTS", "facts"),
    ("PROVIDER_LOG_DETAIL_BODIES", "bodies, without secrets"),
];
/// Whether conversations are searched.
pub const SEARCHED: &[(&str, &str)] = &[("", "searched and indexed"), ("true", "not searched")];

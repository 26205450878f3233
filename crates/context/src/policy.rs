//! Context policies: how the contexts of an agent, or of one request, are assembled.
//!
//! A policy is a JSON document. Fields that are missing have their defaults, and defaults are not written. So equal settings
//! have equal digests, also after fields were added.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use redact::Rules;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::template;

mod check;
mod error;

pub use check::{POLICY_BYTES_MAX, TEMPLATE_BYTES_MAX};
pub use error::PolicyError;

/// How contexts are assembled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// The model that reads the context. A name that `models` knows sets its limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's system prompt: a template over `page_url`, `referrer`, `user_agent`, `locale`, `timezone` and `metadata`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Which fields of the client context the model gets.
    #[serde(skip_serializing_if = "is_default")]
    pub inject: Inject,
    /// The token budget.
    #[serde(skip_serializing_if = "is_default")]
    pub budget: Budget,
    /// How old tool results are cleared; missing: they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear: Option<Clear>,
    /// What is redacted.
    #[serde(skip_serializing_if = "is_default")]
    pub redact: redact::Settings,
    /// Whether a summary replaces the turns that it covers.
    #[serde(skip_serializing_if = "is_default")]
    pub summary: SummaryUse,
    /// For models without tools: calls and results are replaced by a digest of the last ones, at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_digest: Option<ToolDigest>,
}

/// Which fields of the client context follow the instructions. They come from the conversation's first event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inject {
    /// The fields, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<InjectedField>,
    /// A template over the same names as the instructions; missing: a plain list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// A field of the client's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectedField {
    /// The client's page.
    PageUrl,
    /// The page that linked to it.
    Referrer,
    /// The client's user agent.
    UserAgent,
    /// The client's locale.
    Locale,
    /// The client's timezone.
    Timezone,
    /// The client's custom metadata.
    CustomMetadata,
}

/// The token budget, counted with `o200k_base`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// The model's context window; missing: that of the model, else [`Budget::CONTEXT_TOKENS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens_max: Option<u32>,
    /// Reserved for the reply, the definitions of tools, and what the caller adds; missing: [`Budget::RESERVED_TOKENS`], at most a
    /// quarter of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_tokens: Option<u32>,
    /// The percentage of the room for turns that is still used after old turns are dropped, cleared results included. A lower value
    /// breaks the provider's cache less often and makes contexts shorter; 1 to 95, missing: [`Budget::LOW_WATER_PERCENT`]. With
    /// `clear`, uncleared results keep at least half of this percentage of their room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_water_percent: Option<u8>,
}

impl Budget {
    /// The context window of an unknown model, tokens.
    pub const CONTEXT_TOKENS: u32 = 128_000;
    /// The default reserve, tokens.
    pub const RESERVED_TOKENS: u32 = 8_192;
    /// The default low-water mark, percent.
    pub const LOW_WATER_PERCENT: u8 = 50;
}

/// How old tool results are cleared: a stub replaces each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clear {
    /// The percentage of the room for turns in which results are kept, newest first; 1 to 99.
    pub fresh_percent: u8,
    /// Results with fewer tokens are kept.
    pub result_tokens_min: u32,
    /// Results of these tools are kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep_tools: Vec<String>,
}

impl Default for Clear {
    fn default() -> Self {
        Self { fresh_percent: 70, result_tokens_min: 100, keep_tools: Vec::new() }
    }
}

/// Whether a summary replaces the turns that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryUse {
    /// The newest summary.
    #[default]
    Newest,
    /// No summary.
    None,
}

/// A digest of the last tool results, as text, for models without tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolDigest {
    /// Most results; 1 to 100.
    pub results_max: u16,
    /// Most bytes of one result; 16 to 65,536.
    pub result_bytes_max: u32,
    /// Most bytes of all; 64 to 262,144.
    pub bytes_max: u32,
    /// By tool: a template over `input`, `output` and `outcome` that shows its results. Calls whose template prints nothing are
    /// left out. At most 100.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, String>,
}

impl Default for ToolDigest {
    fn default() -> Self {
        Self { results_max: 10, result_bytes_max: 1_024, bytes_max: 8_192, templates: BTreeMap::new() }
    }
}

/// The SHA-256 of a policy's canonical JSON: its permanent name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyDigest(pub [u8; 32]);

impl Policy {
    /// Whether its templates can take longer than some milliseconds: they repeat, or read many values.
    #[must_use]
    pub fn has_costly_templates(&self) -> bool {
        let digest = self.tool_digest.as_ref();
        let mut templates = self.instructions.iter().chain(&self.inject.template);
        templates.any(|template| template::may_be_costly(template))
            || digest.is_some_and(|digest| !digest.templates.is_empty())
    }

    /// Parses a policy from JSON.
    ///
    /// # Errors
    /// All errors, each with its field.
    pub fn parse(json: &str) -> Result<Self, Vec<PolicyError>> {
        Self::compile(json).map(|(policy, _)| policy)
    }

    /// Parses a policy from JSON, with its compiled redaction rules.
    ///
    /// # Errors
    /// As [`Policy::parse`].
    pub fn compile(json: &str) -> Result<(Self, Rules), Vec<PolicyError>> {
        check::bytes(json)?;
        check::objects(json)?;
        let policy: Self = serde_json::from_str(json).map_err(|error| vec![PolicyError::of(&error)])?;
        let rules = check::rules(&policy)?;
        Ok((policy, rules))
    }

    /// The policy as JSON: fields that differ from the defaults, in the order of declaration.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether contexts may contain fields of the client context.
    #[must_use]
    pub fn tells_of_client(&self) -> bool {
        let templates = [&self.instructions, &self.inject.template];
        let has_template = templates.into_iter().flatten().any(|text| text.contains('{'));
        has_template || !self.inject.fields.is_empty()
    }

    /// Its digest.
    #[must_use]
    pub fn digest(&self) -> PolicyDigest {
        PolicyDigest(Sha256::digest(self.to_json()).into())
    }
}

/// A policy as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPolicy {
    /// The settings.
    pub policy: Policy,
    /// Its canonical JSON.
    pub json: String,
    /// The SHA-256 of `json`.
    pub digest: PolicyDigest,
}

/// The policy of agents without one.
pub static DEFAULT_POLICY: LazyLock<KeptPolicy> = LazyLock::new(|| {
    let policy = Policy::default();
    KeptPolicy { json: policy.to_json(), digest: policy.digest(), policy }
});

impl fmt::Display for PolicyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

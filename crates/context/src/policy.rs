//! How a context is made: the settings of an agent, or of one request.
//!
//! A policy is a JSON document. What is left out has its default, and defaults are not written: the same settings have the
//! same digest, also after settings were added to the language.

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

mod check;
mod mistake;

pub use check::{POLICY_BYTES_MAX, TEMPLATE_BYTES_MAX};
pub use mistake::Mistake;

/// How a context is made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// The model that reads: a name that `models` knows brings its limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's system prompt: a template over `page_url`, `referrer`, `user_agent`, `locale`, `timezone` and `metadata`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What of the client's context the model is told.
    #[serde(skip_serializing_if = "is_default")]
    pub inject: Inject,
    /// How many tokens there are.
    #[serde(skip_serializing_if = "is_default")]
    pub budget: Budget,
    /// What becomes of old tool results; not given: they stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear: Option<Clear>,
    /// What is kept from the model.
    #[serde(skip_serializing_if = "is_default")]
    pub redact: redact::Settings,
    /// Whether a summary stands for what it covers.
    #[serde(skip_serializing_if = "is_default")]
    pub summary: SummaryUse,
    /// For models without tools: calls and results are left out, and a digest of the last ones stands at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_digest: Option<ToolDigest>,
}

/// What of the client's context the model is told, after the instructions. All from the conversation's first event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inject {
    /// The fields to tell, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<InjectedField>,
    /// How to tell them: a template over the same names as the instructions'; not given: a plain list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// A field of the client's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectedField {
    /// The page that the client was on.
    PageUrl,
    /// The page before it.
    Referrer,
    /// The client's user agent.
    UserAgent,
    /// The client's locale.
    Locale,
    /// The client's timezone.
    Timezone,
    /// Whatever else the client told.
    CustomMetadata,
}

/// How many tokens there are, as `o200k_base` counts them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// The model's whole context; not given: that of the model, else [`Budget::CONTEXT_TOKENS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens_max: Option<u32>,
    /// What is kept free for the reply, for the tools' definitions, and for whatever else the caller adds; not given:
    /// [`Budget::RESERVED_TOKENS`], but no more than a quarter of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_tokens: Option<u32>,
    /// How much of the room for turns is still filled after a trim, in percent, aged turns among them: less makes breaks of
    /// the cache rarer and contexts shorter; 1 to 95, not given: [`Budget::LOW_WATER_PERCENT`]. With `clear`, fresh results
    /// keep at least half of this part of their own room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_water_percent: Option<u8>,
}

impl Budget {
    /// The context of a model that is not known, tokens.
    pub const CONTEXT_TOKENS: u32 = 128_000;
    /// The usual reserve, tokens.
    pub const RESERVED_TOKENS: u32 = 8_192;
    /// The usual low-water mark, percent.
    pub const LOW_WATER_PERCENT: u8 = 50;
}

/// What becomes of old tool results: a stub that says so stands in their place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clear {
    /// How much of the room for turns holds results as they are, in percent, the newest first; 1 to 99.
    pub fresh_percent: u8,
    /// Results of fewer tokens stay.
    pub result_tokens_min: u32,
    /// Results of these tools stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep_tools: Vec<String>,
}

impl Default for Clear {
    fn default() -> Self {
        Self {
            fresh_percent: 70,
            result_tokens_min: 100,
            keep_tools: Vec::new(),
        }
    }
}

/// Whether a summary stands for what it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryUse {
    /// The newest one does.
    #[default]
    Newest,
    /// None does.
    None,
}

/// A digest of the last tool results, as text, for models without tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolDigest {
    /// Most results; 1 to 100.
    pub results_max: u16,
    /// Most bytes of one result; 16 to 65,536.
    pub result_bytes_max: u32,
    /// Most bytes of all; 64 to 262,144.
    pub bytes_max: u32,
}

impl Default for ToolDigest {
    fn default() -> Self {
        Self {
            results_max: 10,
            result_bytes_max: 1_024,
            bytes_max: 8_192,
        }
    }
}

/// The SHA-256 of a policy's JSON text as it is written: its name for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyDigest(pub [u8; 32]);

impl Policy {
    /// The policy that a JSON document gives.
    ///
    /// # Errors
    /// Each mistake, with its field.
    pub fn parse(json: &str) -> Result<Self, Vec<Mistake>> {
        check::bytes(json)?;
        check::objects(json)?;
        let policy: Self = serde_json::from_str(json).map_err(|error| vec![Mistake::of(&error)])?;
        let mistakes = check::mistakes(&policy);
        if mistakes.is_empty() {
            Ok(policy)
        } else {
            Err(mistakes)
        }
    }

    /// The policy as JSON: what differs from the defaults, in the order of the fields.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether a context under it may tell of the client.
    #[must_use]
    pub fn tells_of_client(&self) -> bool {
        let templates = [&self.instructions, &self.inject.template];
        let has_template = templates
            .into_iter()
            .flatten()
            .any(|text| text.contains('{'));
        has_template || !self.inject.fields.is_empty()
    }

    /// Its digest.
    #[must_use]
    pub fn digest(&self) -> PolicyDigest {
        PolicyDigest(Sha256::digest(self.to_json()).into())
    }
}

/// A policy in the form in which it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPolicy {
    /// The settings.
    pub policy: Policy,
    /// The same as JSON, without what is default.
    pub json: String,
    /// The SHA-256 of `json`.
    pub digest: PolicyDigest,
}

/// The policy of agents that have none of their own.
pub static DEFAULT_POLICY: LazyLock<KeptPolicy> = LazyLock::new(|| {
    let policy = Policy::default();
    KeptPolicy {
        json: policy.to_json(),
        digest: policy.digest(),
        policy,
    }
});

impl fmt::Display for PolicyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

//! Validates policies.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use domain::ToolName;
use serde_json::Value;

use redact::Rules;

use super::{Budget, Clear, Policy, PolicyError, ToolDigest};
use crate::template::{CLIENT_NAMES, RESULT_NAMES};

/// Most bytes of a policy's JSON text.
pub const POLICY_BYTES_MAX: usize = 256 * 1024;
/// Most bytes of a template.
pub const TEMPLATE_BYTES_MAX: usize = 128 * 1024;
/// Tokens of a model's context.
const CONTEXT_TOKENS: RangeInclusive<u32> = 256..=100_000_000;
/// Most additional keys to redact.
const REDACT_KEYS_MAX: usize = 100;
/// Most additional patterns to redact.
const REDACT_PATTERNS_MAX: usize = 50;
/// Most tools with a template in the digest.
const DIGEST_TEMPLATES_MAX: usize = 100;
/// Most bytes of a key, a pattern, or a tool's name.
const NAME_BYTES_MAX: usize = 256;

/// The settings that are objects.
const SECTIONS: [&str; 5] = ["inject", "budget", "clear", "redact", "tool_digest"];

pub(super) fn bytes(json: &str) -> Result<(), Vec<PolicyError>> {
    if json.len() > POLICY_BYTES_MAX {
        let rule = format!("has {} bytes, at most {POLICY_BYTES_MAX} may be", json.len());
        return Err(vec![PolicyError::new("", rule)]);
    }
    Ok(())
}

/// Rejects lists where objects are expected: serde would read a list as an object's values by position.
pub(super) fn objects(json: &str) -> Result<(), Vec<PolicyError>> {
    let document: Value = serde_json::from_str(json).map_err(|error| vec![PolicyError::of(&error)])?;
    let Value::Object(settings) = document else {
        return Err(vec![PolicyError::new("", "is no JSON object: give one")]);
    };
    let lists = SECTIONS.into_iter().filter(|section| {
        let setting = settings.get(*section);
        setting.is_some_and(Value::is_array)
    });
    let errors: Vec<PolicyError> =
        lists.map(|section| PolicyError::new(section, "is a list: give an object")).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The compiled redaction rules of a valid policy.
pub(super) fn rules(policy: &Policy) -> Result<Rules, Vec<PolicyError>> {
    let mut found = Vec::new();
    let templates = [("instructions", &policy.instructions), ("inject.template", &policy.inject.template)];
    for (field, template) in templates {
        if let Some(template) = template {
            self::template(field, template, &CLIENT_NAMES, &mut found);
        }
    }
    budget(&policy.budget, &mut found);
    if let Some(clear) = &policy.clear {
        clearing(clear, &mut found);
    }
    let rules = redact(&policy.redact, &mut found);
    if let Some(digest) = &policy.tool_digest {
        tool_digest(digest, &mut found);
    }
    rules.filter(|_| found.is_empty()).ok_or(found)
}

fn template(field: &str, template: &str, names: &[&str], found: &mut Vec<PolicyError>) {
    let length = template.len();
    if length > TEMPLATE_BYTES_MAX {
        let rule = format!("has {length} bytes, at most {TEMPLATE_BYTES_MAX} may be");
        found.push(PolicyError::new(field, rule));
        return;
    }
    let errors = crate::template::errors(template, names).into_iter();
    found.extend(errors.map(|rule| PolicyError::new(field, rule)));
}

fn budget(budget: &Budget, found: &mut Vec<PolicyError>) {
    if let Some(tokens) = budget.context_tokens_max {
        within(found, "budget.context_tokens_max", tokens, CONTEXT_TOKENS);
    }
    if let (Some(reserved), Some(context)) = (budget.reserved_tokens, budget.context_tokens_max)
        && reserved >= context
    {
        let rule = format!("is {reserved}: give less than context_tokens_max, which is {context}");
        found.push(PolicyError::new("budget.reserved_tokens", rule));
    }
    if let Some(percent) = budget.low_water_percent {
        within(found, "budget.low_water_percent", percent, 1..=95);
    }
}

fn clearing(clear: &Clear, found: &mut Vec<PolicyError>) {
    within(found, "clear.fresh_percent", clear.fresh_percent, 1..=99);
    names(found, "clear.keep_tools", &clear.keep_tools, REDACT_KEYS_MAX);
}

/// `None`: they are invalid.
fn redact(redact: &redact::Settings, found: &mut Vec<PolicyError>) -> Option<Rules> {
    let before = found.len();
    names(found, "redact.keys", &redact.keys, REDACT_KEYS_MAX);
    names(found, "redact.patterns", &redact.patterns, REDACT_PATTERNS_MAX);
    // Values out of bounds are reported once.
    if found.len() != before {
        return None;
    }
    Rules::compile(redact).map_err(|error| found.push(error.into())).ok()
}

fn tool_digest(digest: &ToolDigest, found: &mut Vec<PolicyError>) {
    within(found, "tool_digest.results_max", digest.results_max, 1..=100);
    let field = "tool_digest.result_bytes_max";
    within(found, field, digest.result_bytes_max, 16..=65_536);
    within(found, "tool_digest.bytes_max", digest.bytes_max, 64..=262_144);
    digest_templates(&digest.templates, found);
}

fn digest_templates(templates: &BTreeMap<String, String>, found: &mut Vec<PolicyError>) {
    const FIELD: &str = "tool_digest.templates";
    let count = templates.len();
    if count > DIGEST_TEMPLATES_MAX {
        let rule = format!("has {count} entries, at most {DIGEST_TEMPLATES_MAX} may be");
        found.push(PolicyError::new(FIELD, rule));
        return;
    }
    for (tool, text) in templates {
        if ToolName::parse(tool.as_str()).is_err() {
            let rule = format!("has a key that is not the name of a tool: give 1 to {NAME_BYTES_MAX} bytes");
            found.push(PolicyError::new(FIELD, rule));
            continue;
        }
        template(&format!("{FIELD}.{tool}"), text, &RESULT_NAMES, found);
    }
}

fn within<T: Copy + PartialOrd + std::fmt::Display>(
    found: &mut Vec<PolicyError>,
    field: &str,
    value: T,
    bounds: RangeInclusive<T>,
) {
    if !bounds.contains(&value) {
        let rule = format!("is {value}: give {} to {}", bounds.start(), bounds.end());
        found.push(PolicyError::new(field, rule));
    }
}

fn names(found: &mut Vec<PolicyError>, field: &str, names: &[String], count_max: usize) {
    if names.len() > count_max {
        let rule = format!("has {} entries, at most {count_max} may be", names.len());
        found.push(PolicyError::new(field, rule));
    }
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            let rule = format!("has {} bytes: give 1 to {NAME_BYTES_MAX}", name.len());
            found.push(PolicyError::new(&format!("{field}[{index}]"), rule));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_holds_at_its_edge() {
        check(r#"{"budget":{"context_tokens_max":256}}"#, "");
        check(r#"{"budget":{"context_tokens_max":255}}"#, "budget.context_tokens_max: is 255: give 256 to 100000000");
        check(r#"{"budget":{"context_tokens_max":1000,"reserved_tokens":999}}"#, "");
        check(
            r#"{"budget":{"context_tokens_max":1000,"reserved_tokens":1000}}"#,
            "budget.reserved_tokens: is 1000: give less than context_tokens_max, which is 1000",
        );
        check(r#"{"budget":{"low_water_percent":95}}"#, "");
        check(r#"{"budget":{"low_water_percent":96}}"#, "budget.low_water_percent: is 96: give 1 to 95");
        check(r#"{"clear":{"fresh_percent":99}}"#, "");
        check(r#"{"clear":{"fresh_percent":100}}"#, "clear.fresh_percent: is 100: give 1 to 99");
        check(r#"{"tool_digest":{"results_max":100}}"#, "");
        check(
            r#"{"tool_digest":{"results_max":101,"bytes_max":63}}"#,
            "tool_digest.results_max: is 101: give 1 to 100; tool_digest.bytes_max: is 63: give 64 to 262144",
        );
        check(r#"{"redact":{"keys":[""]}}"#, "redact.keys[0]: has 0 bytes: give 1 to 256");
    }

    #[test]
    fn templates_of_results_are_checked() {
        check(
            r#"{"tool_digest":{"templates":{"read_order":"{{ output.status }} {{ input.id }} {{ outcome }}","ping":""}}}"#,
            "",
        );
        check(
            r#"{"tool_digest":{"templates":{"a":"{{ locale }}","b":"{{ output"}}}"#,
            "tool_digest.templates.a: `locale` is unknown: use input, output, outcome; \
             tool_digest.templates.b: line 1: unexpected end of input, expected end of variable block",
        );
        check(
            r#"{"tool_digest":{"templates":{"":"x"}}}"#,
            "tool_digest.templates: has a key that is not the name of a tool: give 1 to 256 bytes",
        );
        let templates = |count: usize| {
            let templates: Vec<String> = (0..count).map(|tool| format!(r#""t{tool}":"""#)).collect();
            format!(r#"{{"tool_digest":{{"templates":{{{}}}}}}}"#, templates.join(","))
        };
        check(&templates(DIGEST_TEMPLATES_MAX), "");
        check(&templates(DIGEST_TEMPLATES_MAX + 1), "tool_digest.templates: has 101 entries, at most 100 may be");
        let long = |bytes| format!(r#"{{"tool_digest":{{"templates":{{"t":"{}"}}}}}}"#, "x".repeat(bytes));
        check(&long(TEMPLATE_BYTES_MAX), "");
        let rule = "tool_digest.templates.t: has 131073 bytes, at most 131072 may be";
        check(&long(TEMPLATE_BYTES_MAX + 1), rule);
    }

    #[test]
    fn what_could_not_be_used_later_is_refused_now() {
        check(r#"{"redact":{"patterns":["a+","ORD-\\d{6}"],"keys":["iban"],"rules":{"without":["pin"]}}}"#, "");
        check(
            r#"{"redact":{"patterns":["a","(b"]}}"#,
            "redact.patterns[1]: is not a regular expression: unclosed group",
        );
        check(
            r#"{"redact":{"patterns":["\\w{1000}"]}}"#,
            "redact.patterns[0]: is too large when compiled: repeat less",
        );
        check(
            r#"{"redact":{"patterns":["a*"]}}"#,
            "redact.patterns[0]: matches the empty text: require at least one character",
        );
        check(r#"{"redact":{"keys":["--"]}}"#, "redact.keys[0]: has no letter or digit: give the name of a key");
        check(
            r#"{"redact":{"rules":{"without":["token","pattern"]}}}"#,
            "redact.rules.without[1]: is not a rule: use authorization, cookie, invoice, macaroon, preimage, seed, private_key, \
             api_key, token, secret, password, pin, card",
        );
        check(r#"{"instructions":"On {{ page_url }}, {{ metadata.plan.name }}"}"#, "");
        check(
            r#"{"instructions":"{{ page }}","inject":{"template":"{{ local }}"}}"#,
            "instructions: `page` is unknown: use page_url, referrer, user_agent, locale, timezone, metadata; \
             inject.template: `local` is unknown: use page_url, referrer, user_agent, locale, timezone, metadata",
        );
    }

    #[test]
    fn what_is_no_setting_is_told() {
        check(
            r#"{"budgets":{}}"#,
            ": unknown field `budgets`, expected one of `model`, `instructions`, `inject`, `budget`, `clear`, `redact`, \
             `summary`, `tool_digest` at line 1 column 10",
        );
        check("[]", ": is no JSON object: give one");
        check(
            r#"{"budget":[1000],"redact":[]}"#,
            "budget: is a list: give an object; redact: is a list: give an object",
        );
    }

    #[test]
    fn long_documents_and_templates_are_refused() {
        let template = |bytes| format!(r#"{{"instructions":"{}"}}"#, "x".repeat(bytes));
        check(&template(TEMPLATE_BYTES_MAX), "");
        let rule = "instructions: has 131073 bytes, at most 131072 may be";
        check(&template(TEMPLATE_BYTES_MAX + 1), rule);
        let rule = ": has 262163 bytes, at most 262144 may be";
        check(&template(POLICY_BYTES_MAX), rule);
    }

    #[test]
    fn defaults_are_not_written() {
        assert_eq!(Policy::default().to_json(), "{}");
        let given = Policy::parse(r#"{"summary":"newest","clear":{}}"#).unwrap();
        let same = Policy::parse(r#"{ "clear": {"fresh_percent": 70} }"#).unwrap();
        assert_eq!(given.digest(), same.digest());
    }

    fn check(json: &str, expected: &str) {
        let told = match Policy::parse(json) {
            Ok(_) => String::new(),
            Err(errors) => {
                let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
                told.join("; ")
            }
        };
        assert_eq!(told, expected);
    }
}

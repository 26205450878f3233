//! Random texts, ids, names and JSON documents that fail in practice.
//!
//! `#` is replaced by a unique number of four digits, so that each text can be found again.

use domain::bounds::JSON_DEPTH_MAX;
use domain::event::ToolCalled;
use domain::{CallId, JsonText, Label, ToolName, Version};
use formats::Names;
use formats::names::safe_tool_name;
use proptest::prelude::*;
use proptest::sample::select;

/// Characters of a huge text.
const HUGE_CHARS: usize = 20_000;

/// A text of a person or a model; it may be empty, blank or huge.
pub(super) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        36 => Just("said <#>".to_owned()),
        6 => Just(String::new()),
        6 => select(&[" ", "\n\t ", "\u{a0}", "\r\n"][..]).prop_map(str::to_owned),
        18 => select(&[
            "nul \0 in <#>",
            "\"quoted\" \\ <#>",
            " padded <#> \n",
            "größe \u{1f600} \u{2028}\u{feff} <#>",
            "{\"json\":\"<#>\"}",
            "[Instructions] <#>",
            "\u{1b}[31m<#>",
        ][..]).prop_map(str::to_owned),
        1 => Just(format!("{}<#>", "x".repeat(HUGE_CHARS))),
    ]
}

/// A text that is not blank.
pub(super) fn non_blank_text() -> impl Strategy<Value = String> {
    select(&["said <#>", "nul \0 <#>", " padded <#>\n", "größe <#>"][..]).prop_map(str::to_owned)
}

/// A call id of any provider, or of none.
pub(super) fn call_ids() -> impl Strategy<Value = CallId> {
    let mapped = Names::default().call_id(&called("a b"), Version(1));
    prop_oneof![
        6 => Just("call_#".to_owned()),
        4 => select(&["a", "b", "call_1", "toolu_01A"][..]).prop_map(str::to_owned),
        4 => select(&["a b", "functions.search:0", "größe", "-", "\u{1f600}", "a/b", "a\"b"][..])
            .prop_map(str::to_owned),
        2 => select(vec![mapped, "c".repeat(256), "c".repeat(40), "c".repeat(41)]),
    ]
    .prop_map(|id| CallId::parse(id).unwrap())
}

fn called(id: &str) -> ToolCalled {
    ToolCalled {
        call_id: CallId::parse(id).unwrap(),
        tool_name: ToolName::parse("f").unwrap(),
        input: JsonText::parse("{}").unwrap(),
        model: None,
        provider: None,
        provider_response_id: None,
        signature: None,
    }
}

/// A tool name within or outside of MCP's bounds.
pub(super) fn tool_names() -> impl Strategy<Value = ToolName> {
    let odd = vec![safe_tool_name("a b"), "a b".to_owned(), "x".repeat(64), "x".repeat(65), "x".repeat(256)];
    prop_oneof![
        6 => Just("search".to_owned()),
        4 => select(&["mcp.files/read", "größe", "1st", "-", "a.b", "a:b"][..]).prop_map(str::to_owned),
        2 => select(odd),
    ]
    .prop_map(|name| ToolName::parse(name).unwrap())
}

/// A JSON document; most are objects.
pub(super) fn documents() -> impl Strategy<Value = JsonText> {
    let deepest = JSON_DEPTH_MAX - 1;
    let deep = format!("{{\"d\":{}{}}}", "[".repeat(deepest), "]".repeat(deepest));
    prop_oneof![
        6 => select(&["{}", "{\"q\":\"<#>\"}"][..]).prop_map(str::to_owned),
        4 => select(&[
            "{\"b\":1,\"a\":2,\"b\":<#>}",
            "{\"n\":123456789012345678901234567890,\"f\":0.1000000000000000055511151231257827}",
            "{\"e\":1e400,\"z\":-0.0}",
            " {\"spaced\" : [ true ]} ",
            "{\"nul\":\"\\u0000\",\"\":\"\\u00fc\"}",
        ][..]).prop_map(|text| text.replace("<#>", "1#")),
        3 => select(&["[1,2]", "\"text <#>\"", "null", "7", "[]", "\"\""][..]).prop_map(str::to_owned),
        1 => Just(deep),
    ]
    .prop_map(JsonText::recorded)
}

/// A provider; often `own`.
pub(super) fn providers(own: Option<&'static str>) -> impl Strategy<Value = Option<Label>> {
    let any = select(&["", "openai", "anthropic", "gemini", "ollama", "x"][..]);
    prop_oneof![Just(own.unwrap_or_default()), any].prop_map(|name| Label::parse(name).ok())
}

/// One of these as a label, or `None`.
pub(super) fn labels(of: &'static [&'static str]) -> impl Strategy<Value = Option<Label>> {
    prop::option::of(select(of)).prop_map(|label| label.map(|label| Label::parse(label).unwrap()))
}

//! Random parts of every kind, for every role.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::event::Role;
use domain::{JsonText, Label, MediaSource, Part};
use proptest::prelude::*;
use proptest::sample::select;

use super::words::{labels, non_blank_text, texts};

/// The secret in some text files.
pub(crate) const SECRET: &str = "hunter22secret99";
/// Maximum number of lines of a text file: about 24,000 tokens.
const FILE_LINES_MAX: usize = 4_000;
/// Maximum number of lines of a usual text file.
const USUAL_FILE_LINES_MAX: usize = 200;

/// An item that occurs several times, although providers accept it once.
const REPEATED: (&str, &str) =
    ("openai", r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2FtZQ=="}"#);
/// Provider items: some that the provider accepts, some that no provider accepts, some that would break a rule.
const ITEMS: &[(&str, &str)] = &[
    ("openai", r#"{"type":"reasoning","id":"rs_#","summary":[],"encrypted_content":"<#>"}"#),
    ("openai", r#"{"type":"reasoning","id":"rs_2","summary":[]}"#),
    ("openai", r#"{"type":"web_search_call","id":"ws_#","status":"completed"}"#),
    ("openai", r#"{"type":"function_call","call_id":"astray #","name":"f","arguments":"{}"}"#),
    ("openai", r#"{"odd":"<#>"}"#),
    ("anthropic", r#"{"type":"server_tool_use","id":"srvtoolu_#","name":"web_search","input":{}}"#),
    ("anthropic", r#"{"type":"tool_use","id":"astray_#","name":"f","input":{}}"#),
    ("anthropic", r#"{"type":"text","text":" "}"#),
    ("gemini", r#"{"executableCode":{"language":"PYTHON","code":"<#>"}}"#),
    ("gemini", r#"{"functionCall":{"name":"astray","args":{}}}"#),
    ("gemini", r#"{"text":""}"#),
    ("ollama", r#"{"odd":"<#>"}"#),
    ("x", r#"{"odd":"<#>"}"#),
    ("openai", "7"),
    ("anthropic", "null"),
    ("gemini", "[]"),
];

/// Parts of a role.
pub(super) fn parts(role: Role) -> BoxedStrategy<Vec<Part>> {
    let (thoughts, media) = match role {
        Role::User => (0, 4),
        Role::Assistant => (6, 1),
        Role::System | Role::Developer => (0, 0),
    };
    let part = prop_oneof![
        12 => texts().prop_map(Part::Text),
        1 + media => media_parts(),
        1 + thoughts => thought_parts(),
    ];
    prop::collection::vec(part, 0..4).boxed()
}

/// Texts, images and files: outputs of tools.
pub(super) fn results() -> impl Strategy<Value = Vec<Part>> {
    let part = prop_oneof![
        4 => texts().prop_map(Part::Text),
        2 => media_parts(),
    ];
    prop::collection::vec(part, 0..3)
}

fn media_parts() -> impl Strategy<Value = Part> {
    let image = (sources(), labels(&["image/png", "image/tiff", "image"]), labels(&["low", "odd"]))
        .prop_map(|(source, media_type, detail)| Part::Image { source, media_type, detail });
    let file = (sources(), labels(&["application/pdf", "text/plain"]), labels(&["a b.pdf"]))
        .prop_map(|(source, media_type, filename)| Part::File { source, media_type, filename });
    prop_oneof![4 => image, 4 => file, 1 => text_files()]
}

/// Inline text files of any length, some with a secret at their end.
fn text_files() -> impl Strategy<Value = Part> {
    let lines = prop_oneof![4 => 0..USUAL_FILE_LINES_MAX, 1 => 0..FILE_LINES_MAX];
    let media_types = select(&["text/csv", "text/plain;charset=utf-8", "application/json"][..]);
    let filename = labels(&["a b.csv"]);
    (lines, media_types, any::<bool>(), filename).prop_map(|(lines, media_type, has_secret, filename)| {
        let mut text = "7,8.25,né\n".repeat(lines);
        if has_secret {
            text.extend(["password=", SECRET, "\n"]);
        }
        let url = format!("data:{media_type};base64,{}", STANDARD.encode(text));
        Part::File { source: MediaSource::Url(url), media_type: None, filename }
    })
}

fn sources() -> impl Strategy<Value = MediaSource> {
    let urls = &[
        "https://example.org/#.png",
        "gs://bucket/#.png",
        "data:image/png;base64,iVBORw0KGgoA#",
        "data:image/png;base64,/9j/4AAQ#",
        "data:image/gif;base64,R0lGODlh#",
        "data:image/svg+xml;base64,PHN2Zy8+#",
        "data:image/png;base64,iVBORw0KGgo_#",
        "file:///srv/#.png",
        "data:application/pdf;base64,QUFB#",
        "data:text/plain,plain%20#",
        "data:text/plain,password=hunter22secret99",
        "data:,",
        "no address #",
        "",
    ][..];
    prop_oneof![
        4 => select(urls).prop_map(|url| MediaSource::Url(url.to_owned())),
        1 => select(&["file-#", ""][..]).prop_map(|id| MediaSource::FileId(id.to_owned())),
    ]
}

fn thought_parts() -> impl Strategy<Value = Part> {
    let signatures = prop::option::weighted(0.8, select(&["c2lnbmVk#", "c2lnbmVk#", ""][..]));
    let thinking =
        (prop::option::weighted(0.9, non_blank_text()), signatures).prop_map(|(text, signature)| Part::Thinking {
            text: text.unwrap_or_default().replace("<#>", "thought <#>"),
            signature: signature.map(str::to_owned),
        });
    let items = prop_oneof![Just(REPEATED), select(ITEMS), select(ITEMS)];
    let item = items.prop_map(|(provider, item)| Part::ProviderItem {
        provider: Label::parse(provider).unwrap(),
        item: JsonText::parse(item).unwrap(),
    });
    prop_oneof![
        4 => thinking,
        1 => select(&["cmVkYWN0ZWQ#", ""][..]).prop_map(|data| Part::RedactedThinking(data.to_owned())),
        1 => texts().prop_map(Part::Refusal),
        4 => item,
    ]
}

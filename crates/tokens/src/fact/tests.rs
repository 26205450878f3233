use domain::event::{ErrorOccurred, Role, SystemNoted, ToolOutcome, UsageSource};
use domain::{CallId, JsonText, Lifecycle, ToolName, Version};

use super::*;

fn label(text: &str) -> Option<Label> {
    Label::parse(text).ok()
}

fn message(parts: Vec<Part>) -> Fact {
    message_by(None, parts)
}

fn message_by(author: Option<Label>, parts: Vec<Part>) -> Fact {
    Fact::MessageAppended(MessageAppended {
        role: Role::Assistant,
        parts,
        author,
        model: label("a model whose name nobody reads"),
        provider: label("openai"),
        provider_response_id: None,
        finish_reason: None,
        usage: None,
        usage_source: UsageSource::Reported,
    })
}

fn call(tool_name: &str, input: &str, signature: Option<String>) -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: CallId::parse("c".repeat(256)).unwrap(),
        tool_name: ToolName::parse(tool_name).unwrap(),
        input: JsonText::parse(input).unwrap(),
        model: None,
        provider: None,
        provider_response_id: None,
        signature,
    })
}

fn result(output: ToolOutput) -> Fact {
    result_of(ToolName::parse("search").ok(), output)
}

fn result_of(tool_name: Option<ToolName>, output: ToolOutput) -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse("c").unwrap(),
        tool_name,
        output,
        outcome: ToolOutcome::Succeeded,
    })
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn image(url: &str) -> Part {
    Part::Image { source: MediaSource::Url(url.to_owned()), media_type: None, detail: None }
}

fn file_at(url: &str) -> Part {
    Part::File { source: MediaSource::Url(url.to_owned()), media_type: None, filename: None }
}

fn file(filename: Option<Label>) -> Part {
    Part::File { source: MediaSource::FileId("file_1".to_owned()), media_type: None, filename }
}

fn thought(text: &str, signature: Option<&str>) -> Part {
    Part::Thinking { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

fn item(json: &str) -> Part {
    Part::ProviderItem { provider: Label::parse("openai").unwrap(), item: JsonText::parse(json).unwrap() }
}

#[track_caller]
fn check(case: &str, fact: &Fact, expected: u32) {
    assert_eq!(count_fact(fact), expected, "{case}");
}

#[test]
fn messages() {
    let one = MESSAGE_TOKENS + PART_TOKENS;
    let two = count_text("hello world");
    let long_url = format!("https://example.org/{}", "a/1.".repeat(2_000));
    for (case, parts, expected) in [
        ("nothing", vec![], MESSAGE_TOKENS),
        ("a text", vec![text("hello world")], one + two),
        ("two texts", vec![text("hello world"), text("")], one + PART_TOKENS + two),
        ("a refusal", vec![Part::Refusal("hello world".to_owned())], one + two),
        ("a picture", vec![image("https://example.org/a.png")], one + IMAGE_TOKENS),
        (
            "a picture of its own bytes",
            vec![image(&format!("data:image/png;base64,{}", "A".repeat(99_999)))],
            one + IMAGE_TOKENS,
        ),
        ("a picture far away", vec![image(&long_url)], one + count_text(&long_url)),
        ("a file", vec![file(None)], one + FILE_TOKENS),
        ("a named file", vec![file(label("hello world"))], one + FILE_TOKENS + two),
        ("a provider's item", vec![item("[1]")], one + count_text("[1]")),
    ] {
        check(case, &message(parts), expected);
    }
    let named = message_by(label("hello world"), vec![]);
    check("an author", &named, MESSAGE_TOKENS + two);
}

#[test]
fn embedded_files() {
    let one = MESSAGE_TOKENS + PART_TOKENS;
    let two = count_text("hello world");
    for (case, parts, expected) in [
        (
            "a text that comes along",
            vec![file_at("data:text/csv;base64,aGVsbG8gd29ybGQ=")],
            one + TEXT_FILE_TOKENS + two,
        ),
        (
            "a long text that comes along",
            vec![file_at(&format!("data:,{}", "hello world".repeat(2_000)))],
            one + TEXT_FILE_TOKENS + count_text(&"hello world".repeat(2_000)),
        ),
        ("a PDF that comes along", vec![file_at("data:application/pdf;base64,aGVsbG8gd29ybGQ=")], one + FILE_TOKENS),
    ] {
        check(case, &message(parts), expected);
    }
}

#[test]
fn texts_that_were_once_counted_as_files_are_counted_again() {
    let long = "hello world ".repeat(2_000);
    let tokens = count_text(&long);
    assert!(tokens > FILE_TOKENS);
    let carried = || vec![text("hello world"), file_at(&format!("data:,{long}"))];
    let before = |frame| frame + 2 * PART_TOKENS + 2 + FILE_TOKENS;
    let now = |frame| frame + 2 * PART_TOKENS + 2 + TEXT_FILE_TOKENS + tokens;
    let returned = RESULT_TOKENS + count_text("search");
    for (fact, frame) in [(message(carried()), MESSAGE_TOKENS), (result(ToolOutput::Parts(carried())), returned)] {
        assert_eq!(count_fact(&fact), now(frame));
        assert_eq!(recount(&fact, before(frame)), now(frame));
        assert_eq!(recount(&fact, before(frame) - 1), now(frame));
        // A larger count includes the text.
        assert_eq!(recount(&fact, before(frame) + 1), before(frame) + 1);
        assert_eq!(recount(&fact, now(frame)), now(frame));
    }
    let short = message(vec![file_at("data:,a")]);
    let one = MESSAGE_TOKENS + PART_TOKENS;
    assert_eq!(recount(&short, one + FILE_TOKENS), one + FILE_TOKENS);
    let elsewhere = message(vec![file(None), text(&long)]);
    assert_eq!(recount(&elsewhere, 7), 7);
}

#[test]
fn thoughts() {
    let one = MESSAGE_TOKENS + PART_TOKENS;
    let two = count_text("hello world");
    for (case, part, expected) in [
        ("a thought", thought("hello world", None), one + two),
        ("a signed thought", thought("hello world", Some("12345")), one + two + 2),
        ("a sealed thought", Part::RedactedThinking("1234".to_owned()), one + 1),
    ] {
        check(case, &message(vec![part]), expected);
    }
}

#[test]
fn calls_results_and_summaries() {
    let name = count_text("search");
    let input = r#"{"query": "hello world"}"#;
    let called = CALL_TOKENS + name + count_text(input);
    check("a call", &call("search", input, None), called);
    let signed = call("search", input, Some("s".repeat(9)));
    check("a signed call", &signed, called + 3);
    for (name, ending) in [("n".repeat(64), 0), ("n".repeat(65), RENAMED_TOKENS), ("a.b".to_owned(), RENAMED_TOKENS)] {
        let expected = CALL_TOKENS + count_text(&name) + ending + count_text("1");
        check(&name, &call(&name, "1", None), expected);
    }
    let returned = RESULT_TOKENS + name;
    let texts = ToolOutput::Parts(vec![text("hello world")]);
    check("a result", &result(texts), returned + PART_TOKENS + 2);
    let json = JsonText::parse(input).unwrap();
    let document = result(ToolOutput::Json(json));
    check("a document", &document, returned + count_text(input));
    let unnamed = result_of(None, ToolOutput::Parts(vec![]));
    check("a nameless result", &unnamed, RESULT_TOKENS + UNNAMED_TOKENS);
    let summary = Fact::from(HistorySummarised {
        through: Version(1),
        text: "hello world".to_owned(),
        model: label("a model"),
        previous: None,
    });
    check("a summary", &summary, SUMMARY_TOKENS + 2);
}

#[test]
fn facts_that_no_model_reads_count_nothing() {
    let note = SystemNoted { topic: None, text: "hello world".to_owned() };
    check("a note", &Fact::from(note), 0);
    if let Some(error_type) = label("timeout") {
        let message = "hello world".to_owned();
        let error = ErrorOccurred { error_type, message };
        check("an error", &Fact::from(error), 0);
    }
    for (name, fact) in [
        ("an archiving", Lifecycle::ConversationArchived),
        ("a restoring", Lifecycle::ConversationRestored),
        ("an erasure", Lifecycle::ConversationErased),
    ] {
        check(name, &Fact::from(fact), 0);
    }
}

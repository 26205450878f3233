use super::*;

fn wrong(line: &str, part: &str) {
    let error = ConversationFilter::parse(line).unwrap_err();
    assert!(error.contains(part), "{line}: {error}");
}

#[test]
fn lines_are_parsed() {
    let check = |line: &str, expected: ConversationFilter| {
        assert_eq!(ConversationFilter::parse(line), Ok(expected), "{line}");
    };
    check("", ConversationFilter::default());
    check("  ", ConversationFilter::default());
    check("status:all sort:newest", ConversationFilter::default());
    let agent = AgentId::parse("support").ok();
    check(
        "agent:support  owner:\"Ada L\" errors:>0 tokens:<=10 messages:7",
        ConversationFilter {
            agent,
            owner: Some("Ada L".to_owned()),
            errors: Some(Comparison::Above(0)),
            tokens: Some(Comparison::AtMost(10)),
            messages: Some(Comparison::Equal(7)),
            ..ConversationFilter::default()
        },
    );
    check(
        "after:1970-01-02 before:1970-01-01T00:00:01Z outcome:failed status:archived sort:tokens",
        ConversationFilter {
            after: Some(Timestamp(86_400_000_000_000)),
            before: Some(Timestamp(1_000_000_000)),
            outcome: Some(RunOutcome::Failed),
            status: Some(Status::Archived),
            sort: Sort::Tokens,
            ..ConversationFilter::default()
        },
    );
    check(
        "model:a/b:c tool:\"x y\" id:a:b",
        ConversationFilter {
            model: Some("a/b:c".to_owned()),
            tool: Some("x y".to_owned()),
            id: ConversationId::parse("a:b").ok(),
            ..ConversationFilter::default()
        },
    );
}

#[test]
fn wrong_words_say_what_to_write() {
    wrong("parcel", "“parcel” is no filter");
    wrong("colour:red", "Filters are: agent, owner");
    wrong("agent:", "has no value");
    wrong("agent:a/b", "is no id");
    wrong("status:erased", "active, archived or all");
    wrong("errors:many", "errors:>0");
    wrong("tokens:>-1", "is no number");
    wrong("after:2026-02-30", "is no day");
    wrong("after:yesterday", "is no day");
    wrong("outcome:bad", "completed, stopped");
    wrong("sort:name", "newest, tokens");
    wrong("owner:\"ada", "quotation mark");
}

#[test]
fn lines_at_their_bound_and_one_past() {
    let line = |bytes: usize| format!("model:{}", "a".repeat(bytes - 6));
    assert!(ConversationFilter::parse(&line(FILTER_BYTES_MAX)).is_ok());
    wrong(&line(FILTER_BYTES_MAX + 1), "1025 bytes");
}

#[test]
fn comparisons_hold_at_their_bounds() {
    for (text, holds) in [
        (">5", [false, false, true]),
        (">=5", [false, true, true]),
        ("<5", [true, false, false]),
        ("<=5", [true, true, false]),
        ("5", [false, true, false]),
    ] {
        let bound = Comparison::parse(text).unwrap();
        assert_eq!([4, 5, 6].map(|value| bound.holds(value)), holds, "{text}");
    }
}

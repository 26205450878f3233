use domain::event::{
    Lifecycle, MessageAppended, OwnerChanged, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned, Usage,
    UsageSource,
};
use domain::{
    CallId, CommitId, Event, EventId, EventTokens, Fact, JsonText, Label, MediaSource, Owner, Part, ToolName, UserId,
};
use uuid::Uuid;

use super::*;

const SCRIPT: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>";

fn event(version: u64, fact: Fact) -> EventOfTranscript {
    let commit = CommitId(Uuid::nil());
    EventOfTranscript {
        recorded: RecordedEvent {
            version: Version(version),
            commit,
            recorded_at: Timestamp(0),
            event: Event {
                id: EventId::derived(commit, 0),
                occurred_at: None,
                metadata: None,
                tokens: EventTokens::default(),
                fact,
            },
        },
        is_rewound: false,
        json: None,
        run_started_at: None,
    }
}

fn message(parts: Vec<Part>) -> Fact {
    Fact::MessageAppended(MessageAppended::new(Role::Assistant, parts))
}

fn call(id: &str, input: &str) -> Fact {
    Fact::ToolCalled(ToolCalled::new(
        CallId::parse(id).unwrap(),
        ToolName::parse("search").unwrap(),
        JsonText::parse(input).unwrap(),
    ))
}

fn returned(id: &str, output: &str) -> Fact {
    Fact::ToolReturned(ToolReturned {
        call_id: CallId::parse(id).unwrap(),
        tool_name: None,
        output: ToolOutput::Json(JsonText::parse(output).unwrap()),
        outcome: ToolOutcome::Succeeded,
    })
}

/// The first event is the first of its step.
fn html(events: &[EventOfTranscript]) -> String {
    html_from(events, events.first().map(|event| event.recorded.version.0))
}

fn html_from(events: &[EventOfTranscript], step_start: Option<u64>) -> String {
    let prices = Prices::default();
    let of = event::Of {
        conversation: "c",
        prices: &prices,
        read_versions: &steps::read_versions(events, step_start.map(Version)),
    };
    let entries = entries::entries(events);
    entries.iter().map(|entry| event::entry(of, entry).into_string()).collect()
}

#[test]
fn results_are_next_to_their_calls() {
    let mut events = vec![
        event(1, call("a", "{}")),
        event(2, call("b", "{}")),
        event(3, returned("a", "1")),
        // Ids of calls may repeat.
        event(4, call("a", "{}")),
        event(5, returned("a", "2")),
        event(6, returned("none", "3")),
    ];
    let shape = |events: &[EventOfTranscript]| -> Vec<(u64, Vec<u64>)> {
        let version = |event: &EventOfTranscript| event.recorded.version.0;
        let entries = entries::entries(events).into_iter().map(|entry| {
            let results = entry.results.iter().map(|result| version(result));
            (version(entry.event), results.collect())
        });
        entries.collect()
    };
    let expected = [(1, vec![3]), (2, vec![]), (4, vec![5]), (6, vec![])];
    assert_eq!(shape(&events), expected);
    for event in &mut events {
        event.json = Some("{}".to_owned());
    }
    assert!(shape(&events).iter().all(|(_, results)| results.is_empty()));
}

/// The versions of the links to what models read, in the order of the events.
fn read_versions(html: &str) -> Vec<u64> {
    let links = html.split("/context?version=").skip(1);
    links.filter_map(|link| link.split('"').next()?.parse().ok()).collect()
}

#[test]
fn the_events_of_a_step_were_written_from_one_context() {
    let text = |text: &str| message(vec![Part::Text(text.to_owned())]);
    let asked = Fact::MessageAppended(MessageAppended::new(Role::User, Vec::new()));
    let first_step =
        [event(4, asked), event(5, text("I search.")), event(6, call("a", "{}")), event(7, call("b", "{}"))];
    assert_eq!(read_versions(&html(&first_step)), [4, 4, 4]);
    let results = [event(8, returned("b", "1")), event(9, returned("a", "1"))];
    let second_step = [event(10, call("c", "{}")), event(11, text("Found."))];
    // Event 12 is not on the page.
    let third_step = [event(13, text("And this."))];
    let all = [&first_step[..], &results, &second_step, &third_step].concat();
    assert_eq!(read_versions(&html(&all)), [4, 4, 4, 9, 9, 12]);
    // The page begins in a step; its start may be unknown.
    let rest = |start| read_versions(&html_from(&all[2..], start));
    assert_eq!(rest(Some(5)), [4, 4, 9, 9, 12]);
    assert_eq!(rest(None), [9, 9, 12]);
    // Nothing precedes the first event.
    assert_eq!(read_versions(&html(&[event(1, text("Hello."))])), [0_u64; 0]);
}

#[test]
fn script_in_any_field_is_text() {
    let url = || MediaSource::Url(format!("javascript:alert(1)//{SCRIPT}"));
    let parts = vec![
        Part::Text(SCRIPT.to_owned()),
        Part::Image { source: url(), media_type: None, detail: None },
        Part::File { source: url(), media_type: None, filename: Some(Label::parse(SCRIPT).unwrap()) },
        Part::Thinking { text: SCRIPT.to_owned(), signature: None },
        Part::Refusal(SCRIPT.to_owned()),
    ];
    let json = format!("\"{}\"", SCRIPT.replace('"', "\\\""));
    let html = html(&[event(1, message(parts)), event(2, call("a", &json)), event(3, returned("a", &json))]);
    for forbidden in ["<script", "<img", "href=\"javascript", "style="] {
        assert!(!html.contains(forbidden), "{forbidden}: {html}");
    }
    assert_eq!(html.matches("&lt;script&gt;").count(), 8, "{html}");
}

#[test]
fn long_texts_show_their_head_and_a_link() {
    let check = |text: String, is_cut: bool| {
        let html = html(&[event(7, message(vec![Part::Text(text)]))]);
        assert!(html.len() < 3 * 4096);
        let link = "/dashboard/conversations/c/events/7";
        assert_eq!(html.contains(link), is_cut);
    };
    check("x".repeat(4096), false);
    check("x".repeat(4097), true);
    check(format!("x{}", "ä".repeat(500_000)), true);
}

#[test]
fn a_document_that_is_whole_has_no_link() {
    let link = "/dashboard/conversations/c/events/7";
    let check = |input: &str, is_cut: bool| {
        assert_eq!(html(&[event(7, call("a", input))]).contains(link), is_cut, "{}", input.len());
    };
    check("{\"a\":[1,2]}", false);
    check(&format!("\"{}\"", "x".repeat(4094)), false);
    check(&format!("\"{}\"", "x".repeat(4095)), true);
    // Whole in the record, but not with line breaks.
    check(&format!("[{}1]", "1,".repeat(2_000)), true);
}

#[test]
fn an_estimated_usage_is_marked() {
    for (usage_source, is_marked) in [(UsageSource::Reported, false), (UsageSource::Estimated, true)] {
        let mut message = MessageAppended::new(Role::Assistant, vec![Part::Text("fine".to_owned())]);
        message.usage = Some(Usage { input_tokens: 7, ..Usage::default() });
        message.usage_source = usage_source;
        let html = html(&[event(1, Fact::MessageAppended(message))]);
        assert!(html.contains("read 7"), "{html}");
        assert_eq!(html.contains("estimated"), is_marked, "{html}");
    }
}

#[test]
fn every_change_of_the_conversation_has_a_body_or_a_heading() {
    let owner = |id: &str| Owner::User(UserId::parse(id).unwrap());
    let changed = OwnerChanged { owner: owner("ann"), previous: owner("bob") };
    for (lifecycle, expected) in [
        (Lifecycle::OwnerChanged(changed), "user <code>ann</code>"),
        (Lifecycle::ConversationArchived, "ConversationArchived"),
        (Lifecycle::ConversationRestored, "ConversationRestored"),
    ] {
        let html = html(&[event(1, Fact::Lifecycle(lifecycle))]);
        assert!(html.contains(expected), "{html}");
    }
}

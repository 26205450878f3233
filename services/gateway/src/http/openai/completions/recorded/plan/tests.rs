use domain::event::{MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{JsonText, Part, ToolName};

use super::*;

/// The facts of a history: `s`, `u` and `a` are messages of the system, the user and the assistant, `c` a call, `r` its result; the
/// rest of the word is the text, or the id of the call.
fn facts(history: &str) -> Vec<Fact> {
    history.split_whitespace().map(fact).collect()
}

fn fact(word: &str) -> Fact {
    let (kind, text) = word.split_at(1);
    let message = |role| {
        let parts = vec![Part::Text(text.to_owned())];
        Fact::MessageAppended(MessageAppended::new(role, parts))
    };
    let call = |id: &str| CallId::parse(id).unwrap();
    match kind {
        "s" => message(Role::System),
        "u" => message(Role::User),
        "a" => message(Role::Assistant),
        "c" => {
            let name = ToolName::parse("look").unwrap();
            let input = JsonText::parse("{}").unwrap();
            Fact::ToolCalled(ToolCalled::new(call(text), name, input))
        }
        _ => {
            let (id, output) = text.split_once('=').unwrap();
            Fact::ToolReturned(ToolReturned {
                call_id: call(id),
                tool_name: None,
                output: ToolOutput::Parts(vec![Part::Text(output.to_owned())]),
                outcome: ToolOutcome::Succeeded,
            })
        }
    }
}

/// The stored history; its events have the versions 10, 20, 30, …
fn stored(history: &str) -> Vec<StoredEvent> {
    let facts = facts(history);
    let contents = facts.iter().filter_map(Comparable::of);
    let versions = (10..).step_by(10).map(Version);
    let events = versions.zip(contents);
    events.map(|(version, content)| StoredEvent { version, content }).collect()
}

/// The rewind, and the new facts in words.
fn outcome(sent: &str, plan: &Plan) -> (Option<u64>, String) {
    let words: Vec<&str> = sent.split_whitespace().collect();
    let new: Vec<&str> = plan.new.iter().map(|index| words[*index]).collect();
    (plan.rewind.map(|version| version.0), new.join(" "))
}

#[test]
fn a_history_is_continued_or_rewound() {
    let check = |stored_history: &str, sent: &str, rewind: Option<u64>, new: &str| {
        let given = facts(sent);
        let mut events = stored(stored_history);
        // As many as a reader gets.
        events.truncate(given.len() + 1);
        let open = BTreeSet::new();
        let actual = outcome(sent, &plan(&given, &events, &open));
        let expected = (rewind, new.to_owned());
        assert_eq!(actual, expected, "{stored_history:?}, {sent:?}");
    };
    // The first message, the next one, and one without an answer.
    check("", "s u1", None, "u1");
    check("", "u1 a1 u2", None, "u1 a1 u2");
    check("u1 a1", "s u1 a1 u2", None, "u2");
    check("u1", "u1", None, "");
    check("u1 a1", "u1 a1", None, "");
    // A regenerated answer: of the last, the first and a middle message.
    check("u1 a1", "u1", Some(10), "");
    check("u1 a1 u2 a2", "u1 a1 u2", Some(30), "");
    check("u1 a1 u2 a2 u3 a3", "s u1", Some(10), "");
    // An edited message: the last, the first; an edited answer.
    check("u1 a1 u2 a2", "u1 a1 u3", Some(20), "u3");
    check("u1 a1", "u2", Some(1), "u2");
    check("u1 a1 u2 a2", "u1 aX u2", Some(10), "aX u2");
    // Instructions differ at each request and are not recorded.
    check("u1 a1", "sX u1 a1 s u2", None, "u2");
    // An answer without content is not recorded, unless it calls a tool.
    check("u1", "u1 a u2", None, "u2");
    check("u1", "u1 a cX rX=1", None, "a cX rX=1");
    check("u1 a1", "u1 a1 a cX rX=1", None, "a cX rX=1");
}

#[test]
fn calls_stay_with_their_turn() {
    let check = |open: &[&str], sent: &str, rewind: Option<u64>, new: &str| {
        let given = facts(sent);
        let open = open.iter().map(|id| CallId::parse(*id).unwrap());
        let events = stored("u1 a1 cA cB rA=1 rB=2 a2");
        let actual = outcome(sent, &plan(&given, &events, &open.collect()));
        assert_eq!(actual, (rewind, new.to_owned()), "{sent:?}");
    };
    check(&[], "u1 a1 cA cB rA=1 rB=2 a2 u2", None, "u2");
    // The answer after the results is regenerated.
    check(&[], "u1 a1 cA cB rA=1 rB=2", Some(60), "");
    // Another result: the calls are answered, so their turn is recorded again.
    let again = "a1 cA cB rA=1 rB=3";
    check(&[], &format!("u1 {again}"), Some(10), again);
    let again = "a1 cA cB rA=3 rB=2";
    check(&[], &format!("u1 {again}"), Some(10), again);
    // An open call takes its result.
    check(&["B"], "u1 a1 cA cB rA=1 rB=3", Some(50), "rB=3");
    // Another call of the same turn.
    let other = "a1 cA cX rA=1 rX=2";
    check(&[], &format!("u1 {other}"), Some(10), other);
}

#[test]
fn a_history_without_its_oldest_messages_continues_the_end() {
    let check = |stored_history: &str, sent: &str, new: Option<&str>| {
        let given = facts(sent);
        let plan = plan_of_end(&given, &stored(stored_history));
        let actual = plan.map(|plan| outcome(sent, &plan));
        let expected = new.map(|new| (None, new.to_owned()));
        assert_eq!(actual, expected, "{stored_history:?}, {sent:?}");
    };
    check("u1 a1 u2 a2", "s u2 a2 u3", Some("u3"));
    check("u1 a1 u2 a2", "a2 u3", Some("u3"));
    check("u1 a1 u1 a1", "u1 a1 u1 a1 u2", Some("u2"));
    check("u1 a1", "u2", None);
    check("u1 a1 u2 a2", "u2 u3", None);
    check("", "u1", None);
}

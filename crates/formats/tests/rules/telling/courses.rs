//! The course of a conversation: calls and results, gaps, instructions.

use context::{AnswerOrigin, Transcript};
use domain::Version;
use domain::event::{Role, ToolOutcome};

use super::notation::{answered, assistant, call, calls, text, transcript, turn, user, weather};

pub(super) fn plain_chat() -> Transcript {
    transcript(vec![user("Is Lisbon warm in March?"), assistant("Mild: about 17 °C by day."), user("And at night?")])
}

pub(super) fn parallel_calls() -> Transcript {
    let both = vec![weather("call_1", "Lisbon", "{\"degrees\":17.0,\"unit\":\"C\"}"), weather("call_2", "Porto", "15")];
    transcript(vec![
        user("Lisbon or Porto?"),
        calls(assistant("Let me look at both."), both),
        assistant("Lisbon is warmer."),
        user("Thanks!"),
    ])
}

pub(super) fn call_interrupted() -> Transcript {
    let call = answered(
        weather("call_1", "Lisbon", "null"),
        "Interrupted: no result of this call was recorded.",
        AnswerOrigin::Interrupted,
        ToolOutcome::Failed,
    );
    transcript(vec![
        user("Lisbon?"),
        calls(turn(Role::Assistant, Vec::new()), vec![call]),
        user("Are you still there?"),
    ])
}

pub(super) fn call_pending_approval() -> Transcript {
    let book = call("call_1", "book_flight", "{\"to\":\"LIS\"}", "null");
    let waits =
        answered(book, "Pending: this call still waits for its result.", AnswerOrigin::Pending, ToolOutcome::Succeeded);
    transcript(vec![user("Book it."), calls(assistant("I need your approval."), vec![waits])])
}

pub(super) fn result_cleared() -> Transcript {
    let cleared = answered(
        weather("call_1", "Lisbon", "null"),
        "Cleared: an old result of 48,120 bytes.",
        AnswerOrigin::Cleared(Version(1)),
        ToolOutcome::Succeeded,
    );
    transcript(vec![
        user("Lisbon?"),
        calls(turn(Role::Assistant, Vec::new()), vec![cleared]),
        assistant("17 °C."),
        user("And Porto?"),
        calls(turn(Role::Assistant, Vec::new()), vec![weather("call_2", "Porto", "15")]),
        user("Thanks!"),
    ])
}

pub(super) fn call_failed() -> Transcript {
    let failed = answered(
        weather("call_1", "Atlantis", "null"),
        "no such city",
        AnswerOrigin::Recorded(Version(1)),
        ToolOutcome::Failed,
    );
    transcript(vec![user("Atlantis?"), calls(turn(Role::Assistant, Vec::new()), vec![failed])])
}

pub(super) fn assistant_first_and_last() -> Transcript {
    transcript(vec![
        assistant("Hello! Where do you want to go?"),
        user("Lisbon."),
        user(" \n"),
        assistant("When?"),
        turn(Role::Assistant, Vec::new()),
        assistant("In spring, perhaps?"),
    ])
}

pub(super) fn instructions_in_the_middle() -> Transcript {
    transcript(vec![
        turn(Role::System, vec![text("The user's name is Ann.")]),
        user("Lisbon?"),
        turn(Role::System, vec![text("Prices are in euros from now on.")]),
        assistant("Flights are 80 €."),
        turn(Role::Developer, vec![text("Answer in Portuguese.")]),
        user("And back?"),
    ])
}

pub(super) fn summary_and_closing() -> Transcript {
    Transcript {
        opening: Some("[Summary] The user plans a week in Lisbon.".to_owned()),
        closing: Some("[Now] 2026-03-01, on the page /flights.".to_owned()),
        ..plain_chat()
    }
}

//! The head: the fields that follow the events.

use super::*;
use crate::event::{ConversationUpdated, ForkPoint, HistoryRewound, HistorySummarised, Usage};
use crate::field_change::FieldChange;
use crate::head::SummaryPlace;
use crate::id::{ConversationId, Label};

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn response(role: Role, id: Option<&str>) -> Fact {
    let mut message = MessageAppended::new(role, Vec::new());
    message.provider_response_id = id.map(label);
    Fact::MessageAppended(message)
}

/// The head after one commit of these events.
fn after(facts: impl IntoIterator<Item = Fact>) -> Head {
    head_after(vec![created(), append(facts)]).unwrap()
}

#[test]
fn only_an_assistant_s_response_is_the_last_response() {
    use Role::{Assistant, System, User};
    for (messages, expected) in [
        (vec![], None),
        (vec![(Assistant, Some("r1"))], Some("r1")),
        (vec![(Assistant, Some("r1")), (Assistant, Some("r2"))], Some("r2")),
        (vec![(Assistant, Some("r1")), (Assistant, None)], Some("r1")),
        (vec![(Assistant, Some("r1")), (User, Some("r2"))], Some("r1")),
        (vec![(Assistant, Some("r1")), (User, None)], Some("r1")),
        (vec![(User, Some("r1")), (System, Some("r2"))], None),
    ] {
        let head = after(messages.iter().map(|(role, id)| response(*role, *id)));
        assert_eq!(head.last_response_id, expected.map(label), "{messages:?}");
    }
}

#[test]
fn a_rewind_hides_only_later_summaries() {
    let summarised = |through| {
        let (through, text) = (Version(through), String::new());
        Fact::from(HistorySummarised { through, text, model: None, previous: None })
    };
    // The summary has version 3, the rewind version 5.
    for (to, through) in [(1, 0), (2, 0), (3, 2), (4, 2)] {
        let rewound = Fact::from(HistoryRewound { to: Version(to) });
        let head = after([said("a"), summarised(2), said("b"), rewound]);
        let place = SummaryPlace { version: Version(3), through: Version(through) };
        assert_eq!(head.latest_summary, Some(place), "{to}");
    }
}

#[test]
fn a_rewind_closes_only_later_calls() {
    // The call has version 2, the rewind version 3.
    for (to, open) in [(1, 0), (2, 1)] {
        let head = after([called("a"), Fact::from(HistoryRewound { to: Version(to) })]);
        assert_eq!(head.open_calls.len(), open, "{to}");
    }
}

#[test]
fn updates_set_and_clear_the_provider_s_ids() {
    let update = |conversation: Option<FieldChange<Label>>, last: Option<FieldChange<Label>>| {
        Action::Update(Box::new(ConversationUpdated {
            provider_conversation_id: conversation,
            last_response_id: last,
            ..ConversationUpdated::default()
        }))
    };
    let set = |text: &str| Some(FieldChange::Set(label(text)));
    let ids = |actions: Vec<Action>| {
        let head = head_after(actions).unwrap();
        (head.provider_conversation_id, head.last_response_id)
    };
    let named = || create(|create| create.created.provider_conversation_id = Some(label("c0")));
    assert_eq!(ids(vec![named()]), (Some(label("c0")), None));
    assert_eq!(ids(vec![named(), update(set("c1"), None)]), (Some(label("c1")), None));
    assert_eq!(ids(vec![named(), update(None, set("r1"))]), (Some(label("c0")), Some(label("r1"))));
    let both = || vec![named(), update(set("c1"), set("r1"))];
    let then = |change| both().into_iter().chain([change]).collect();
    assert_eq!(ids(then(update(Some(FieldChange::Clear), None))), (None, Some(label("r1"))));
    assert_eq!(ids(then(update(None, Some(FieldChange::Clear)))), (Some(label("c1")), None));
    assert_eq!(ids(then(ERASE)), (None, None));
}

#[test]
fn the_status_follows_archive_restore_and_erasure() {
    let status = |actions: Vec<Action>| head_after(actions).unwrap().status;
    assert_eq!(status(vec![created()]), Status::Active);
    assert_eq!(status(vec![created(), Action::Archive]), Status::Archived);
    assert_eq!(status(vec![created(), Action::Archive, Action::Restore]), Status::Active);
    assert_eq!(status(vec![created(), ERASE]), Status::Erased);
}

#[test]
fn own_versions_are_without_inherited_ones() {
    let point = ForkPoint { conversation: ConversationId::parse("p").unwrap(), version: Version(10), depth: 1 };
    let forked = create(|create| create.created.forked_from = Some(point));
    let head = head_after(vec![forked, append([said("a"), said("b")])]).unwrap();
    assert_eq!((head.version, head.own_versions()), (Version(13), 3));
    assert_eq!(after([said("a")]).own_versions(), 2);
}

/// The n-th commit is recorded at n seconds.
#[test]
fn the_time_of_the_last_event_is_the_latest_and_never_after_its_record() {
    const SECOND: i64 = 1_000_000_000;
    let at = |times: &[Option<i64>]| {
        let events =
            times.iter().map(|time| NewEvent { occurred_at: time.map(Timestamp), ..NewEvent::from(said("a")) });
        Action::Append { events: events.collect(), expected: None }
    };
    for (times, expected) in [
        (vec![None], SECOND),
        (vec![Some(SECOND / 2)], SECOND / 2),
        (vec![Some(SECOND / 2), Some(SECOND / 4)], SECOND / 2),
        (vec![Some(-5)], 0),
        (vec![Some(9 * SECOND)], SECOND),
    ] {
        let head = head_after(vec![created(), at(&times)]).unwrap();
        assert_eq!(head.last_event_at, Timestamp(expected), "{times:?}");
        assert_eq!(head.recorded_at, Timestamp(SECOND));
    }
}

#[test]
fn totals_are_sums() {
    let used = |input_tokens, output_tokens, cached_tokens| {
        let mut message = MessageAppended::new(Role::Assistant, Vec::new());
        message.usage = Some(Usage { input_tokens, output_tokens, cached_tokens, reasoning_tokens: 0 });
        Fact::MessageAppended(message)
    };
    let totals = after([used(1, 10, 100), said("a"), called("c"), used(2, 20, 200)]).totals;
    assert_eq!((totals.input_tokens, totals.output_tokens, totals.cached_tokens), (3, 30, 300));
    assert_eq!((totals.commits, totals.messages, totals.context_tokens), (2, 3, 4 * u64::from(TOKENS)));
}

#[test]
fn recent_commits_are_found_by_their_ids() {
    let head = after([said("a")]);
    let found = |n: u128| head.recent_commit(CommitId(Uuid::from_u128(n))).map(|commit| commit.first_version);
    assert_eq!([0, 1, 2].map(found), [Some(Version(1)), Some(Version(2)), None]);
}

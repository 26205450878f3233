//! Rows that differ from the record are findings, each with its kind.

use domain::{ConversationId, ConversationKey};
use serde_json::json;

use super::super::expected_rows;
use super::super::{Kind, Reading, Rows, check_equal, check_readings, check_rows};
use super::history::{TestHistory, key};

fn rows_of(made: &TestHistory) -> Rows {
    let mut rows = Rows::default();
    for (key, commits) in &made.recorded.conversations {
        rows.conversations.insert(key.clone(), expected_rows::conversation(key, commits).unwrap());
        for (version, row) in expected_rows::events(key, commits) {
            rows.events.insert((key.clone(), version), row);
        }
    }
    rows
}

#[track_caller]
fn check(name: &str, made: &TestHistory, damage: impl FnOnce(&mut Rows), expected: &[Kind]) {
    let mut rows = rows_of(made);
    damage(&mut rows);
    let findings = check_rows(&made.recorded, &rows);
    let kinds: Vec<Kind> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, expected, "{name}: {findings:#?}");
}

#[test]
fn rows_are_compared_column_by_column() {
    let made = TestHistory::valid();
    check("valid", &made, |_| (), &[]);
    check("erased", &TestHistory::erased(), |_| (), &[]);
    let columns: Vec<String> = rows_of(&made).conversations[&key()].keys().cloned().collect();
    for column in columns {
        let damage = |rows: &mut Rows| {
            let row = rows.conversations.get_mut(&key()).unwrap();
            row.insert(column.clone(), json!("x"));
        };
        check(&column, &made, damage, &[Kind::RowDiffers]);
    }
    let columns: Vec<String> = rows_of(&made).events[&(key(), 4)].keys().cloned().collect();
    for column in columns {
        let damage = |rows: &mut Rows| {
            rows.events.get_mut(&(key(), 4)).unwrap().remove(&column);
        };
        check(&column, &made, damage, &[Kind::RowDiffers]);
    }
    let new = |rows: &mut Rows| {
        drop(rows.conversations.get_mut(&key()).unwrap().insert("new".to_owned(), json!(1)));
    };
    check("a column that the checker does not know", &made, new, &[Kind::RowDiffers]);
}

#[test]
fn rows_are_all_there_and_no_more() {
    let made = TestHistory::valid();
    let other = ConversationKey { conversation: ConversationId::parse("c2").unwrap(), ..key() };
    check("no row", &made, |rows| rows.conversations.clear(), &[Kind::RowMissing]);
    check("no event", &made, |rows| drop(rows.events.remove(&(key(), 9))), &[Kind::RowMissing]);
    let copied = |rows: &mut Rows| {
        let row = rows.conversations[&key()].clone();
        rows.conversations.insert(other.clone(), row);
    };
    check("a conversation too many", &made, copied, &[Kind::RowUnfounded]);
    let appended = |rows: &mut Rows| {
        let row = rows.events[&(key(), 9)].clone();
        rows.events.insert((key(), 10), row);
    };
    check("an event too many", &made, appended, &[Kind::RowUnfounded]);
    let events = rows_of(&made).events;
    check("events of an erased one", &TestHistory::erased(), |rows| rows.events = events, &[Kind::RowUnfounded; 9]);
    let parked = |rows: &mut Rows| drop(rows.parked.insert(key(), serde_json::Map::new()));
    check("parked", &made, parked, &[Kind::Parked]);
}

fn reading_of(made: &TestHistory) -> Reading {
    let mut events = Vec::new();
    for stored in &made.recorded.conversations[&key()] {
        let commit = &stored.opened.commit;
        for (recorded, bytes) in commit.recorded_events().zip(&stored.opened.event_bytes) {
            let (version, at) = (recorded.version, recorded.recorded_at);
            events.push(wire::reads::recorded_event(version, commit.id, at, bytes.clone()).unwrap());
        }
    }
    let version = u64::try_from(events.len()).unwrap();
    let context = wire::proto::read::v1::AssembleContextResponse { version, ..Default::default() };
    Reading { conversation: key(), events, context }
}

#[track_caller]
fn check_readings_of(name: &str, damage: impl FnOnce(&mut Reading), differs: bool) {
    let made = TestHistory::valid();
    let (valid, mut damaged) = (reading_of(&made), reading_of(&made));
    damage(&mut damaged);
    let found = check_readings(&made.recorded, std::slice::from_ref(&damaged));
    let unlike = check_equal(&[valid], &[damaged]);
    assert_eq!((!found.is_empty(), !unlike.is_empty()), (differs, differs), "{name}: {found:#?} {unlike:#?}");
}

#[test]
fn readings_are_compared_with_the_record_and_with_each_other() {
    check_readings_of("valid", |_| (), false);
    check_readings_of("an event less", |reading| drop(reading.events.pop()), true);
    check_readings_of("an event twice", |reading| reading.events.push(reading.events[8].clone()), true);
    check_readings_of("two changed places", |reading| reading.events.swap(3, 4), true);
    check_readings_of("another version", |reading| reading.context.version -= 1, true);
    let other = |reading: &mut Reading| {
        reading.events[2].event.as_mut().unwrap().metadata_json = "{}".to_owned();
    };
    check_readings_of("another event", other, true);
}

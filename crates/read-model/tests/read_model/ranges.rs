//! Ranges of events: directions, kinds and bounds.

use domain::event::SystemNoted;
use domain::{EventKind as Kind, Fact, Lifecycle, Version};
use read_model::{Direction, EVENTS_PER_READ_MAX, EventQuery, EventRow, events};

use crate::fixture::{Author, Projection, access, message};
use crate::rows::{all, event_rows};

/// A conversation of 81 events: created, then 20 times a message, a note, archived and restored.
struct Range {
    projection: Projection,
    author: Author,
    rows: Vec<EventRow>,
}

impl Range {
    async fn new() -> Self {
        let mut projection = Projection::new().await;
        let mut author = Author::new("c");
        let note = Fact::from(SystemNoted { topic: None, text: "n".to_owned() });
        let turn = [
            message("m"),
            note,
            Fact::Lifecycle(Lifecycle::ConversationArchived),
            Fact::Lifecycle(Lifecycle::ConversationRestored),
        ];
        let mut items = vec![author.begin(1)];
        for sequence in 2..22 {
            items.push(author.commit(sequence, turn.to_vec()));
        }
        projection.apply(items.clone()).await;
        let rows = event_rows(&items);
        Self { projection, author, rows }
    }

    async fn check(&self, change: impl FnOnce(&mut EventQuery), expected: impl Into<Vec<u64>>) {
        let mut query = all(Direction::Forward);
        change(&mut query);
        let id = &self.author.key.conversation;
        let found = events(&self.projection.model, &access("acme"), id, &query).await;
        let versions: Vec<u64> = found.unwrap().iter().map(|row| row.version.0).collect();
        assert_eq!(versions, expected.into(), "{query:?}");
    }

    /// The bytes of the event with this version.
    fn size(&self, version: usize) -> u64 {
        u64::try_from(self.rows[version - 1].bytes.len()).unwrap()
    }
}

#[tokio::test]
async fn ranges_and_directions() {
    let range = Range::new().await;
    let backward = |q: &mut EventQuery| q.direction = Direction::Backward;
    let between = |from, to| move |q: &mut EventQuery| (q.from, q.to) = (Version(from), Version(to));
    range.check(|_| (), (1..=81).collect::<Vec<_>>()).await;
    range.check(backward, (1..=81).rev().collect::<Vec<_>>()).await;
    range.check(between(3, 5), [3, 4, 5]).await;
    range.check(between(81, u64::MAX), [81]).await;
    range.check(between(82, 90), []).await;
    range.check(between(5, 3), []).await;
    range.check(|q| q.limit = 0, []).await;
    range.check(|q| (q.from, q.limit) = (Version(80), 1), [80]).await;
    range.check(|q| *q = EventQuery::latest(2, u64::MAX), [81, 80]).await;
}

#[tokio::test]
async fn a_read_ends_at_its_bytes() {
    let range = Range::new().await;
    let first = range.size(1);
    let last = range.size(81);
    range.check(|q| q.bytes_max = 0, []).await;
    range.check(|q| q.bytes_max = 1, [1]).await;
    range.check(|q| q.bytes_max = first, [1]).await;
    range.check(|q| q.bytes_max = first + 1, [1, 2]).await;
    range.check(|q| *q = EventQuery::latest(9, last), [81]).await;
    range.check(|q| *q = EventQuery::latest(9, last + 1), [81, 80]).await;
}

#[tokio::test]
async fn a_range_is_filtered_by_kinds() {
    let range = Range::new().await;
    let of = |kinds: &[Kind], limit| {
        let kinds = kinds.to_vec();
        move |q: &mut EventQuery| (q.kinds, q.limit) = (kinds, limit)
    };
    range.check(of(&[Kind::MessageAppended], 3), [2, 6, 10]).await;
    range.check(of(&[Kind::ToolCalled], 9), []).await;
    let created = Kind::ConversationCreated;
    range.check(of(&[created, Kind::MessageAppended], 3), [1, 2, 6]).await;
    let noted = Kind::SystemNoted;
    range.check(of(&[noted, noted, Kind::ConversationArchived], 4), [3, 4, 7, 8]).await;
    let newest = |q: &mut EventQuery| {
        q.kinds = vec![noted, created];
        (q.direction, q.to, q.limit) = (Direction::Backward, Version(8), 3);
    };
    range.check(newest, [7, 3, 1]).await;
}

#[tokio::test]
async fn the_number_of_events_is_bounded() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("c");
    let mut items = vec![author.begin(1)];
    let most = u64::from(EVENTS_PER_READ_MAX);
    for sequence in 2..=1 + most / 500 {
        items.push(author.commit(sequence, vec![message("m"); 500]));
    }
    projection.apply(items).await;
    for (limit, expected) in [(most - 1, most - 1), (most, most), (most + 1, most)] {
        let limit = u32::try_from(limit).unwrap();
        let query = EventQuery::latest(limit, u64::MAX);
        let id = &author.key.conversation;
        let found = events(&projection.model, &access("acme"), id, &query).await.unwrap();
        assert_eq!(u64::try_from(found.len()).unwrap(), expected, "{limit}");
    }
}

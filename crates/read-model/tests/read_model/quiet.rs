//! Conversations in which nothing happens any more.

use domain::{Fact, Lifecycle, Timestamp};
use read_model::projections::conversations::quiet_among;

use crate::fixture::{Author, Projection, START};

const SECOND: i64 = 1_000_000_000;

#[tokio::test]
async fn only_what_is_old_whole_and_not_erased_is_quiet() {
    let mut projection = Projection::new().await;
    let [mut quiet, mut young, mut erased, mut parked] =
        ["quiet", "young", "erased", "parked"].map(Author::new);
    let unknown = Author::new("unknown");
    let items = vec![
        quiet.begin(1),
        young.begin(2),
        erased.begin(3),
        parked.begin(4),
        quiet.say(5, "a"),
        erased.commit(6, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]),
        parked.garbage(7),
        young.say(60, "b"),
    ];
    projection.apply(items).await;
    let authors = [&quiet, &young, &erased, &parked, &unknown];
    let keys: Vec<_> = authors.iter().map(|author| &author.key).collect();
    let check = async |seconds: i64, expected: &[(&str, u64)]| {
        let before = Timestamp(START.0 + seconds * SECOND);
        let found = quiet_among(&projection.model, &keys, before).await.unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|place| (place.key.conversation.as_str(), place.position.sequence.0))
            .collect();
        assert_eq!(found, expected, "{seconds}");
    };
    check(5, &[]).await;
    check(6, &[("quiet", 5)]).await;
    check(60, &[("quiet", 5)]).await;
    check(61, &[("quiet", 5), ("young", 60)]).await;
}

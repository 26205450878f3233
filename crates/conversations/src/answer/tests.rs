use domain::event::{MessageAppended, Role};
use domain::{Part, RunEnd, RunOutcome};
use futures::stream;

use super::*;

/// Names what it is asked for.
#[derive(Default)]
struct Names {
    /// Whether the opening cannot be written.
    has_broken_opening: bool,
}

impl Encoder for Names {
    fn opening(&mut self) -> Result<String, Unreadable> {
        if self.has_broken_opening { Err(Unreadable) } else { Ok("opening".to_owned()) }
    }

    fn part(&mut self, part: RunPart, fold: &RunFold) -> Result<String, Unreadable> {
        assert_eq!(fold.next_number(), part.number + 1, "the fold contains the part");
        if part.kind == text(BROKEN) {
            return Err(Unreadable);
        }
        let is_silent = part.kind == RunPartKind::KeptAlive;
        Ok(if is_silent { String::new() } else { format!("part {}", part.number) })
    }

    fn end(&mut self, outcome: &Outcome, _: &RunFold) -> String {
        format!("{outcome:?}")
    }

    fn interrupted(&mut self, reason: Interruption) -> String {
        format!("{reason:?}")
    }
}

/// A text that [`Names`] cannot write.
const BROKEN: &str = "broken";

fn text(text: &str) -> RunPartKind {
    RunPartKind::TextDelta(text.to_owned())
}

fn ended(outcome: RunOutcome) -> RunPartKind {
    RunPartKind::RunEnded(RunEnd { outcome, error: None })
}

fn step() -> RunPartKind {
    let message = MessageAppended::new(Role::Assistant, vec![Part::Text("a".to_owned())]);
    RunPartKind::StepFinished(vec![Fact::MessageAppended(message)])
}

fn items(kinds: Vec<RunPartKind>) -> Vec<FollowItem> {
    (1..).zip(kinds).map(|(number, kind)| FollowItem::Part(RunPart { number, kind })).collect()
}

fn answer(kinds: Vec<RunPartKind>) -> Answer {
    Answer::unrecorded(stream::iter(items(kinds)).boxed())
}

async fn texts(answer: Answer, draining: CancellationToken) -> Vec<String> {
    let texts = answer.stream(Names::default(), draining);
    texts.map(|text| String::from_utf8(text.to_vec()).unwrap()).collect().await
}

#[tokio::test]
async fn a_delivery_ends_with_the_outcome_or_the_interruption() {
    let check = async |kinds: Vec<RunPartKind>, expected: &[&str]| {
        let seen = texts(answer(kinds), CancellationToken::new()).await;
        assert_eq!(seen, [&["opening"], expected].concat());
    };
    check(vec![text("a"), step(), ended(RunOutcome::Completed)], &["part 1", "part 2", "part 3", "Completed"]).await;
    // Keep-alives of the run have no text here.
    check(vec![RunPartKind::KeptAlive, ended(RunOutcome::Stopped)], &["part 2", "Stopped"]).await;
    check(vec![text("a")], &["part 1", "Gone"]).await;
    check(vec![text("a"), text(BROKEN), text("b")], &["part 1", "Unreadable"]).await;
    check(Vec::new(), &["Gone"]).await;
}

#[tokio::test]
async fn an_opening_that_cannot_be_written_ends_a_delivery() {
    let texts = answer(vec![text("a")]).stream(Names { has_broken_opening: true }, CancellationToken::new());
    assert_eq!(texts.collect::<Vec<_>>().await, ["Unreadable"]);
}

#[tokio::test]
async fn a_gap_in_the_parts_ends_a_delivery() {
    let kinds = vec![text("a"), text("b"), text("c")];
    let mut items = items(kinds);
    items.remove(1);
    let answer = Answer::unrecorded(stream::iter(items).boxed());
    assert_eq!(texts(answer, CancellationToken::new()).await, ["opening", "part 1", "Unreadable"]);
}

#[tokio::test]
async fn a_drain_ends_a_delivery_and_not_the_end_of_an_answer() {
    let draining = CancellationToken::new();
    draining.cancel();
    let drained = texts(answer(vec![text("a"), ended(RunOutcome::Completed)]), draining.clone()).await;
    assert_eq!(drained, ["opening", "Draining"]);
    let whole = answer(vec![text("a"), ended(RunOutcome::Completed)]).whole(draining).await;
    assert_eq!(whole.outcome, Outcome::Interrupted(Interruption::Draining));
    let whole = answer(vec![text("a"), ended(RunOutcome::Completed)]).whole(CancellationToken::new()).await;
    assert_eq!((whole.outcome, whole.facts.len(), whole.run), (Outcome::Completed, 1, None));
}

#[tokio::test(start_paused = true)]
async fn a_silent_answer_is_kept_alive() {
    let late = stream::once(async {
        tokio::time::sleep(HEARTBEAT * 2 + HEARTBEAT / 2).await;
        items(vec![ended(RunOutcome::Completed)]).remove(0)
    });
    let seen = texts(Answer::unrecorded(late.boxed()), CancellationToken::new()).await;
    assert_eq!(seen, ["opening", KEEP_ALIVE, KEEP_ALIVE, "part 1", "Completed"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_begun_with_its_first_part() {
    let wait = Duration::from_secs(1);
    let failure = |outcome: &Outcome| (!matches!(outcome, Outcome::Completed)).then(|| format!("{outcome:?}"));
    let begun = async |answer: Answer| {
        let begun = answer.begun(wait, &CancellationToken::new(), failure).await?;
        Ok::<_, String>(texts(begun, CancellationToken::new()).await)
    };
    let failed = vec![RunPartKind::KeptAlive, ended(RunOutcome::Failed)];
    assert_eq!(begun(answer(failed)).await, Err("Failed(None)".to_owned()));
    assert_eq!(begun(answer(Vec::new())).await, Err("Interrupted(Gone)".to_owned()));
    let whole = ["opening", "part 2", "part 3", "Completed"].map(str::to_owned).to_vec();
    let kinds = vec![RunPartKind::KeptAlive, text("a"), ended(RunOutcome::Completed)];
    assert_eq!(begun(answer(kinds)).await, Ok(whole));
    // A slow model's answer begins without a part, and loses none.
    let first = stream::iter(items(vec![RunPartKind::KeptAlive]));
    let late = stream::once(async move {
        tokio::time::sleep(wait * 2).await;
        FollowItem::Part(RunPart { number: 2, kind: ended(RunOutcome::Failed) })
    });
    let slow = Answer::unrecorded(first.chain(late).boxed());
    assert_eq!(begun(slow).await, Ok(["opening", "part 2", "Failed(None)"].map(str::to_owned).to_vec()));
}

#[tokio::test]
async fn looking_at_an_answer_loses_no_part() {
    let kinds = || vec![text("a"), ended(RunOutcome::Completed)];
    let mut stored = answer(kinds());
    assert!(stored.is_stored().await);
    assert_eq!(texts(stored, CancellationToken::new()).await.len(), 4);
    let mut gone = Answer::unrecorded(stream::iter([FollowItem::Gone]).boxed());
    assert!(!gone.is_stored().await);
    for (number, expected) in [(0, true), (1, true), (2, false)] {
        assert_eq!(answer(kinds()).has_more(number).await, expected, "{number}");
    }
    let other = || vec![RunPart { number: 1, kind: ended(RunOutcome::Stopped) }];
    let replaced = Answer::unrecorded(stream::iter([FollowItem::Gone]).boxed()).or_parts(other).await;
    assert_eq!(texts(replaced, CancellationToken::new()).await, ["opening", "part 1", "Stopped"]);
    let kept = answer(kinds()).or_parts(other).await;
    assert_eq!(texts(kept, CancellationToken::new()).await.len(), 4);
}

//! An answer cannot control the terminal.

use tests::model::{Model, Reply};

use super::Person;
use crate::turns::fixture::TurnFixture;

/// Clears the screen, sets the title, writes the clipboard, and disguises a name.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}1m\u{1b}]52;c;YQ==\u{1b}\\\r\u{8}\u{202e}exe.txt";

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_titles_have_no_control_characters() {
    let model = Model::start(|_| Reply::Text(HOSTILE.to_owned())).await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    let person = Person::of(&fixture).await;
    let ran = person.run(&["hello"]).await;
    let shown = r"a\u001b[2J\u001b]0;title\u0007\u009b1m\u001b]52;c;YQ==\u001b\\u000d\u0008\u202eexe.txt";
    ran.check(&format!("{shown}\n"));
    let lines = format!("{}\n/title {}\n/title\n/list\n/rewind\n/open 1\n", "hello", HOSTILE.replace('\r', ""));
    let ran = person.pipe(&["--commands"], &lines).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let is_control = |sign: char| (sign.is_control() && sign != '\n') || sign == '\u{202e}';
    assert!(!ran.stdout.contains(is_control), "{ran:?}");
    assert!(!ran.stderr.contains(is_control), "{ran:?}");
    assert!(ran.stdout.matches("title").count() >= 3, "{ran:?}");
}

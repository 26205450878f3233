//! A question as an argument or through a pipe: the answer, and nothing else, is on standard output.

use std::os::unix::fs::PermissionsExt as _;

use axum::http::StatusCode;
use serde_json::json;
use tests::model::{Model, Reply};

use super::Person;
use crate::turns::fixture::TurnFixture;

/// Most bytes of a question.
const QUESTION_BYTES_MAX: usize = 256 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_as_plain_text() {
    let fixture = TurnFixture::new().await;
    let person = Person::of(&fixture).await;
    person.run(&["hello there"]).await.check("echo: hello there\n");
    person.pipe(&[], "a\nb\n").await.check("echo: a\nb\n");
    // A conversation of the caller's choice is created, and then continued.
    for question in ["one", "two"] {
        let ran = person.run(&["--conversation", "mine", question]).await;
        ran.check(&format!("echo: {question}\n"));
    }
    let listed = person.pipe(&["--commands"], "/list\n").await;
    assert_eq!(listed.stdout.matches("mine").count(), 1, "{listed:?}");
    // The session is kept in one file, which others cannot read.
    let files: Vec<_> =
        std::fs::read_dir(person.folder.path().join("sessions")).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // The same name is another conversation of somebody else.
    let other = Person::of(&fixture).await;
    other.run(&["--conversation", "mine", "three"]).await.check("echo: three\n");
    let listed = other.pipe(&["--commands"], "/list\n").await;
    assert_eq!(listed.stdout.matches("mine").count(), 1, "{listed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_say_why_there_is_no_answer() {
    let model = Model::start(|before| match before {
        0 => Reply::Refused(StatusCode::BAD_REQUEST, json!({"error": {"message": "no"}})),
        _ => Reply::Text("fine".to_owned()),
    })
    .await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    let mut person = Person::of(&fixture).await;
    let failed = person.run(&["hello"]).await;
    failed.check_failed(1, "", "the answer failed: An error occurred.");
    person.run(&["hello"]).await.check("fine\n");
    let longest = "x".repeat(QUESTION_BYTES_MAX);
    person.pipe(&[], &longest).await.check("fine\n");
    let longer = person.pipe(&[], &format!("{longest}y")).await;
    longer.check_failed(2, "", "longer than 256 KiB");
    person.run(&[" "]).await.check_failed(2, "", "empty");
    person.run(&["--api-key", "hp_none", "a"]).await.check_failed(1, "", "API");
    person.url = "chat.example.org".to_owned();
    person.run(&["a"]).await.check_failed(2, "", "--url");
    person.url = format!("http://{}", tests::port::free());
    person.run(&["a"]).await.check_failed(1, "", "cannot be reached: check --url");
}

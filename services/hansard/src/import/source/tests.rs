use std::io::Write as _;

use super::lines::LINE_BYTES_MAX;
use super::*;

async fn check(format: Format, limit: Option<u64>, text: &[u8], expected: &[&str]) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let mut entries = read(Source { path: Some(file.path().to_owned()), format, limit });
    let mut seen = Vec::new();
    while let Some(entry) = entries.recv().await {
        seen.push(match entry {
            Ok(Entry { number, dialogue: Ok(dialogue), .. }) => format!("{number} {}", dialogue.key),
            Ok(Entry { number, dialogue: Err(violation), .. }) => format!("{number} {violation}"),
            Err(error) => error.to_string().replace(&file.path().display().to_string(), "FILE"),
        });
    }
    assert_eq!(seen, expected);
}

const GOOD: &str = r#"{"id":"a","messages":[{"role":"user","content":"hi"}]}"#;

#[tokio::test]
async fn invalid_lines_are_reported_and_skipped() {
    let text = format!("\u{feff}{GOOD}\r\n\n{{\n{GOOD}\n   \n[]\n{GOOD}");
    let expected = ["1 a", "3 : is incomplete JSON at column 1", "4 a", "6 : has the wrong type", "7 a"];
    check(Format::Openai, None, text.as_bytes(), &expected).await;
    check(Format::Openai, Some(2), text.as_bytes(), &expected[..2]).await;
    check(Format::Openai, Some(0), text.as_bytes(), &[]).await;
    check(Format::Openai, None, b"", &[]).await;
    check(Format::Openai, None, b"{\"messages\": \"\xff\"}", &["1 : is not UTF-8 at byte 15"]).await;
}

#[tokio::test]
async fn a_line_over_the_maximum_is_skipped() {
    let bound = usize::try_from(LINE_BYTES_MAX).unwrap();
    let line = |bytes: usize| format!("\"{}\"\n", "x".repeat(bytes - 3));
    let text = format!("{}{}{GOOD}\n", line(bound), line(bound + 1));
    let expected = ["1 : has the wrong type", "2 : has 67108865 bytes; the maximum is 67108864", "3 a"];
    check(Format::Openai, None, text.as_bytes(), &expected).await;
}

#[tokio::test]
async fn a_document_is_read_member_by_member() {
    let good = r#"{"messages":[[{"text":"x","timestamp":"2018-05-02T19:38:15Z","sender":"s"}]]}"#;
    let text = format!("{{\"a\":{good},\"b\":7,\"c\":{good}}}");
    let expected = ["1 a", "2 : has the wrong type", "3 c"];
    check(Format::Chitchat, None, text.as_bytes(), &expected).await;
    check(Format::Chitchat, Some(1), text.as_bytes(), &expected[..1]).await;
    let cut = "FILE is not one JSON object: at line 1, column 91";
    check(Format::Chitchat, None, &text.as_bytes()[..91], &[expected[0], expected[1], cut]).await;
    let array = "FILE is not one JSON object: at line 1, column 1";
    check(Format::Chitchat, None, b"[]", &[array]).await;
}

#[tokio::test]
async fn a_missing_file_is_an_error() {
    let path = PathBuf::from("/no/such/file");
    let mut entries = read(Source { path: Some(path), format: Format::Openai, limit: None });
    let error = entries.recv().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "cannot read /no/such/file");
    assert!(entries.recv().await.is_none());
}

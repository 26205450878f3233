use super::*;

fn sent() -> ContextColumn {
    ContextColumn {
        id: "sent",
        heading: "As sent".to_owned(),
        policy: "00".to_owned(),
        sha256: "11".to_owned(),
        size_bytes: 200,
        body_url: None,
        sections: vec![
            TokensOfSection { name: "Instructions", tokens: 100 },
            TokensOfSection { name: "Opening", tokens: 0 },
            TokensOfSection { name: "Turns", tokens: 300 },
            TokensOfSection { name: "Closing", tokens: 0 },
        ],
        room: 900,
        outcomes: vec!["1 to 4: <script>".to_owned()],
        prefix: Some(ReusedPrefix { before: Version(3), bytes: 50, ends_in: 1 }),
        pieces: [None, Some(Version(5))]
            .map(|version| PieceOfContext {
                section: if version.is_some() { "Turn" } else { "Instructions" },
                version,
                json: "\"</code><script>alert(1)</script>\"".to_owned(),
                size_bytes: 36,
            })
            .to_vec(),
        pieces_not_shown: 0,
    }
}

#[test]
fn a_context_is_shown_by_section_with_its_reusable_prefix() {
    let html = column(&sent()).into_string();
    assert!(!html.contains("<script"), "{html}");
    assert!(!html.contains("style="), "{html}");
    assert!(html.contains("400 of 1,000 tokens"), "{html}");
    // Instructions: 100 of 1,000 units; turns behind them.
    assert!(html.contains(r#"class="section-instructions" x="0" y="0" width="100""#), "{html}");
    assert!(html.contains(r#"class="section-turns" x="100" y="0" width="300""#), "{html}");
    assert!(html.contains("25 %"), "{html}");
    let (before, after) = html.split_once("The reusable prefix ends").unwrap();
    assert!(before.contains("Instructions"));
    assert!(after.contains("of event 5"));
}

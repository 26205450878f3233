//! The outline of a body: each section is where the outline says, in every format.

use std::collections::BTreeSet;

use context::Transcript;
use formats::{Format, Rendered, Section, pieces, render};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::histories::{options, transcripts};
use crate::properties::holds;

#[test]
fn every_piece_is_of_its_section() {
    for format in Format::ALL.iter().copied() {
        holds(&(transcripts(None), options()), |(transcript, options)| {
            check(&transcript, &render(format, &transcript, &options))
        });
    }
}

fn check(transcript: &Transcript, rendered: &Rendered) -> Result<(), TestCaseError> {
    let body = &rendered.body;
    let pieces = pieces(body, &rendered.outline);
    let mut end = 0;
    let mut sections = Vec::new();
    for piece in &pieces {
        prop_assert!(piece.range.start > end, "pieces overlap");
        end = piece.range.end;
        // Documents may be nested deeper than values are read.
        let json: &RawValue = serde_json::from_slice(&body[piece.range.clone()])
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        sections.push((piece.section, json.get()));
    }
    let texts = |section: Section| {
        let of = sections.iter().filter(move |(other, _)| *other == section);
        of.map(|(_, json)| *json).collect::<String>()
    };
    for text in &transcript.instructions {
        prop_assert!(contains(&texts(Section::Instructions), text));
    }
    for (section, text) in [(Section::Opening, &transcript.opening), (Section::Closing, &transcript.closing)] {
        let found = texts(section);
        if let Some(text) = text {
            prop_assert!(contains(&found, text), "{text:?} in {found}");
        } else {
            prop_assert_eq!(found, "");
        }
    }
    let known: BTreeSet<u64> = transcript.turns.iter().map(|turn| turn.version.0).collect();
    let found: Vec<u64> = sections
        .iter()
        .filter_map(|(section, _)| match section {
            Section::Turn(version) => Some(version.0),
            _ => None,
        })
        .collect();
    prop_assert!(found.iter().all(|version| known.contains(version)));
    prop_assert!(found.is_sorted(), "{found:?}");
    Ok(())
}

/// Whether a JSON text contains this text as a string, or within one.
fn contains(json: &str, text: &str) -> bool {
    let text = Value::from(text).to_string();
    text.get(1..text.len() - 1).is_some_and(|text| json.contains(text))
}

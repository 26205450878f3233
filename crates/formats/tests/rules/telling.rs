//! Readable snapshots: selected histories in every format.

mod contents;
mod courses;
mod notation;
mod pretty;

use std::fmt::Write as _;

use context::Transcript;
use formats::{Format, RenderOptions, Rendered, canonical, render};

use crate::{checkers, reading};

/// The context window for Ollama.
const CONTEXT_TOKENS: u32 = 8_192;

#[test]
fn plain_chat() {
    check("plain_chat", &courses::plain_chat());
}

#[test]
fn parallel_calls() {
    check("parallel_calls", &courses::parallel_calls());
}

#[test]
fn call_interrupted() {
    check("call_interrupted", &courses::call_interrupted());
}

#[test]
fn call_pending_approval() {
    check("call_pending_approval", &courses::call_pending_approval());
}

#[test]
fn result_cleared() {
    check("result_cleared", &courses::result_cleared());
}

#[test]
fn call_failed() {
    check("call_failed", &courses::call_failed());
}

#[test]
fn assistant_first_and_last() {
    check("assistant_first_and_last", &courses::assistant_first_and_last());
}

#[test]
fn instructions_in_the_middle() {
    check("instructions_in_the_middle", &courses::instructions_in_the_middle());
}

#[test]
fn summary_and_closing() {
    check("summary_and_closing", &courses::summary_and_closing());
}

#[test]
fn pictures_and_files() {
    check("pictures_and_files", &contents::pictures_and_files());
}

#[test]
fn thoughts_of_anthropic() {
    check("thoughts_of_anthropic", &contents::thoughts_of_anthropic());
}

#[test]
fn signatures_of_gemini() {
    check("signatures_of_gemini", &contents::signatures_of_gemini());
}

#[test]
fn reasoning_of_openai() {
    check("reasoning_of_openai", &contents::reasoning_of_openai());
}

#[test]
fn foreign_ids_and_names() {
    check("foreign_ids_and_names", &contents::foreign_ids_and_names());
}

#[test]
fn repeated_call_ids() {
    check("repeated_call_ids", &contents::repeated_call_ids());
}

#[test]
fn refusal() {
    check("refusal", &contents::refusal());
}

#[test]
fn input_that_is_no_object() {
    check("input_that_is_no_object", &contents::input_that_is_no_object());
}

#[test]
fn blanks_and_gaps() {
    check("blanks_and_gaps", &contents::blanks_and_gaps());
}

#[test]
fn nothing() {
    check("nothing", &Transcript::default());
}

/// Checks each rendering against its rules and its snapshot: one folder per history, one file per format.
fn check(history: &str, transcript: &Transcript) {
    let options = RenderOptions {
        cache_key: Some("conversation-1".to_owned()),
        context_tokens_max: Some(CONTEXT_TOKENS),
        ..RenderOptions::default()
    };
    for format in Format::ALL.iter().copied() {
        let rendered = render(format, transcript, &options);
        let broken = checkers::broken(format, &options, &reading::body(&rendered.body));
        assert_eq!(broken, Vec::<String>::new(), "{history} in {format}");
        if format == Format::Canonical {
            assert_eq!(canonical::parse(&rendered.body).as_ref(), Ok(transcript));
        }
        insta::with_settings!({
            snapshot_path => format!("snapshots/{history}"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(format.as_str(), written(&rendered));
        });
    }
}

/// The body, its losses, and its replaced names.
fn written(rendered: &Rendered) -> String {
    let body = std::str::from_utf8(&rendered.body).unwrap();
    let mut written = pretty::pretty(body);
    written.push_str("\n\nlosses:\n");
    for loss in &rendered.losses {
        let (version, lost, replacement) = (loss.version, loss.lost.as_str(), loss.replacement.as_str());
        writeln!(written, "  {version}: {lost} became {replacement}").unwrap();
    }
    written.push_str("names:\n");
    for (name, recorded) in rendered.names.tools() {
        writeln!(written, "  tool {name} is {recorded:?}").unwrap();
    }
    for (id, recorded) in rendered.names.calls() {
        writeln!(written, "  call {id} is {recorded:?}").unwrap();
    }
    written
}

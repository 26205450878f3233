//! `docs/explanation/extending.md` lists every file that names all lifecycle kinds, and so changes with a new kind.

use std::fs;
use std::path::Path;

use domain::EventKind;

use super::markdown::{self, root};

const PAGE: &str = "docs/explanation/extending.md";
/// The files that a new event type touches.
const FILES: usize = 15;
const CONTENT_KINDS: [EventKind; 3] = [EventKind::MessageAppended, EventKind::ToolCalled, EventKind::ToolReturned];

/// The sources below a folder, without tests.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default();
        if path.is_dir() && name != "tests" && name != "target" {
            sources(&path, found);
        } else if extension == "rs" || extension == "proto" {
            let path = path.strip_prefix(root()).expect("a path of the repository");
            found.push(path.to_string_lossy().into_owned());
        }
    }
}

#[test]
fn files_that_name_all_kinds_are_listed() {
    let mut files = Vec::new();
    for folder in ["bench", "crates", "proto", "services"] {
        sources(&root().join(folder), &mut files);
    }
    let page = markdown::read(PAGE);
    let listed: Vec<&str> = page.code_spans().into_iter().map(|(_, span)| span).collect();
    let kinds: Vec<&str> =
        EventKind::ALL.iter().filter(|kind| !CONTENT_KINDS.contains(kind)).map(|kind| kind.name()).collect();
    let names_all = |file: &&String| {
        let text = fs::read_to_string(root().join(file)).expect("a source");
        kinds.iter().all(|kind| text.contains(kind))
    };
    let unlisted: Vec<&String> =
        files.iter().filter(names_all).filter(|file| !listed.contains(&file.as_str())).collect();
    assert_eq!(unlisted, Vec::<&String>::new(), "not listed in {PAGE}");
}

#[test]
fn an_event_type_touches_few_files() {
    let page = markdown::read(PAGE);
    let section = page.text.split("## ").find(|text| text.starts_with("An event type"));
    let table = section.expect("the section").split("| file | change |").nth(1);
    let rows = table.expect("the table").lines().filter(|line| line.starts_with("| `"));
    assert_eq!(rows.count(), FILES);
}

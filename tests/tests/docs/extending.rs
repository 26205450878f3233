//! `docs/explanation/extending.md` lists every file that names all lifecycle kinds, and so changes with a new kind, and the files of other extensions.

use std::fs;
use std::path::Path;

use domain::EventKind;

use super::markdown::{self, root};

const PAGE: &str = "docs/explanation/extending.md";
/// The sections with the number of files that they list.
const FILES: [(&str, usize); 5] = [
    ("An event type", 15),
    ("A setting of agents", 4),
    ("An HTTP endpoint", 3),
    ("A reason of errors", 2),
    ("A provider format", 4),
];
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
fn extensions_touch_few_files() {
    let page = markdown::read(PAGE);
    for (title, files) in FILES {
        let section = page.text.split("## ").find(|text| text.starts_with(title));
        let (_, table) = section.expect("the section").split_once("| file | change |").expect("the table");
        let rows =
            table.lines().skip(1).take_while(|line| line.starts_with('|')).filter(|line| line.starts_with("| `"));
        let paths: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        assert_eq!(paths.len(), files, "{title}");
        for path in paths {
            assert!(root().join(path).exists(), "{path}");
        }
    }
}

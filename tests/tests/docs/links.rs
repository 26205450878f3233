//! Relative links and their anchors have targets, and every document is reachable from the index.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::markdown::{self, Document, documents, root};

/// The document that links to every other one, directly or indirectly.
const INDEX: &str = "docs/README.md";

/// The targets of a line's links, except those to other sites.
fn targets(line: &str) -> Vec<&str> {
    let links = line.split("](").skip(1);
    let targets = links.filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).filter(|target| !target.contains("://")).collect()
}

/// The file of a target, relative to the repository's root.
fn file(document: &Document, target: &str) -> PathBuf {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() {
        return document.path.clone();
    }
    let folder = document.path.parent().unwrap_or(Path::new(""));
    let mut file = PathBuf::new();
    for component in folder.join(path).components() {
        if component == Component::ParentDir {
            file.pop();
        } else {
            file.push(component);
        }
    }
    file
}

/// The error of a target; `None` if it exists.
fn fault(document: &Document, target: &str) -> Option<String> {
    let file = file(document, target);
    if !root().join(&file).exists() {
        return Some(format!("{target}: there is no {}", file.display()));
    }
    let (_, anchor) = target.split_once('#')?;
    let anchors = markdown::read(&file).anchors();
    let is_there = anchors.iter().any(|there| there == anchor);
    (!is_there).then(|| format!("{target}: there is no such heading in {}", file.display()))
}

#[test]
fn every_link_has_a_target() {
    let mut faults = Vec::new();
    for document in documents() {
        for (line, text) in document.prose() {
            let broken = targets(text).into_iter().filter_map(|target| fault(&document, target));
            faults.extend(broken.map(|fault| format!("{}:{line}: {fault}", document.path.display())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_document_is_linked_from_the_index() {
    let mut reached = BTreeSet::from([PathBuf::from(INDEX)]);
    let mut waiting = vec![PathBuf::from(INDEX)];
    while let Some(path) = waiting.pop() {
        let document = markdown::read(path);
        let lines = document.prose();
        let linked = lines.iter().flat_map(|(_, line)| targets(line));
        for file in linked.map(|target| file(&document, target)) {
            let is_document = file.extension().is_some_and(|extension| extension == "md");
            if is_document && reached.insert(file.clone()) {
                waiting.push(file);
            }
        }
    }
    let missed: Vec<PathBuf> = documents()
        .into_iter()
        .map(|document| document.path)
        .filter(|path| path.starts_with("docs") && !reached.contains(path))
        .collect();
    assert!(missed.is_empty(), "{INDEX} leads to none of {missed:?}");
}

//! The documents and their checked parts.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_owned()
}

/// One Markdown file.
pub(crate) struct Document {
    /// Relative to the repository's root.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// README, CONTRIBUTING and every document of `docs/`.
pub(crate) fn documents() -> Vec<Document> {
    let mut paths = vec![PathBuf::from("README.md"), PathBuf::from("CONTRIBUTING.md")];
    collect(Path::new("docs"), &mut paths);
    assert!(paths.len() > 20, "{paths:?}");
    paths.into_iter().map(read).collect()
}

pub(crate) fn read(path: impl Into<PathBuf>) -> Document {
    let path = path.into();
    let text = fs::read_to_string(root().join(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Document { path, text }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    for entry in entries {
        let entry = entry.expect("an entry");
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// A fenced block of code.
pub(crate) struct Block {
    pub(crate) language: String,
    /// The line of its opening fence, from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Document {
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (line, text) in (1..).zip(self.text.lines()) {
            match (text.trim_start().strip_prefix("```"), &mut open) {
                (Some(language), None) => {
                    open = Some(Block { language: language.trim().to_owned(), line, text: String::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => writeln!(block.text, "{text}").expect("text"),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: an open fence", self.path.display());
        blocks
    }

    /// The lines outside of fenced blocks, each with its number from 1.
    pub(crate) fn prose(&self) -> Vec<(usize, &str)> {
        let mut is_code = false;
        let lines = (1..).zip(self.text.lines());
        lines
            .filter(|(_, line)| {
                let is_fence = line.trim_start().starts_with("```");
                is_code ^= is_fence;
                !is_code && !is_fence
            })
            .collect()
    }

    /// The inline code of its prose, each with the number of its line.
    pub(crate) fn code_spans(&self) -> Vec<(usize, &str)> {
        let lines = self.prose().into_iter();
        lines
            .flat_map(|(number, line)| {
                let spans = line.split('`').skip(1).step_by(2);
                spans.map(move |span| (number, span))
            })
            .collect()
    }

    /// The anchors of its headings, as on GitHub.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let headings = self.prose().into_iter().filter(|(_, line)| line.starts_with('#'));
        headings.map(|(_, line)| anchor(line.trim_start_matches('#').trim())).collect()
    }
}

fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
}

#[test]
fn blocks_prose_and_anchors_are_found() {
    let document =
        Document { path: PathBuf::from("x.md"), text: "# A `b`: C, d\n\n```sh\nhansard x\n```\nsee `y`\n".to_owned() };
    assert_eq!(document.anchors(), ["a-b-c-d"]);
    let blocks = document.blocks();
    assert_eq!((blocks.len(), blocks[0].line), (1, 3));
    assert_eq!((&*blocks[0].language, &*blocks[0].text), ("sh", "hansard x\n"));
    assert_eq!(document.code_spans(), [(1, "b"), (6, "y")]);
}

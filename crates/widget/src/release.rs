//! The files of this build.

use std::io::Write as _;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use sha2::{Digest as _, Sha256, Sha384};

use crate::LOADER;
use crate::bundle::{Module, bundle};

/// Maximum size of the loader, compressed: a page loads it at once.
pub const LOADER_GZIP_BYTES_MAX: usize = 5_000;
/// Maximum size of all files, compressed.
pub const RELEASE_GZIP_BYTES_MAX: usize = 30_000;

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
/// Hexadecimal digits of the folder's name.
const FOLDER_DIGITS: usize = 16;
/// The line of the loader that names the other files.
const FILES: &str = "const FILES = { script: ['app.js'], style: ['chat.css'] };";

const LOADER_SOURCE: &str = include_str!("../assets/hansard-chat.js");
const STYLE: &str = include_str!("../assets/chat.css");

macro_rules! modules {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../assets/", $name)))),*]
    };
}

/// The modules of the chat: each after those that it imports.
const MODULES: [Module; 23] = modules![
    "inline.js",
    "markdown.js",
    "dom.js",
    "prose.js",
    "message.js",
    "tool-call.js",
    "bubble.js",
    "log.js",
    "store.js",
    "api.js",
    "events.js",
    "answer.js",
    "watch.js",
    "chat.js",
    "calls.js",
    "attachments.js",
    "composer.js",
    "history.js",
    "problems.js",
    "panel.js",
    "texts.js",
    "texts-de.js",
    "app.js",
];

/// A file of the widget.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    /// Its path below [`crate::ROOT`], without a slash before it.
    pub path: String,
    /// Its media type.
    pub content_type: &'static str,
    /// Its content.
    pub body: String,
    /// Its content, compressed by gzip.
    pub gzip: Vec<u8>,
    /// Its integrity for browsers: `sha384-…`. Source: <https://www.w3.org/TR/sri-2/>.
    pub integrity: String,
}

/// The files of a build.
#[derive(Debug, PartialEq, Eq)]
pub struct Release {
    /// The file that pages load; its path never changes.
    pub loader: File,
    /// The other files, in a folder that is named by their content.
    pub others: Vec<File>,
}

/// The files of this build, made once.
#[must_use]
pub fn release() -> &'static Release {
    static RELEASE: LazyLock<Release> = LazyLock::new(Release::new);
    &RELEASE
}

impl Release {
    fn new() -> Self {
        let script = bundle(&MODULES, "mount");
        let folder = folder(&[&script, STYLE]);
        let script = File::new(format!("{folder}/chat.js"), JAVASCRIPT, script);
        let style = File::new(format!("{folder}/chat.css"), CSS, STYLE.to_owned());
        let named = |file: &File| json!([file.path, file.integrity]);
        let files = json!({"script": named(&script), "style": named(&style)});
        let loader = LOADER_SOURCE.replace(FILES, &format!("const FILES = {files};"));
        Self { loader: File::new(LOADER.to_owned(), JAVASCRIPT, loader), others: vec![script, style] }
    }

    /// The file with this path below [`crate::ROOT`], other than the loader.
    #[must_use]
    pub fn other(&self, path: &str) -> Option<&File> {
        self.others.iter().find(|file| file.path == path)
    }
}

impl File {
    fn new(path: String, content_type: &'static str, body: String) -> Self {
        Self {
            path,
            content_type,
            gzip: compressed(body.as_bytes()),
            integrity: format!("sha384-{}", BASE64_STANDARD.encode(Sha384::digest(&body))),
            body,
        }
    }
}

/// A name that is another one for other contents.
fn folder(contents: &[&str]) -> String {
    let mut hash = Sha256::new();
    for content in contents {
        hash.update(content);
    }
    let mut digits = hex::encode(hash.finalize());
    digits.truncate(FOLDER_DIGITS);
    digits
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail; an empty body would fail its tests.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Read as _;

    use super::*;
    use crate::bundle::code_lines;

    #[test]
    fn the_loader_and_all_files_are_small() {
        let release = release();
        let loader = release.loader.gzip.len();
        let all = loader + release.others.iter().map(|file| file.gzip.len()).sum::<usize>();
        assert!(loader < LOADER_GZIP_BYTES_MAX, "loader: {loader} bytes");
        assert!(all < RELEASE_GZIP_BYTES_MAX, "all files: {all} bytes");
    }

    #[test]
    fn compressed_files_have_their_content() {
        let release = release();
        for file in release.others.iter().chain([&release.loader]) {
            let mut text = String::new();
            let mut decoder = flate2::read::GzDecoder::new(file.gzip.as_slice());
            decoder.read_to_string(&mut text).unwrap();
            assert_eq!(text, file.body, "{}", file.path);
        }
    }

    #[test]
    fn the_loader_names_the_other_files() {
        let release = release();
        for file in &release.others {
            let named = json!([file.path, file.integrity]).to_string();
            assert!(release.loader.body.contains(&named), "{}", file.path);
            assert_eq!(release.other(&file.path), Some(file));
        }
        assert_eq!(release.other(LOADER), None);
    }

    #[test]
    fn modules_keep_the_rules_of_the_bundle() {
        let mut earlier = BTreeSet::new();
        for (name, source) in MODULES {
            for line in code_lines(source) {
                let is_import = line.starts_with("import ");
                let from = line.split_once(" from './").map(|(_, from)| from.trim_end_matches("';"));
                assert!(!is_import || from.is_some_and(|from| earlier.contains(from)), "{name}: {line}");
                assert_eq!(line.matches('`').count() % 2, 0, "{name}: a text over lines: {line}");
                assert!(!line.starts_with("export {") && !line.starts_with("export default"), "{name}: {line}");
            }
            earlier.insert(name);
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/assets")).unwrap();
        let scripts: BTreeSet<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.split('.').next_back() == Some("js") && name != LOADER)
            .collect();
        assert_eq!(scripts, earlier.into_iter().map(str::to_owned).collect());
    }

    /// What would let a text of somebody else become markup, code or a style, or would need a weaker policy of the page.
    const FORBIDDEN: [&str; 11] = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "createContextualFragment",
        "setHTML",
        "eval(",
        "new Function",
        "style=",
        ".style.",
    ];

    #[test]
    fn sources_parse_no_html_and_need_no_inline_style() {
        for (name, source) in MODULES.iter().chain([&(LOADER, LOADER_SOURCE)]) {
            for word in FORBIDDEN {
                assert!(!source.contains(word), "{name} contains {word}");
            }
        }
    }
}

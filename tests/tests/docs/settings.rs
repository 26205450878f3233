//! TOML in documents is valid as settings of a role.

use std::fs;

use gateway::GatewayConfig;
use runtime::config::{Sources, load};
use writer::WriterConfig;

use super::markdown::documents;

#[test]
fn settings_in_documents_are_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.toml");
    let (mut checked, mut faults) = (0, Vec::new());
    for document in documents() {
        let blocks = document.blocks();
        for block in blocks.iter().filter(|block| block.language == "toml") {
            checked += 1;
            fs::write(&file, &block.text).expect("a file");
            let sources = Sources::new().file(Some(file.clone()));
            let writer = load::<WriterConfig>(&sources);
            if let (Err(_), Err(error)) = (writer, load::<GatewayConfig>(&sources)) {
                let place = format!("{}:{}", document.path.display(), block.line);
                faults.push(format!("{place}: {error}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 2, "{checked}");
}

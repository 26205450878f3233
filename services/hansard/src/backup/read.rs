//! Reading a backup: all files are verified before any is used.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use ring::digest;

use super::{ArchivedStream, Manifest};

/// The size of the chunks in which a file is read.
const PIECE_BYTES: usize = 128 * 1024;

/// Returns the manifest after it has checked size and SHA-256 of every file.
pub(crate) fn verified(folder: &Path) -> anyhow::Result<Manifest> {
    let manifest = Manifest::read(folder)?;
    ensure!(!manifest.streams.is_empty(), "the backup has no streams");
    for archived in &manifest.streams {
        let file = &archived.file;
        // A manifest must not name files outside its folder.
        let name = Path::new(file).file_name();
        ensure!(
            name.is_some_and(|name| name == file.as_str()),
            "the manifest names {file}, which is not in the backup's folder"
        );
        let mut sum = digest::Context::new(&digest::SHA256);
        let mut size_bytes = 0_u64;
        for piece in pieces(folder, archived).with_context(|| format!("cannot read {file}"))? {
            let piece = piece.with_context(|| format!("cannot read {file}"))?;
            sum.update(&piece);
            size_bytes = size_bytes.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        }
        ensure!(
            size_bytes == archived.size_bytes && hex::encode(sum.finish()) == archived.sha256,
            "{file} differs from the manifest in size or SHA-256: the backup is damaged"
        );
    }
    Ok(manifest)
}

/// The chunks of a stream's file, in order.
pub(crate) fn pieces(
    folder: &Path,
    archived: &ArchivedStream,
) -> io::Result<impl Iterator<Item = io::Result<Bytes>> + use<>> {
    let mut file = File::open(folder.join(&archived.file))?;
    Ok(std::iter::from_fn(move || {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let bytes_max = u64::try_from(PIECE_BYTES).unwrap_or(u64::MAX);
        match file.by_ref().take(bytes_max).read_to_end(&mut piece) {
            Ok(0) => None,
            Ok(_) => Some(Ok(piece.into())),
            Err(error) => Some(Err(error)),
        }
    }))
}

#[cfg(test)]
mod tests {
    use event_log::StreamDescription;
    use serde_json::Value;

    use super::*;

    const CONTENT: &[u8] = b"an archive";

    fn manifest() -> Manifest {
        let mut manifest = Manifest::new("00".to_owned(), 1, String::new(), Vec::new());
        manifest.streams.push(ArchivedStream {
            name: "S".to_owned(),
            file: "S.archive".to_owned(),
            size_bytes: 10,
            sha256: hex::encode(digest::digest(&digest::SHA256, CONTENT)),
            messages: 1,
            last_sequence: 1,
            description: StreamDescription { config: Value::Null, state: Value::Null },
        });
        manifest
    }

    fn check(content: &[u8], change: impl FnOnce(&mut Manifest), expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("S.archive"), content).unwrap();
        let mut manifest = manifest();
        change(&mut manifest);
        manifest.write(folder.path()).unwrap();
        let problem = verified(folder.path()).err().map(|error| error.to_string());
        assert_eq!(problem.is_some(), expected.is_some(), "{problem:?}");
        let named = problem.unwrap_or_default();
        assert!(named.contains(expected.unwrap_or_default()), "{named}");
    }

    #[test]
    fn a_backup_with_a_changed_file_is_rejected() {
        check(CONTENT, |_| (), None);
        let differs = Some("S.archive differs from the manifest");
        check(b"an archivE", |_| (), differs);
        check(b"an archive.", |_| (), differs);
        check(CONTENT, |manifest| manifest.streams.clear(), Some("no streams"));
        check(CONTENT, |manifest| manifest.form.clear(), Some("has the format \"\""));
        check(
            CONTENT,
            |manifest| manifest.streams[0].file = "../S.archive".to_owned(),
            Some("not in the backup's folder"),
        );
        check(CONTENT, |manifest| manifest.streams[0].file = "T.archive".to_owned(), Some("cannot read T.archive"));
        assert!(verified(Path::new("/no/such/folder")).is_err());
    }
}

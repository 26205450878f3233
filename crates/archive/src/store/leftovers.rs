//! What interrupted writes leave: temporary files in a folder, unfinished uploads in a bucket.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::{Error, Result, path};

#[cfg(feature = "s3")]
use super::uploads::Uploads;

/// Where the leftovers of a store are.
#[derive(Debug, Clone)]
pub(super) enum Leftovers {
    Folder(Arc<LocalFileSystem>),
    #[cfg(feature = "s3")]
    Bucket(Arc<Uploads>),
}

impl Leftovers {
    /// Removes the leftovers of an object.
    pub(super) async fn remove(&self, object: &path::Path) -> Result<()> {
        match self {
            Self::Folder(files) => on_disk(files, object, remove_temporary_files).await,
            #[cfg(feature = "s3")]
            Self::Bucket(uploads) => uploads.abort(object).await,
        }
    }

    /// Makes the removal of an object durable.
    pub(super) async fn sync(&self, object: &path::Path) -> Result<()> {
        match self {
            Self::Folder(files) => on_disk(files, object, sync_folder).await,
            #[cfg(feature = "s3")]
            Self::Bucket(_) => Ok(()),
        }
    }
}

/// Does this with the file of an object.
async fn on_disk(files: &LocalFileSystem, object: &path::Path, operation: fn(&Path) -> io::Result<()>) -> Result<()> {
    let file = files.path_to_filesystem(object)?;
    let done =
        tokio::task::spawn_blocking(move || operation(&file)).await.map_err(io::Error::other).and_then(|done| done);
    done.map_err(|source| Error::Generic { store: "folder", source: source.into() })
}

/// Removes the temporary files of an object. `object_store` writes to the object's name, `#` and a number first.
fn remove_temporary_files(file: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name().map(OsStr::to_string_lossy)) else {
        return Ok(());
    };
    let prefix = format!("{name}#");
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files?,
    };
    for found in files {
        let found = found?;
        if found.file_name().to_string_lossy().starts_with(&prefix) {
            match fs::remove_file(found.path()) {
                // Its writer or another process removed it first.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

fn sync_folder(file: &Path) -> io::Result<()> {
    let Some(folder) = file.parent() else {
        return Ok(());
    };
    match File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        folder => folder?.sync_all(),
    }
}

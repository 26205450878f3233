//! Where objects lie: a folder, or a bucket of S3. Thin: names and bytes.

mod leftovers;
mod url;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use thiserror::Error;

use leftovers::remove_leftovers;
use url::Place;
pub use url::StoreUrl;

/// What a store did not do.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The URL names no store.
    #[error("{url}: {problem}")]
    Url {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The store has no such object.
    #[error("there is no object {object} in {store}")]
    Missing {
        /// The store's URL.
        store: String,
        /// The object.
        object: String,
    },
    /// The store does not answer, or refuses.
    #[error("the store {store} did not {what} {object}")]
    Failed {
        /// The store's URL.
        store: String,
        /// What it was asked for.
        what: &'static str,
        /// The object.
        object: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// An open store. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    url: StoreUrl,
    objects: Arc<dyn ObjectStore>,
    folder: Option<Arc<LocalFileSystem>>,
    prefix: Path,
}

impl Store {
    /// Opens a store; a folder must be there. Nothing is asked of S3 yet.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(url: &StoreUrl) -> Result<Self, StoreError> {
        match &url.0 {
            Place::Folder(folder) => {
                let opened = LocalFileSystem::new_with_prefix(folder);
                let files = opened.map_err(|source| failed(url, "open", "its folder", source))?;
                // Nothing counts as written before the disk has it.
                let files = Arc::new(files.with_fsync(true));
                Ok(Self {
                    url: url.clone(),
                    objects: Arc::<LocalFileSystem>::clone(&files),
                    folder: Some(files),
                    prefix: Path::default(),
                })
            }
            Place::Bucket { bucket, prefix } => Ok(Self {
                url: url.clone(),
                objects: open_bucket(url, bucket)?,
                folder: None,
                prefix: Path::from(prefix.as_str()),
            }),
        }
    }

    /// Opens a store to write into: a folder is made unless it is there.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn create(url: &StoreUrl) -> Result<Self, StoreError> {
        if let Place::Folder(folder) = &url.0 {
            let made = std::fs::create_dir_all(folder);
            made.map_err(|source| failed(url, "make", "its folder", source))?;
        }
        Self::open(url)
    }

    /// How it is named.
    #[must_use]
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// Writes an object; once this returns, it outlives a loss of power.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: it may be there, in part or whole.
    pub async fn put(&self, object: &str, bytes: Bytes) -> Result<(), StoreError> {
        let put = self.objects.put(&self.path(object), bytes.into()).await;
        put.map(drop)
            .map_err(|error| self.told("write", object, error))
    }

    /// How many bytes an object has.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn size(&self, object: &str) -> Result<u64, StoreError> {
        let found = self.objects.head(&self.path(object)).await;
        found
            .map(|found| found.size)
            .map_err(|error| self.told("show", object, error))
    }

    /// Reads some bytes of an object.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn read(&self, object: &str, place: Range<u64>) -> Result<Bytes, StoreError> {
        let read = self.objects.get_range(&self.path(object), place).await;
        read.map_err(|error| self.told("read", object, error))
    }

    /// Reads all of an object.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn read_all(&self, object: &str) -> Result<Bytes, StoreError> {
        let read = async { self.objects.get(&self.path(object)).await?.bytes().await };
        read.await.map_err(|error| self.told("read", object, error))
    }

    /// Removes an object, and what a write of it that was cut short has left. One that is not there is gone.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub async fn remove(&self, object: &str) -> Result<(), StoreError> {
        match self.objects.delete(&self.path(object)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(self.told("remove", object, error)),
        }
        let Some(files) = &self.folder else {
            return Ok(());
        };
        let file = files.path_to_filesystem(&self.path(object));
        let file = file.map_err(|error| self.told("remove", object, error))?;
        let removed = tokio::task::spawn_blocking(move || remove_leftovers(&file)).await;
        let removed = removed.map_err(std::io::Error::other).and_then(|done| done);
        removed.map_err(|source| failed(&self.url, "remove", object, source))
    }

    /// The objects whose names begin with a folder's name, by name.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub async fn list(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let found: Result<Vec<_>, _> = self
            .objects
            .list(Some(&self.path(folder)))
            .try_collect()
            .await;
        let found = found.map_err(|error| self.told("list", folder, error))?;
        let skip = match self.prefix.as_ref() {
            "" => 0,
            prefix => prefix.len() + 1,
        };
        let names = found
            .iter()
            .filter_map(|one| one.location.as_ref().get(skip..));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn path(&self, object: &str) -> Path {
        self.prefix
            .parts()
            .chain(Path::from(object).parts())
            .collect()
    }

    fn told(&self, what: &'static str, object: &str, error: object_store::Error) -> StoreError {
        if matches!(error, object_store::Error::NotFound { .. }) {
            return StoreError::Missing {
                store: self.url.to_string(),
                object: object.to_owned(),
            };
        }
        failed(&self.url, what, object, error)
    }
}

fn failed(
    url: &StoreUrl,
    what: &'static str,
    object: &str,
    source: impl std::error::Error + Send + Sync + 'static,
) -> StoreError {
    StoreError::Failed {
        store: url.to_string(),
        what,
        object: object.to_owned(),
        source: Box::new(source),
    }
}

/// Keys, region and endpoint come from the environment, as S3's own tools read them.
#[cfg(feature = "s3")]
fn open_bucket(url: &StoreUrl, bucket: &str) -> Result<Arc<dyn ObjectStore>, StoreError> {
    // Another part of the program may have chosen the same before.
    let _chosen = rustls::crypto::ring::default_provider().install_default();
    let builder = object_store::aws::AmazonS3Builder::from_env().with_bucket_name(bucket);
    let opened = builder.build();
    Ok(Arc::new(opened.map_err(|source| {
        failed(url, "open", "its bucket", source)
    })?))
}

#[cfg(not(feature = "s3"))]
fn open_bucket(url: &StoreUrl, _bucket: &str) -> Result<Arc<dyn ObjectStore>, StoreError> {
    Err(StoreError::Url {
        url: url.to_string(),
        problem: "this program was built without S3: build it with --features s3",
    })
}

#[cfg(test)]
mod tests;

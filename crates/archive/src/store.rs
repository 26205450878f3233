//! Object stores: a folder or an S3 bucket.

#[cfg(feature = "s3")]
mod bucket;
mod leftovers;
mod parts;
mod s3_settings;
#[cfg(feature = "s3")]
mod uploads;
mod url;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use thiserror::Error;

#[cfg(feature = "s3")]
use bucket::open as open_bucket;
use leftovers::Leftovers;
pub use parts::PART_BYTES;
use parts::put_parts;
pub use s3_settings::{Retries, S3Settings};
use url::Location;
pub use url::StoreUrl;

/// Errors of a store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The URL is invalid.
    #[error("{url}: {problem}")]
    Url {
        /// The URL.
        url: String,
        /// The problem and its remedy.
        problem: &'static str,
    },
    /// A setting of S3 is invalid.
    #[error("{name} {problem}")]
    Setting {
        /// The name of its variable.
        name: &'static str,
        /// The problem and its remedy.
        problem: &'static str,
    },
    /// The store has no such object.
    #[error("the store {store} has no object {object}")]
    Missing {
        /// The store's URL.
        store: String,
        /// The object.
        object: String,
    },
    /// The store does not answer or rejects the request.
    #[error("the store {store} could not {what} {object}")]
    Failed {
        /// The store's URL.
        store: String,
        /// The operation.
        what: &'static str,
        /// The object.
        object: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// An open store. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    url: StoreUrl,
    objects: Arc<dyn ObjectStore>,
    leftovers: Leftovers,
    prefix: Path,
}

impl Store {
    /// Opens a store. A folder must exist; S3 is not contacted yet. The settings of S3 are those of the environment.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(url: &StoreUrl) -> Result<Self, StoreError> {
        Self::open_with(url, &S3Settings::of_environment())
    }

    /// Like [`Store::open`], with other settings of S3.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open_with(url: &StoreUrl, settings: &S3Settings) -> Result<Self, StoreError> {
        match &url.0 {
            Location::Folder(folder) => {
                let opened = LocalFileSystem::new_with_prefix(folder);
                let files = opened.map_err(|source| failed(url, "open", "its folder", source))?;
                // A write returns only after it is on disk.
                let files = Arc::new(files.with_fsync(true));
                Ok(Self {
                    url: url.clone(),
                    objects: Arc::<LocalFileSystem>::clone(&files),
                    leftovers: Leftovers::Folder(files),
                    prefix: Path::default(),
                })
            }
            Location::Bucket { bucket, prefix } => {
                let (objects, leftovers) = open_bucket(url, bucket, settings)?;
                Ok(Self { url: url.clone(), objects, leftovers, prefix: Path::from(prefix.as_str()) })
            }
        }
    }

    /// Opens a store for writing; creates a missing folder.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn create(url: &StoreUrl) -> Result<Self, StoreError> {
        if let Location::Folder(folder) = &url.0 {
            std::fs::create_dir_all(folder).map_err(|source| failed(url, "create", "its folder", source))?;
        }
        Self::open(url)
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    /// Writes an object durably; in a bucket, more than [`PART_BYTES`] are uploaded in parts.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: the object may exist, in a folder also in part.
    pub async fn put(&self, object: &str, bytes: Bytes) -> Result<(), StoreError> {
        let path = self.path(object);
        let put = if bytes.len() > PART_BYTES && !matches!(self.leftovers, Leftovers::Folder(_)) {
            put_parts(self.objects.as_ref(), &path, bytes).await
        } else {
            self.objects.put(&path, bytes.into()).await.map(drop)
        };
        put.map_err(|error| failed(&self.url, "write", object, error))
    }

    /// The size of an object in bytes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn size(&self, object: &str) -> Result<u64, StoreError> {
        let found = self.objects.head(&self.path(object)).await.map_err(|error| self.failure("find", object, error))?;
        Ok(found.size)
    }

    /// Whether an object exists.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn exists(&self, object: &str) -> Result<bool, StoreError> {
        match self.size(object).await {
            Ok(_) => Ok(true),
            Err(StoreError::Missing { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads a byte range of an object.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn read(&self, object: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.objects.get_range(&self.path(object), range).await.map_err(|error| self.failure("read", object, error))
    }

    /// Reads all of an object.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn read_all(&self, object: &str) -> Result<Bytes, StoreError> {
        let read = async { self.objects.get(&self.path(object)).await?.bytes().await };
        read.await.map_err(|error| self.failure("read", object, error))
    }

    /// Removes an object and what interrupted writes of it left; succeeds if there is none.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub async fn remove(&self, object: &str) -> Result<(), StoreError> {
        let path = self.path(object);
        let removed = async {
            // First, since an upload that is finished meanwhile becomes an object.
            self.leftovers.remove(&path).await?;
            match self.objects.delete(&path).await {
                Err(object_store::Error::NotFound { .. }) => {}
                deleted => deleted?,
            }
            self.leftovers.sync(&path).await
        };
        removed.await.map_err(|error| failed(&self.url, "remove", object, error))
    }

    /// The names of all objects in a folder, sorted.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub async fn list(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let found: Result<Vec<_>, _> = self.objects.list(Some(&self.path(folder))).try_collect().await;
        let found = found.map_err(|error| self.failure("list", folder, error))?;
        let skip = match self.prefix.as_ref() {
            "" => 0,
            prefix => prefix.len() + 1,
        };
        let mut names: Vec<String> =
            found.iter().filter_map(|one| one.location.as_ref().get(skip..)).map(str::to_owned).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn path(&self, object: &str) -> Path {
        self.prefix.parts().chain(Path::from(object).parts()).collect()
    }

    fn failure(&self, what: &'static str, object: &str, error: object_store::Error) -> StoreError {
        if matches!(error, object_store::Error::NotFound { .. }) {
            return StoreError::Missing { store: self.url.to_string(), object: object.to_owned() };
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
    StoreError::Failed { store: url.to_string(), what, object: object.to_owned(), source: Box::new(source) }
}

#[cfg(not(feature = "s3"))]
fn open_bucket(
    url: &StoreUrl,
    _bucket: &str,
    _settings: &S3Settings,
) -> Result<(Arc<dyn ObjectStore>, Leftovers), StoreError> {
    Err(StoreError::Url {
        url: url.to_string(),
        problem: "this program has no support for S3: build it with --features s3",
    })
}

#[cfg(test)]
mod tests;

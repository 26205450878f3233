//! How stores are named.

use std::fmt;
use std::path::PathBuf;

use super::StoreError;

/// A store as it is named: `file:///folder`, or `s3://bucket/prefix` in programs that are built with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreUrl(pub(super) Place);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Folder(PathBuf),
    Bucket { bucket: String, prefix: String },
}

impl StoreUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// [`StoreError::Url`].
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let wrong = |problem| StoreError::Url {
            url: url.to_owned(),
            problem,
        };
        if let Some(path) = url.strip_prefix("file://") {
            let folder = PathBuf::from(path);
            let is_good = folder.is_absolute() && !path.contains(['?', '#', '%']);
            let problem = "a folder is named by its whole path: file:///srv/archive";
            return is_good
                .then_some(Self(Place::Folder(folder)))
                .ok_or_else(|| wrong(problem));
        }
        let Some(path) = url.strip_prefix("s3://") else {
            return Err(wrong("begins neither with file:// nor with s3://"));
        };
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if bucket.is_empty() || bucket.contains(['?', '#', '@', ':']) {
            return Err(wrong("names no bucket: s3://bucket/prefix"));
        }
        Ok(Self(Place::Bucket {
            bucket: bucket.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
        }))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Folder(folder) => write!(f, "file://{}", folder.display()),
            Place::Bucket { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Place::Bucket { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

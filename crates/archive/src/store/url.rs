//! URLs of stores.

use std::fmt;
use std::path::PathBuf;

use super::StoreError;

/// The URL of a store: `file:///folder`, or `s3://bucket/prefix` in builds with S3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreUrl(pub(super) Location);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    Folder(PathBuf),
    Bucket { bucket: String, prefix: String },
}

impl StoreUrl {
    /// Parses the setting `archive_url`; empty: the segments are where the catalogue says.
    ///
    /// # Errors
    /// [`StoreError::Url`].
    pub fn parse_moved(url: &str) -> Result<Option<Self>, StoreError> {
        let url = Some(url).filter(|url| !url.is_empty());
        url.map(Self::parse).transpose()
    }

    /// Parses a URL.
    ///
    /// # Errors
    /// [`StoreError::Url`].
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let invalid = |problem| StoreError::Url { url: url.to_owned(), problem };
        if let Some(path) = url.strip_prefix("file://") {
            let folder = PathBuf::from(path);
            let is_valid = folder.is_absolute() && !path.contains(['?', '#', '%']);
            let problem = "must be an absolute path, such as file:///srv/archive";
            return is_valid.then_some(Self(Location::Folder(folder))).ok_or_else(|| invalid(problem));
        }
        let Some(path) = url.strip_prefix("s3://") else {
            return Err(invalid("must start with file:// or s3://"));
        };
        let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
        if bucket.is_empty() || bucket.contains(['?', '#', '@', ':']) {
            return Err(invalid("has no valid bucket: give s3://bucket/prefix"));
        }
        Ok(Self(Location::Bucket { bucket: bucket.to_owned(), prefix: prefix.trim_matches('/').to_owned() }))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Location::Folder(folder) => write!(f, "file://{}", folder.display()),
            Location::Bucket { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Location::Bucket { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

//! A data set of real conversations.

use std::path::PathBuf;

use crate::environment;
use crate::error::StackError;
use crate::fetch::{self, Package};
use crate::step::Progress;

const CHITCHAT: Package = Package {
    name: "chitchat-dataset-0.9.0",
    requirements: include_str!("../requirements/chitchat.txt"),
    what: "the data set chitchat-dataset",
    alternatives: "",
};

/// The file of the chitchat data set (MIT licence): 7,168 conversations between people, 258,145 messages
/// with times, 40 MB of JSON. Fetched once into the cache.
///
/// # Errors
/// [`StackError::Missing`]: it is not in the cache and cannot be fetched. [`StackError::Storage`],
/// [`StackError::NoHome`]: the cache cannot be used.
pub async fn chitchat(progress: Progress<'_>) -> Result<PathBuf, StackError> {
    let cache = environment::cache_folder()?;
    let folder = fetch::fetch(&CHITCHAT, &cache, progress).await?;
    Ok(folder.join("chitchat_dataset/dataset.json"))
}

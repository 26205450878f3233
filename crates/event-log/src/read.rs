//! Reads of commits: the last ones of a conversation, one by its position or id, all of a partition in order, and those that arrive.

pub(crate) mod feed;
pub(crate) mod find;
pub(crate) mod follow;
pub(crate) mod last;
pub(crate) mod last_commits;
pub(crate) mod live;
pub(crate) mod locate;
pub(crate) mod prefix;
pub(crate) mod replay;
pub(crate) mod seek;
pub(crate) mod tail;

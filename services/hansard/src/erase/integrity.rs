//! Checks that a conversation is complete before it is copied and erased.

use anyhow::{Context as _, anyhow, bail};
use archive::Archive;
use domain::audit::faults;
use domain::{ConversationKey, Head, Sequence, Version};
use event_log::TailBounds;

/// Audits a conversation's own commits up to a version: versions, hash chain and heads.
pub(super) async fn check_integrity(archive: &Archive, key: &ConversationKey, last: Version) -> anyhow::Result<()> {
    let mut commits = archive.commits(key, Sequence(0)).await?;
    let mut before: Option<(Head, Sequence)> = None;
    while let Some(page) = commits.next(TailBounds::default()).await? {
        for message in page {
            let opened = message.open().with_context(|| incomplete(key))?.opened;
            let previous = before.as_ref().map(|(head, at)| (head, *at));
            if let Some(fault) = faults(previous, &opened.commit, &opened.body).first() {
                let version = opened.commit.first_version;
                let fault = anyhow!("commit at version {version}: {fault}");
                return Err(fault.context(incomplete(key)));
            }
            if opened.commit.head.version >= last {
                return Ok(());
            }
            before = Some((opened.commit.head, message.position.sequence));
        }
    }
    bail!(incomplete(key))
}

/// The error for an incomplete conversation.
pub(super) fn incomplete(key: &ConversationKey) -> String {
    let id = &key.conversation;
    format!(
        "the conversation {id} is incomplete, so none of its forks was erased: wait until no archive run is active, then run the \
         same command again; if the error remains, run `hansard verify`"
    )
}

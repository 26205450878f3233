//! Whether what is about to be copied, and then erased, is all there.

use anyhow::{Context as _, anyhow, bail};
use archive::Archive;
use domain::audit::faults;
use domain::{ConversationKey, Head, Sequence, Version};
use event_log::TailBounds;

/// Checks a conversation's own commits up to a version, each against the one before it: versions, chain and heads.
///
/// # Errors
/// One is not whole or missing, or the record or the archive does not answer.
pub(super) async fn check_whole(
    archive: &Archive,
    key: &ConversationKey,
    last: Version,
) -> anyhow::Result<()> {
    let mut commits = archive.commits(key, Sequence(0)).await?;
    let mut before: Option<(Head, Sequence)> = None;
    while let Some(page) = commits.next(TailBounds::default()).await? {
        for message in page {
            let opened = message.open().with_context(|| cut_short(key))?.opened;
            let previous = before.as_ref().map(|(head, at)| (head, *at));
            let fault = faults(previous, &opened.commit, &opened.body).into_iter();
            if let Some(fault) = fault.map(|fault| fault.to_string()).next() {
                let version = opened.commit.first_version;
                return Err(
                    anyhow!("of the commit at version {version}: {fault}").context(cut_short(key))
                );
            }
            if opened.commit.head.version >= last {
                return Ok(());
            }
            before = Some((opened.commit.head, message.position.sequence));
        }
    }
    bail!(cut_short(key))
}

/// What is said of a conversation that is not all there.
pub(super) fn cut_short(key: &ConversationKey) -> String {
    let id = &key.conversation;
    format!(
        "conversation {id} cannot be read whole, so nothing that goes on from it was erased: wait for any archive run to end \
         and run this again; if it says the same, `hansard verify` tells what is missing"
    )
}

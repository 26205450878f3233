//! Reads segments of a store without their record.

use domain::ConversationKey;
use event_log::ArchivedSegment;
use uuid::Uuid;

use crate::object::Object;
use crate::seal::describe_index;
use crate::{ArchiveError, Reader, Store};

/// Suffix of segment objects.
const SUFFIX: &str = ".segment";

/// A conversation's archived commits, in order, from all segments of a store; needs nothing else. If a store has segments of
/// several records, conversations with the same key are read as one.
///
/// # Errors
/// [`ArchiveError`].
pub async fn read_store(store: &Store, key: &ConversationKey) -> Result<Reader, ArchiveError> {
    let mut objects = Vec::new();
    for name in store.list("").await? {
        // Objects with other names are not segments.
        let Some(segment) = segment_of(&name) else {
            continue;
        };
        let object = Object::unknown(store.clone(), segment, name);
        let (index, size_bytes) = object.unchecked_index().await?;
        if index.conversation(key).is_none() {
            continue;
        }
        let sealed = ArchivedSegment { object: object.sealed.object, ..describe_index(&index, size_bytes) };
        objects.push(Object { sealed, ..object });
    }
    Ok(Reader::over(objects, domain::Sequence(0)).only(key.clone()))
}

fn segment_of(name: &str) -> Option<Uuid> {
    let file = name.rsplit('/').next()?.strip_suffix(SUFFIX)?;
    Uuid::parse_str(file.split('.').next()?).ok()
}

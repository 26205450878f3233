//! The layout in the memory of a process.
//!
//! Every process reads the entry on the server once a second, and does not use a layout that it read more than ten seconds ago where
//! that matters. So a process is at most one stage behind: the stages of a growth are [`STAGE_TIME_MIN`] apart.

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use domain::Layout;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::connection::Connection;
use crate::error::Unavailable;
use crate::topology::StoredLayout;

/// Interval of reads of the entry.
const READ_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum age of a layout that decides where a conversation is created, or that it does not exist.
const AGE_MAX: Duration = Duration::from_secs(10);
/// Minimum time between two stages: the age of a layout, a call of the longest request timeout (60 s) that was decided by it, and 50 s
/// for its publishes to arrive.
pub const STAGE_TIME_MIN: Duration = Duration::from_mins(2);

/// The layout that this process knows.
#[derive(Debug)]
pub(crate) struct KnownLayout {
    connection: Arc<Connection>,
    /// The number of partitions at the creation of the record.
    first: u16,
    timeout: Duration,
    known: RwLock<ReadLayout>,
    /// Only one call reads the entry at a time.
    reading: Mutex<()>,
}

#[derive(Debug)]
struct ReadLayout {
    stored: StoredLayout,
    /// When the read of it began.
    read_at: Instant,
}

impl KnownLayout {
    /// A layout that was just read, and is read again once a second until it is dropped.
    pub(crate) fn new(
        connection: &Arc<Connection>,
        stored: StoredLayout,
        read_at: Instant,
        first: u16,
        timeout: Duration,
    ) -> Arc<Self> {
        let known = Arc::new(Self {
            connection: Arc::clone(connection),
            first,
            timeout,
            known: RwLock::new(ReadLayout { stored, read_at }),
            reading: Mutex::default(),
        });
        tokio::spawn(keep(Arc::downgrade(&known)));
        known
    }

    pub(crate) fn get(&self) -> StoredLayout {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.stored.clone()
    }

    /// The layout; read again if it is too old.
    pub(crate) async fn recent(&self) -> Result<Arc<Layout>, Unavailable> {
        if !self.is_recent() {
            let _reading = self.reading.lock().await;
            if !self.is_recent() {
                self.read().await?;
            }
        }
        Ok(self.get().layout)
    }

    /// Reads the layout from the leader.
    pub(crate) async fn read(&self) -> Result<StoredLayout, Unavailable> {
        let read_at = Instant::now();
        let deadline = read_at + self.timeout;
        let stored = StoredLayout::read(&self.connection, self.first, deadline).await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if stored.revision >= known.stored.revision && read_at >= known.read_at {
            *known = ReadLayout { stored, read_at };
        }
        Ok(known.stored.clone())
    }

    fn is_recent(&self) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.read_at.elapsed() < AGE_MAX
    }
}

async fn keep(layout: Weak<KnownLayout>) {
    loop {
        sleep(READ_INTERVAL).await;
        let Some(layout) = layout.upgrade() else {
            return;
        };
        // A failure makes the layout older; calls then read it themselves.
        let _ = layout.read().await;
    }
}

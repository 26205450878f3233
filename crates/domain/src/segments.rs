//! The effective history of a conversation: an ordered list of segments.
//!
//! A fork inherits events of other conversations up to a version. A rewind hides the events between the version that it
//! returns to and itself. Both result in ranges of versions, each recorded in one conversation. Versions are unique and
//! ascending over all segments, so a version alone identifies an event.

use crate::event::{Annotation, Fact, RecordedEvent};
use crate::position::Version;

/// The maximum version: the end of the segment to which a conversation still appends.
pub const LAST_VERSION: Version = Version(u64::MAX);

/// A range of versions that one conversation of a lineage recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The conversation in the lineage: 0 is the conversation itself, 1 its parent, 2 its grandparent.
    pub ancestor: usize,
    /// The first version.
    pub first: Version,
    /// The last version; [`LAST_VERSION`] if the conversation still appends to it.
    pub last: Version,
    /// Tokens of the lineage before this conversation's own events: added to the counts of its events.
    tokens_before: u64,
    /// The tokens of the lineage up to the rewind that follows the segment, if one does.
    tokens_at_rewind: Option<u64>,
}

impl Segment {
    /// The part of the segment up to a version.
    #[must_use]
    pub fn up_to(self, version: Version) -> Self {
        Self { last: self.last.min(version), ..self }
    }
}

/// The versions that a fork inherits from one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inherited {
    /// The first version that the conversation recorded.
    pub first: Version,
    /// The last inherited version.
    pub last: Version,
    /// The conversation's own count of tokens through that version.
    pub tokens_through: u64,
}

/// A rewind that is in effect: the events after `to` and before `at` are hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewind {
    /// The version that the rewind returns to.
    pub to: Version,
    /// The version of the rewind.
    pub at: Version,
    /// The tokens of the conversation that recorded it, up to the rewind.
    pub tokens_through: u64,
}

/// The segments of a history, oldest first, and its rewinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    list: Vec<Segment>,
    /// The last inherited version of each ancestor, the nearest first.
    inherited: Vec<Version>,
    /// Newest first.
    rewinds: Vec<Rewind>,
}

impl Default for Segments {
    /// The segments of a conversation without forks and rewinds.
    fn default() -> Self {
        Self::recorded(&[])
    }
}

impl Segments {
    /// Everything that was recorded in a lineage; `inherited` names the ancestors, the nearest first.
    #[must_use]
    pub fn recorded(inherited: &[Inherited]) -> Self {
        let mut segments = Vec::with_capacity(inherited.len() + 1);
        let mut tokens_before = 0_u64;
        let mut last = Version::ZERO;
        for (index, one) in inherited.iter().enumerate().rev() {
            last = last.max(one.last);
            if one.first > one.last {
                continue;
            }
            segments.push(Segment {
                ancestor: index + 1,
                first: one.first,
                last: one.last,
                tokens_before,
                tokens_at_rewind: None,
            });
            tokens_before = tokens_before.saturating_add(one.tokens_through);
        }
        segments.push(Segment {
            ancestor: 0,
            first: last.next(),
            last: LAST_VERSION,
            tokens_before,
            tokens_at_rewind: None,
        });
        Self { list: segments, inherited: inherited.iter().map(|one| one.last).collect(), rewinds: Vec::new() }
    }

    /// The segments that remain after the rewinds of a history. `newest_first` has strictly descending versions and may
    /// contain other events. A rewind that is itself hidden has no effect.
    #[must_use]
    pub fn without_rewound<'a>(mut self, newest_first: impl IntoIterator<Item = &'a RecordedEvent>) -> Self {
        for event in newest_first {
            if let Fact::Annotation(Annotation::HistoryRewound(rewound)) = &event.event.fact
                && self.contains(event.version)
            {
                self.hide(Rewind { to: rewound.to, at: event.version, tokens_through: event.event.tokens.through });
            }
        }
        self
    }

    fn hide(&mut self, rewind: Rewind) {
        let tokens = self.holder(rewind.at).map(|holder| holder.tokens_before.saturating_add(rewind.tokens_through));
        let mut newer = self.list.split_off(self.count_to(rewind.to));
        if let Some(older) = self.list.last_mut() {
            // What this segment has from the rewind on.
            newer.insert(0, *older);
            older.last = older.last.min(rewind.to);
            older.tokens_at_rewind = tokens;
        }
        newer.retain(|segment| segment.last >= rewind.at);
        for segment in &mut newer {
            segment.first = segment.first.max(rewind.at);
        }
        self.list.append(&mut newer);
        self.rewinds.push(rewind);
    }

    /// How many segments begin at or before a version.
    fn count_to(&self, version: Version) -> usize {
        self.list.partition_point(|segment| segment.first <= version)
    }

    fn holder(&self, version: Version) -> Option<&Segment> {
        let before = self.list.get(..self.count_to(version))?;
        before.last().filter(|segment| version <= segment.last)
    }

    /// Whether a version is part of the history.
    #[must_use]
    pub fn contains(&self, version: Version) -> bool {
        self.holder(version).is_some()
    }

    /// The last version of the history at or before this one; [`Version::ZERO`] if there is none.
    #[must_use]
    pub fn last_at(&self, version: Version) -> Version {
        let before = self.list.get(..self.count_to(version));
        let last = before.and_then(<[Segment]>::last);
        last.map_or(Version::ZERO, |segment| segment.last.min(version))
    }

    /// The last inherited version of the conversation that recorded `version`; [`Version::ZERO`] if it inherits nothing.
    #[must_use]
    pub fn inherited_before(&self, version: Version) -> Version {
        let mut inherited = self.inherited.iter();
        let last = inherited.find(|last| **last < version);
        last.copied().unwrap_or_default()
    }

    /// The conversation in the lineage that recorded a version; `None`: it is not part of the history.
    #[must_use]
    pub fn ancestor_of(&self, version: Version) -> Option<usize> {
        self.holder(version).map(|segment| segment.ancestor)
    }

    /// The segments within a range of versions, oldest first, limited to the range.
    #[must_use = "an iterator does nothing by itself"]
    pub fn within(&self, from: Version, to: Version) -> impl DoubleEndedIterator<Item = Segment> + '_ {
        let cut =
            move |segment: &Segment| Segment { first: segment.first.max(from), last: segment.last.min(to), ..*segment };
        let segments = self.list.iter().map(cut);
        segments.filter(|segment| segment.first <= segment.last)
    }

    /// The ranges of versions that rewinds hide, oldest first: first and last version of each.
    #[must_use = "an iterator does nothing by itself"]
    pub fn hidden(&self) -> impl Iterator<Item = (Version, Version)> + '_ {
        let mut previous = Version::ZERO;
        self.list.iter().filter_map(move |segment| {
            let first = std::mem::replace(&mut previous, segment.last).next();
            let last = Version(segment.first.0.saturating_sub(1));
            (first <= last).then_some((first, last))
        })
    }

    /// The newest rewind that is in effect.
    #[must_use]
    pub fn latest_rewind(&self) -> Option<&Rewind> {
        self.rewinds.first()
    }

    /// Token counts as if only this history had been recorded.
    #[must_use]
    pub fn token_counts(&self) -> TokenCounts<'_> {
        TokenCounts { segments: &self.list, is_entered: false, shift: 0 }
    }
}

/// Converts the token count of each event into its count within the effective history.
///
/// Each conversation counts only its own events, including those that a rewind hides. Here an inherited event counts from
/// the beginning of the lineage, and the counts before a rewind are shifted to the point where the history continued. So a
/// token budget covers the same events as if the hidden ones had never been recorded.
#[derive(Debug, Clone)]
pub struct TokenCounts<'a> {
    /// The remaining segments, oldest first.
    segments: &'a [Segment],
    /// Whether an event of the last remaining segment was counted.
    is_entered: bool,
    /// The tokens that are added to older events.
    shift: u64,
}

impl TokenCounts<'_> {
    /// The event with its effective count. Events come newest first; each is part of the history.
    #[must_use]
    pub fn count(&mut self, mut event: RecordedEvent) -> RecordedEvent {
        let mut at_rewind = None;
        while let Some((segment, older)) = self.segments.split_last() {
            if !self.is_entered {
                at_rewind = at_rewind.or(segment.tokens_at_rewind);
            }
            if segment.first <= event.version {
                self.is_entered = true;
                let through = &mut event.event.tokens.through;
                *through = through.saturating_add(segment.tokens_before);
                let moved = at_rewind.map_or(0, |tokens| tokens.saturating_sub(*through));
                self.shift = self.shift.saturating_add(moved);
                *through = through.saturating_add(self.shift);
                return event;
            }
            (self.segments, self.is_entered) = (older, false);
        }
        event
    }
}

#[cfg(test)]
mod tests;

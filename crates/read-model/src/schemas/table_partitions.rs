//! The number of table partitions of the events in a schema.

/// Into how many table partitions the events of a schema are divided, by a hash of the conversation; 1: they are in one table. A
/// clone has as many as its source, unless a rebuild changes the number. A statement that writes opens each table partition that it
/// writes to, see docs/explanation/figures.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TablePartitions(u16);

impl TablePartitions {
    /// One table.
    pub const ONE: Self = Self(1);
    /// The largest number: a statement of several conversations may open every table partition.
    pub const MAX: u16 = 64;

    /// `None`: the number is not 1 to [`TablePartitions::MAX`].
    #[must_use]
    pub fn new(number: u16) -> Option<Self> {
        (1..=Self::MAX).contains(&number).then_some(Self(number))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u16 {
        self.0
    }

    /// From the number of partitions in the catalogue, which is 0 for one table.
    pub(super) fn of_catalogue(partitions: i64) -> Self {
        let number = u16::try_from(partitions.max(1)).unwrap_or(u16::MAX);
        Self(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_bounded() {
        let check = |number, expected| {
            let found = TablePartitions::new(number).map(TablePartitions::get);
            assert_eq!(found, expected, "{number}");
        };
        check(0, None);
        check(1, Some(1));
        check(64, Some(64));
        check(65, None);
    }

    #[test]
    fn one_table_has_no_partitions_in_the_catalogue() {
        let check = |partitions, expected| {
            assert_eq!(TablePartitions::of_catalogue(partitions).get(), expected);
        };
        check(0, 1);
        check(16, 16);
    }
}

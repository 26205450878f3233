//! Tables that scroll by themselves in narrow windows.

use maud::{Markup, html};

/// The head of a column.
#[derive(Debug, Clone)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether its cells are numbers, which are aligned at the right.
    pub is_number: bool,
    /// The URL that sorts by it, and whether the table is sorted by it now.
    pub sort: Option<(String, bool)>,
}

impl<'a> Column<'a> {
    /// A column of texts.
    #[must_use]
    pub fn text(name: &'a str) -> Self {
        Self { name, is_number: false, sort: None }
    }

    /// A column of numbers.
    #[must_use]
    pub fn number(name: &'a str) -> Self {
        Self { is_number: true, ..Self::text(name) }
    }

    /// The same column with a link that sorts by it.
    #[must_use]
    pub fn sorted_by(self, href: String, is_current: bool) -> Self {
        Self { sort: Some((href, is_current)), ..self }
    }

    fn aria_sort(&self) -> Option<&'static str> {
        let (_, is_current) = self.sort.as_ref()?;
        is_current.then_some("descending")
    }
}

/// A table with a caption for screen readers. Each row is a `tr`.
#[must_use]
pub fn table(caption: &str, columns: &[Column<'_>], rows: &[Markup]) -> Markup {
    html! {
        div.table tabindex="0" role="region" aria-label=(caption) {
            table {
                caption.visually-hidden { (caption) }
                thead {
                    tr {
                        @for column in columns {
                            th.number[column.is_number] scope="col" aria-sort=[column.aria_sort()] {
                                @if let Some((href, is_current)) = &column.sort {
                                    a href=(href) { (column.name) @if *is_current { " ↓" } }
                                } @else {
                                    (column.name)
                                }
                            }
                        }
                    }
                }
                tbody { @for row in rows { (row) } }
            }
        }
    }
}

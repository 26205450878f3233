//! The query of a listing of items.

use domain::Violation;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use conversations::request::out_of_range;

/// Items of a page, if the request names no number.
pub const ITEMS_DEFAULT: u32 = 20;
/// Most items of a page.
pub const ITEMS_MAX: u32 = 100;
/// Which items to list. `include` is accepted; items are always complete.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListItemsQuery {
    /// The id of the item before the page: `last_id` of the previous page.
    pub(super) after: Option<String>,
    /// Page size; absent: 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// The order; absent: descending.
    #[serde(default)]
    #[param(inline)]
    pub(super) order: ItemOrder,
}

/// The order of items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ItemOrder {
    /// The oldest first.
    Asc,
    /// The newest first.
    #[default]
    Desc,
}

impl ListItemsQuery {
    /// The page size.
    ///
    /// # Errors
    /// It is not 1 to [`ITEMS_MAX`].
    pub(super) fn limit(&self) -> Result<u32, Violation> {
        match self.limit {
            None => Ok(ITEMS_DEFAULT),
            Some(limit) if (1..=ITEMS_MAX).contains(&limit) => Ok(limit),
            Some(limit) => Err(out_of_range(format!("is {limit}, give 1 to {ITEMS_MAX}")).within("limit")),
        }
    }
}

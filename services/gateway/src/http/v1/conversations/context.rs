//! `/v1/conversations/{id}/context`.

pub mod get_context;
pub mod rendered_context;

//! The HTML of the gateway's pages, rendered on the server, with their style sheet and scripts.
//!
//! Pure: a page is a function from values to [`Markup`]. It reads nothing and knows no HTTP; the gateway reads the values,
//! checks who may see them, and sends the result. `maud` escapes every value, so script in a title or a message is shown as
//! text. Never use `PreEscaped` for anything but constants of this crate and charts, whose texts `plotters` escapes.
//!
//! [`layout`] is the frame of every page; [`components`] are the parts that pages share; [`dashboard`] has one page per file;
//! [`assets`] are the embedded files, and [`csp`] is the policy that lets a browser load nothing else. Pages work without
//! their scripts, which only add keys, local times and copying.

pub mod assets;
pub mod components;
pub mod cost;
pub mod csp;
pub mod dashboard;
pub mod layout;
mod person;

pub use maud::{Markup, html};

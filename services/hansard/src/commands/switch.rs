//! A setting that is on or off.

use clap::ValueEnum;

/// Whether something is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    /// It is on.
    On,
    /// It is off.
    Off,
}

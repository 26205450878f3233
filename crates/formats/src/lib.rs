//! A context in the form that its reader wants. Pure: no I/O. One file a format.

pub mod canonical;

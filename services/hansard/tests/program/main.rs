//! End-to-end tests of the program, in one binary that is linked once.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod contexts;
#[cfg(test)]
mod dev;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod settings;

//! The program from outside. One binary, so that it is linked once.

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

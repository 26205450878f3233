//! The HTTP server over real connections: bounds, time, refusals, panics, streams and the drain.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod raw;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod stack;
#[cfg(test)]
mod telemetry;

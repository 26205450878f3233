//! The HTTP server over real connections: bounds, time, refusals, panics, streams and the drain.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod raw;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod slow_clients;
#[cfg(test)]
mod stack;
#[cfg(test)]
mod stalling;
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod vanished;

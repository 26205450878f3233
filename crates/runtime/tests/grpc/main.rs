//! The gRPC server over real connections: bounds, streams, the drain, health and reflection.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod echo;
#[cfg(test)]
mod health;
#[cfg(test)]
mod slow_requests;
#[cfg(test)]
mod stack;
#[cfg(test)]
mod streams;

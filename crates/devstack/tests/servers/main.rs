//! Real servers: started, stopped, killed, refused. One binary, so that one Postgres serves all.

#[cfg(test)]
mod databases;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod orphans;
#[cfg(test)]
mod probe;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod reruns;

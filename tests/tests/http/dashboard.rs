//! The pages of the dashboard. `matrix` covers every page with every role.

mod assets;
mod audit;
mod context;
mod conversations;
mod erasure;
mod matrix;
mod search;
mod settings;
mod sign_in;
mod system;
mod transcript;
mod usage;

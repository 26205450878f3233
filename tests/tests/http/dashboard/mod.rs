//! The pages of the dashboard. `matrix` covers every page with every role.

mod assets;
mod audit;
mod conversations;
mod matrix;
mod sign_in;

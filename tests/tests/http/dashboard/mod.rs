//! The pages of the dashboard. `matrix` covers every page with every role.

mod assets;
mod matrix;
mod sign_in;

//! One file per capability: reads the store, returns findings. Nothing here knows how findings are shown.

pub mod accounts;
pub mod cover;
pub mod dependencies;
pub mod inventory;
pub mod names;
pub mod seen;
pub mod sources;
pub mod tests;
mod values;
pub mod verify;

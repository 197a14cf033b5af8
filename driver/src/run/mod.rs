//! Launching programs with a store.

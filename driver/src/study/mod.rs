//! One file per capability: reads the store, returns findings.

//! What runs leave behind, on disk.

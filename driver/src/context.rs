//! Where our own files and the tools we call are, resolved once.

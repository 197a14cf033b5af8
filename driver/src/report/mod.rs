//! Findings to text, json, lcov, cobertura, html.

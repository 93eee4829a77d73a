//! Numbered one-file examples and the quick start

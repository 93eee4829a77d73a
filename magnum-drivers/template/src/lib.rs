//! A small driver to copy

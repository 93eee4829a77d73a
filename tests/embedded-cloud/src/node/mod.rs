//! The node simulator: does with user-data what a real node would.

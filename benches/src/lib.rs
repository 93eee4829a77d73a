//! Benchmarks against the budgets

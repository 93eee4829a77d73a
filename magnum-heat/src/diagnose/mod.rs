//! Why a stack failed.

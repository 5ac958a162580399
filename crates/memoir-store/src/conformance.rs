//! Whole stories that every store must pass.

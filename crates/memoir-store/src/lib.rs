//! memoir-store

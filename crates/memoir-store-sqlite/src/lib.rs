//! memoir-store-sqlite

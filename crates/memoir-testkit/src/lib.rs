//! memoir-testkit

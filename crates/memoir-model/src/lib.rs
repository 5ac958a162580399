//! memoir-model

//! memoir-details

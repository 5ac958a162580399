//! memoir-app

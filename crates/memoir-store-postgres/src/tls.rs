//! TLS to the database: with the roots of the machine, or those of the file that `SSL_CERT_FILE` names.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What makes connections secret, where the URL does not say `sslmode=disable`. A certificate that no root vouches
/// for is refused.
pub(crate) fn connector() -> MakeRustlsConnect {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    // Roots that cannot be read are passed over: fewer roots refuse more, and without any every connection is refused.
    roots.add_parsable_certificates(found.certs);
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder
        .with_safe_default_protocol_versions()
        // Its ciphers are those of the versions that it has.
        .unwrap_or_else(|_| unreachable!("ring has ciphers for the versions of TLS that it knows"));
    MakeRustlsConnect::new(builder.with_root_certificates(roots).with_no_client_auth())
}

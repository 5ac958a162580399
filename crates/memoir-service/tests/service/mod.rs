//! How a test's installation is served.

use memoir_app::Memoir;
use memoir_service::ServiceOptions;
use memoir_testkit::Serving;
use tokio::net::TcpListener;

/// For `TestInstallation::serve`.
pub fn service(options: ServiceOptions) -> impl FnOnce(Memoir, TcpListener, Serving) -> Serving {
    move |memoir, listener, stop| {
        Box::pin(async move {
            let served = memoir_service::serve(memoir, options, listener, stop);
            served.await.unwrap();
        })
    }
}

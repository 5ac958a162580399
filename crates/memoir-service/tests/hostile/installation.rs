//! A running service on files, with agents that have tokens.

use std::{path::PathBuf, time::Duration};

use memoir_app::Viewer;
use memoir_service::ServiceOptions;
use memoir_testkit::{InstallationFolder, Served, TestClock};
pub use memoir_testkit::{Tenant, administrator as owner};

use crate::{client::Client, service::service};

#[derive(derive_more::Deref)]
pub struct Installation {
    pub folder: InstallationFolder,
    #[deref]
    served: Served,
}

pub fn options() -> ServiceOptions {
    ServiceOptions {
        stop_time: Duration::from_secs(10),
        ..ServiceOptions::default()
    }
}

pub fn new_folder() -> InstallationFolder {
    InstallationFolder::new().with_clock(TestClock::ticking())
}

/// How many memories an agent has.
pub async fn memories(tenant: &Tenant) -> usize {
    let own = tenant.agent.views().seen_by(Viewer::Agent);
    own.memories(true).await.unwrap().len()
}

impl Installation {
    pub async fn open() -> Self {
        Self::with(options()).await
    }

    pub async fn with(options: ServiceOptions) -> Self {
        Self::at(new_folder(), options, "127.0.0.1:0").await
    }

    /// Serves what lies in the folder, as a process does that knows no more than the files.
    pub async fn at(folder: InstallationFolder, options: ServiceOptions, address: &str) -> Self {
        let opened = folder.open_elsewhere();
        Self {
            served: opened.serve_at(address, service(options)).await,
            folder,
        }
    }

    pub fn client(&self) -> Client {
        Client::new(self.socket)
    }

    /// The folder, after the service stopped.
    pub async fn close(self) -> InstallationFolder {
        self.served.stop().await;
        self.folder
    }

    /// Where in the files those bytes are.
    pub fn files_with(&self, needle: &[u8]) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        paths
            .filter(|path| {
                let bytes = std::fs::read(path).unwrap();
                bytes.windows(needle.len()).any(|window| window == needle)
            })
            .collect()
    }
}

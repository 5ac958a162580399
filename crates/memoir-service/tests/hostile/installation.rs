//! A running service on files, with agents that have tokens.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use memoir_app::{Account, InstallationSettings, Memoir};
use memoir_service::ServiceOptions;
use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::SetModel;
pub use memoir_testkit::{Tenant, administrator as owner};
use memoir_vault::MasterSource;
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::client::Client;

pub struct Installation {
    pub dir: TempDir,
    pub memoir: Memoir,
    pub model: SetModel,
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<()>>,
}

pub fn options() -> ServiceOptions {
    ServiceOptions {
        stop_time: Duration::from_secs(10),
        ..ServiceOptions::default()
    }
}

pub fn memoir_in(dir: &Path, model: &SetModel) -> Memoir {
    let path = dir.join("m.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).unwrap());
    let source = MasterSource::File(path.with_extension("master-key"));
    let keys = memoir_vault::unlock(&source, &path.with_extension("keys"), false).unwrap();
    let models = Arc::new(model.clone());
    Memoir::new(
        store,
        Arc::new(keys),
        models,
        InstallationSettings::default(),
    )
}

impl Installation {
    pub async fn open() -> Self {
        Self::with(options()).await
    }

    pub async fn with(options: ServiceOptions) -> Self {
        Self::at(TempDir::new().unwrap(), options, "127.0.0.1:0").await
    }

    pub async fn at(dir: TempDir, options: ServiceOptions, address: &str) -> Self {
        let model = SetModel::default();
        let memoir = memoir_in(dir.path(), &model);
        let listener = TcpListener::bind(address).await.unwrap();
        let mut address = listener.local_addr().unwrap();
        if address.ip().is_unspecified() {
            address.set_ip([127, 0, 0, 1].into());
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = memoir.clone();
        let served = tokio::spawn(async move {
            let stop = async {
                let _ = stopped.await;
            };
            memoir_service::serve(serving, options, listener, stop)
                .await
                .unwrap();
        });
        Self {
            dir,
            memoir,
            model,
            address,
            stop: Some(stop),
            served: Some(served),
        }
    }

    pub async fn account(&self, name: &str) -> Account {
        memoir_testkit::account(&self.memoir, name).await
    }

    pub async fn administrator(&self, account: &str) -> String {
        memoir_testkit::administrator_token(&self.memoir, account).await
    }

    pub async fn tenant(&self, account: &str, name: &str) -> Tenant {
        memoir_testkit::tenant(&self.memoir, account, name).await
    }

    pub fn client(&self) -> Client {
        Client::new(self.address)
    }

    pub fn database(&self) -> PathBuf {
        self.dir.path().join("m.db")
    }

    pub fn begin_stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    pub async fn stopped(&mut self) {
        self.served.take().unwrap().await.unwrap();
    }

    /// The folder, after the service stopped.
    pub async fn close(mut self) -> TempDir {
        self.begin_stop();
        self.stopped().await;
        self.dir
    }

    /// Where in the files those bytes are.
    pub fn files_with(&self, needle: &[u8]) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.dir.path()).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        paths
            .filter(|path| {
                let bytes = std::fs::read(path).unwrap();
                bytes.windows(needle.len()).any(|window| window == needle)
            })
            .collect()
    }
}

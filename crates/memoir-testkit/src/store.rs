//! The store that tests run on where they do not care which: embedded, in memory; or, with
//! `MEMOIR_TEST_STORE=postgres`, a database of its own on a PostgreSQL of this process.

#![expect(
    clippy::unwrap_used,
    reason = "a test that does not get what it needs ends here"
)]

use std::sync::Arc;

use memoir_store::Store;
use memoir_store_sqlite::SqliteStore;
#[cfg(unix)]
use {
    crate::Postgres, memoir_store_postgres::PostgresKeys, memoir_vault::KeyRows,
    std::sync::OnceLock,
};

/// A store with nothing in it.
pub async fn empty_store() -> Arc<dyn Store> {
    match std::env::var("MEMOIR_TEST_STORE").as_deref() {
        Err(_) => Arc::new(SqliteStore::in_memory().unwrap()),
        #[cfg(unix)]
        Ok("postgres") => postgres_store().await,
        Ok(other) => panic!("there is no store `{other}`: say `postgres`, or nothing"),
    }
}

/// A database of its own, with all tables, on a PostgreSQL of this process.
#[cfg(unix)]
pub async fn postgres_store() -> Arc<dyn Store> {
    use std::sync::atomic::{AtomicU32, Ordering};

    use memoir_store_postgres::PostgresStore;
    use tokio::sync::OnceCell;

    // All tests of the process share one migrated database, and each test gets a copy of it.
    static MODEL: OnceCell<()> = OnceCell::const_new();
    static COPIES: AtomicU32 = AtomicU32::new(0);
    let server = server();
    let make = async {
        let made = "CREATE DATABASE model OWNER memoir";
        server.query("postgres", made).unwrap();
        let store = PostgresStore::at(&server.url("memoir", "model")).unwrap();
        store.migrate().await.unwrap();
        // What is copied must not have connections.
        let end = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = 'model'";
        server.query("postgres", end).unwrap();
    };
    MODEL.get_or_init(|| make).await;
    let name = format!("copy_{}", COPIES.fetch_add(1, Ordering::Relaxed));
    // Copying takes less time than running all migrations again.
    let copy = format!("CREATE DATABASE {name} OWNER memoir TEMPLATE model");
    server.query("postgres", &copy).unwrap();
    let store = PostgresStore::open(&server.url("memoir", &name)).await;
    Arc::new(store.unwrap())
}

/// A database of its own for the keys of an installation, on the same PostgreSQL.
#[cfg(unix)]
#[derive(Debug)]
pub struct KeyDatabase(String);

#[cfg(unix)]
impl KeyDatabase {
    /// One with its tables and nothing in them.
    pub fn empty() -> Self {
        let url = server().database().unwrap();
        PostgresKeys::at(&url, None).unwrap().migrate().unwrap();
        Self(url)
    }

    /// Opens it, with connections of its own.
    ///
    /// # Errors
    /// It was removed.
    pub fn open(&self) -> memoir_vault::Result<Box<dyn KeyRows>> {
        Ok(Box::new(PostgresKeys::open(&self.0, None)?))
    }

    /// Removes it, also where connections to it are open.
    pub fn remove(&self) {
        let name = self.0.rsplit('/').next().unwrap();
        let removed = format!("DROP DATABASE {name} WITH (FORCE)");
        server().query("postgres", &removed).unwrap();
    }
}

/// A PostgreSQL of this process, which all its tests share.
#[cfg(unix)]
fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = Postgres::start("stores").unwrap();
        server.unwrap_or_else(|| panic!("PostgreSQL is not installed; `scripts/test` does that"))
    })
}

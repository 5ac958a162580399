//! The number of queries of a use case to a remote database.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use memoir_app::{MemoryPage, Viewer};
use memoir_domain::{access::AccessScope, agent::Field, audit::Actor, session::Mode};
use memoir_store_postgres::PostgresStore;
use memoir_testkit::Postgres;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use crate::installation::{TestAgent, person, reading, request_by, settings};

/// Is between a store and its database, and counts the requests that wait for the previous response.
struct CountingProxy {
    folder: PathBuf,
    count: Arc<AtomicUsize>,
}

impl CountingProxy {
    fn new(server: &Path) -> Self {
        let folder = std::env::temp_dir().join(format!("memoir-counting-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let (to, counted) = (server.join(".s.PGSQL.5432"), Arc::clone(&count));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&to).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&counted)));
            }
        });
        Self { folder, count }
    }

    fn url(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://memoir@{folder}/{database}")
    }

    /// Round trips since the last call.
    fn counted(&self) -> usize {
        self.count.swap(0, Ordering::SeqCst)
    }
}

impl Drop for CountingProxy {
    fn drop(&mut self) {
        // On failure an empty folder and a socket remain.
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

async fn carry(mut client: UnixStream, mut server: UnixStream, count: Arc<AtomicUsize>) {
    let (mut asked, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    let mut is_asking = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let bytes = &asked[..read.unwrap_or(0)];
                if bytes.is_empty() || server.write_all(bytes).await.is_err() {
                    return;
                }
                count.fetch_add(usize::from(!is_asking), Ordering::SeqCst);
                is_asking = true;
            }
            read = server.read(&mut answered) => {
                let bytes = &answered[..read.unwrap_or(0)];
                if bytes.is_empty() || client.write_all(bytes).await.is_err() {
                    return;
                }
                is_asking = false;
            }
        }
    }
}

#[tokio::test]
async fn spec_6_2_a_page_under_a_grant_takes_four_round_trips_and_an_edit_one() {
    let Some(server) = Postgres::start("round-trips").unwrap() else {
        println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
        return;
    };
    let url = server.database().unwrap();
    PostgresStore::at(&url).unwrap().migrate().await.unwrap();
    let proxy = CountingProxy::new(server.folder());
    let database = url.rsplit('/').next().unwrap();
    let store = PostgresStore::open(&proxy.url(database)).await.unwrap();
    let memories: Vec<String> = (0..200)
        .map(|number| {
            format!("Marta bound the book of order {number} in linen, by hand and slowly.")
        })
        .collect();
    let memories: Vec<&str> = memories.iter().map(String::as_str).collect();
    let wren = TestAgent::on(Arc::new(store), &memories, settings()).await;
    let agent = &wren.agent;
    let draft = reading(AccessScope::Core, 30);
    let request = request_by(agent, &draft, &person()).await;
    let own = Actor::agent("wren");
    agent
        .grants()
        .answer_access(request.id, true, None, &own)
        .await
        .unwrap();

    let viewer = Viewer::administrator(person());
    let page = MemoryPage {
        limit: 50,
        ..MemoryPage::default()
    };
    // The second read finds the first one's record in the log.
    for _ in 0..2 {
        proxy.counted();
        let seen = agent
            .views()
            .seen_by(viewer.clone())
            .memory_page(&page, |_| true)
            .await;
        let (seen, _) = seen.unwrap();
        assert!(seen.len() == 50 && seen.iter().all(|memory| memory.words.is_some()));
        assert_eq!(
            proxy.counted(),
            4,
            "the grant, the log since, how the archive hangs together, the record of it"
        );
    }
    // Under the default guard, chosen by the agent itself.
    let guard = [(Field::LossGuard, None)];
    agent.settings().configure(&guard, &own).await.unwrap();
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    let shorter = memories[199].replace("by hand and slowly", "slowly by hand");
    // The session's opening has read all memories; an edit reads nothing more.
    let edits = [
        ("update_memory", json!({"id": 200, "content": shorter})),
        ("delete_memory", json!({"ids": [199]})),
        (
            "delete_memory",
            json!({"ids": [198, 197], "replaced_by": 196}),
        ),
    ];
    for (tool, arguments) in edits {
        proxy.counted();
        let edit = agent.call_tool(session.id, tool, Some(&arguments));
        let result = edit.await.unwrap();
        assert_eq!(result.refusal(), None, "{result:?}");
        assert_eq!(proxy.counted(), 1, "{tool}: the commit");
    }
    let shown = agent.views().session(session.id).await.unwrap();
    assert_eq!((shown.edits, shown.archived, shown.summaries), (3, 4, 1));
}

//! Cursors come back from clients, who can put anything into them.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use memoir_testkit::Corpus;
use proptest::{prelude::*, sample::select, test_runner::TestRunner};
use serde_json::json;

use crate::installation::Installation;

/// Each list that has pages.
const LISTS: [&str; 8] = [
    "/v1/agents",
    "/v1/audit",
    "/v1/agents/wren/audit",
    "/v1/agents/wren/memories",
    "/v1/agents/wren/memories?include=discarded",
    "/v1/agents/wren/memories?q=kiln",
    "/v1/agents/wren/sessions",
    "/v1/agents/wren/access-requests",
];

#[test]
fn any_cursor_is_answered_with_a_page_or_refused() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let callers = runtime.block_on(async {
        let installation = Installation::open().await;
        let admin = installation.administrator().await;
        let (_, own) = installation
            .agent_with("wren", &["The kiln is hot.", "A kiln cools."])
            .await;
        installation.agent("finch").await;
        for purpose in ["a", "b"] {
            let request = json!({"purpose": purpose, "scope": "core", "minutes": 5});
            let path = "/v1/agents/wren/access-requests";
            admin.created(path, request).await;
        }
        for _ in 0..2 {
            // Something to refine, each time.
            own.save("wren", "The kiln is hot.").await;
            let begun = json!({"driver": "model"});
            let session = own.post("/v1/agents/wren/sessions", begun).await;
            let session = session.expect(202)["id"].as_str().unwrap().to_owned();
            own.ended(&session).await;
        }
        BTreeMap::from(LISTS.map(|list| match list.contains("q=") {
            true => (list, own.clone()),
            false => (list, admin.clone()),
        }))
    });
    let get = |list: &str, cursor: &str| {
        let sign = if list.contains('?') { '&' } else { '?' };
        // A blank one is left out.
        let path = format!("{list}{sign}limit=1&cursor={cursor}");
        runtime.block_on(callers[list].get(&path))
    };
    // Those of the lists themselves, and those of the repository.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/cursors");
    let mut inputs = Corpus::read(folder).inputs().to_vec();
    for list in LISTS {
        let first = get(list, "").expect(200);
        let cursor = first["next_cursor"]
            .as_str()
            .unwrap_or_else(|| panic!("{list} has pages: {first}"));
        assert_eq!(get(list, cursor).status, 200, "{list}");
        inputs.push(URL_SAFE_NO_PAD.decode(cursor).unwrap());
    }
    let corpus = Corpus::of(inputs);
    let is_answered = |list: &str, cursor: &str| {
        let answer = get(list, cursor);
        match answer.status {
            200 => Ok(()),
            400 => {
                prop_assert_eq!(answer.code(), "invalid_argument");
                Ok(())
            }
            status => Err(TestCaseError::fail(format!("{list}: {status}"))),
        }
    };
    for input in corpus.inputs() {
        for list in LISTS {
            is_answered(list, &URL_SAFE_NO_PAD.encode(input)).unwrap();
        }
    }
    let inputs = (any::<u64>(), select(LISTS.to_vec()), any::<bool>());
    let outcome = TestRunner::default().run(&inputs, |(seed, list, is_encoded)| {
        let changed = corpus.changed(seed);
        let cursor = match is_encoded {
            true => URL_SAFE_NO_PAD.encode(changed),
            false => changed.iter().map(|byte| format!("%{byte:02X}")).collect(),
        };
        is_answered(list, &cursor)
    });
    outcome.unwrap_or_else(|failed| panic!("{failed}"));
}

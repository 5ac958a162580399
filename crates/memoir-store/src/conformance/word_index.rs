//! Stored indexes of agents' words, and that shredding and erasing take them along.

use std::sync::Arc;

use memoir_domain::memory::Number;

use super::fixtures::*;
use crate::{Commit, MemoryRow, Store, VectorRow, WordIndexRow};

fn index(version: u64, parts: u64) -> Vec<WordIndexRow> {
    let part = |part| WordIndexRow {
        part,
        version,
        last_seq: 1,
        hash: hash(agent_id(1), 1),
        body: text(&format!("part {part} at {version}")),
    };
    (0..parts).map(part).collect()
}

async fn author(store: &Arc<dyn Store>, number: u128) -> Author {
    let mut author = Author::new(store, 1, number).await;
    author.save(vec![memory(1), memory(2)]).await;
    author
}

async fn keep(store: &Arc<dyn Store>, author: &Author, parts: &[WordIndexRow]) {
    let version = author.version().await;
    let kept = store.keep_word_index(author.scope(), version, parts.to_vec());
    assert!(kept.await.unwrap());
}

async fn kept(store: &Arc<dyn Store>, author: &Author) -> Vec<WordIndexRow> {
    store.word_index(author.scope(), None).await.unwrap()
}

pub(super) async fn spec_5_3_an_agent_has_one_index_of_one_version(store: Arc<dyn Store>) {
    let author = author(&store, 1).await;
    let other = self::author(&store, 2).await;
    assert_eq!(kept(&store, &author).await, []);
    let version = author.version().await;
    for wrong in [version - 1, version + 1] {
        let keep = store.keep_word_index(author.scope(), wrong, index(wrong, 1));
        assert!(!keep.await.unwrap(), "another version");
    }
    keep(&store, &author, &index(version, 3)).await;
    assert_eq!(kept(&store, &author).await, index(version, 3));
    let first = store.word_index(author.scope(), Some(1)).await.unwrap();
    assert_eq!(first, index(version, 1));
    // A later one takes its place as a whole.
    keep(&store, &author, &index(version + 7, 2)).await;
    assert_eq!(kept(&store, &author).await, index(version + 7, 2));
    // Another agent's, and another account's.
    keep(&store, &other, &index(version, 1)).await;
    let stranger = scope(2, 1);
    assert_eq!(store.word_index(stranger, None).await.unwrap(), []);
    let keeping = store.keep_word_index(stranger, version, index(version, 1));
    assert!(!keeping.await.unwrap());
    assert_eq!(author.version().await, version);
    keep(&store, &author, &[]).await;
    assert_eq!(kept(&store, &author).await, []);
    assert_eq!(kept(&store, &other).await, index(version, 1));
    keep(&store, &author, &index(version, 1)).await;
    store.forget_word_indexes().await.unwrap();
    assert_eq!(kept(&store, &author).await, []);
    assert_eq!(kept(&store, &other).await, []);
    assert_sound(&store).await;
}

pub(super) async fn spec_5_3_an_index_goes_where_words_go(store: Arc<dyn Store>) {
    let mut author = author(&store, 1).await;
    let other = self::author(&store, 2).await;
    keep(&store, &other, &index(1, 1)).await;
    keep(&store, &author, &index(1, 2)).await;
    // Saving and discarding leave it: a reader applies the difference.
    author.save(vec![memory(3), discarded(memory(1))]).await;
    assert_eq!(kept(&store, &author).await, index(1, 2));
    let shredded = MemoryRow {
        shredded_at: Some(at(8)),
        ..discarded(memory(1))
    };
    // A decision that comes to nothing takes none away.
    let version = author.version().await;
    let commit = Commit {
        expected_version: Some(version + 7),
        ..author.saving(vec![shredded.clone()])
    };
    store.commit(commit).await.unwrap_err();
    assert_eq!(kept(&store, &author).await, index(1, 2));
    author.save(vec![shredded]).await;
    assert_eq!(kept(&store, &author).await, []);
    keep(&store, &author, &index(2, 2)).await;
    author
        .change(|commit| commit.bodies = vec![body(2, 2)])
        .await;
    assert_eq!(kept(&store, &author).await, []);
    keep(&store, &author, &index(3, 2)).await;
    // It holds vectors too: where some are deleted, it goes with them.
    let vector = VectorRow {
        number: Number(2),
        version: 1,
        model: "lab:small".to_owned(),
        body: text("a vector"),
    };
    let keeping = store.keep_vectors(author.scope(), vec![vector]);
    assert_eq!(keeping.await.unwrap(), 1);
    for (of, except) in [(scope(2, 1), None), (author.scope(), Some("lab:small"))] {
        store.forget_vectors(of, except).await.unwrap();
        assert_eq!(kept(&store, &author).await, index(3, 2));
    }
    store.forget_vectors(author.scope(), None).await.unwrap();
    assert_eq!(kept(&store, &author).await, []);
    keep(&store, &author, &index(3, 2)).await;
    author.erase().await;
    assert_eq!(kept(&store, &author).await, []);
    let version = author.version().await;
    let keeping = store.keep_word_index(author.scope(), version, index(3, 2));
    assert!(
        !keeping.await.unwrap(),
        "nothing is kept of an erased agent"
    );
    assert_eq!(kept(&store, &other).await, index(1, 1));
}

//! Vectors of memories, and that they go with the rows that they are of.

use std::sync::Arc;

use memoir_domain::memory::Number;

use super::fixtures::*;
use crate::{Commit, MemoryRow, Store, VectorRow};

const MODEL: &str = "lab:small";

fn vector(number: u64, version: u64) -> VectorRow {
    VectorRow {
        number: Number(number),
        version,
        model: MODEL.to_owned(),
        body: text(&format!("vector of {number} at {version}")),
    }
}

/// More than any author here has.
fn all_numbers() -> Vec<Number> {
    (1..=99).rev().map(Number).collect()
}

async fn kept(store: &Arc<dyn Store>, author: &Author) -> Vec<VectorRow> {
    let all = all_numbers();
    let rows = store.vectors(author.scope(), MODEL, &all).await;
    let mut rows = rows.unwrap();
    rows.sort_by_key(|row| row.number);
    rows
}

async fn lacking(store: &Arc<dyn Store>, author: &Author, model: &str, after: u64) -> Vec<u64> {
    let rows = store.without_vector(author.scope(), model, after, 2).await;
    rows.unwrap().iter().map(|row| row.number.0).collect()
}

/// An author of two core memories, an archival one and one that is discarded, each row of the version that it says.
async fn author(store: &Arc<dyn Store>, number: u128) -> Author {
    let mut author = Author::new(store, 1, number).await;
    let gone = discarded(memory(4));
    author
        .save(vec![memory(1), memory(2), archival(3), gone])
        .await;
    author
}

pub(super) async fn spec_5_3_a_vector_is_of_one_version_of_a_memory(store: Arc<dyn Store>) {
    let author = author(&store, 1).await;
    let other = self::author(&store, 2).await;
    assert_eq!(lacking(&store, &author, MODEL, 0).await, [1, 2]);
    assert_eq!(lacking(&store, &author, MODEL, 1).await, [2, 3]);
    let rows = vec![
        vector(1, 1),
        vector(2, 9),
        vector(4, 1),
        vector(77, 1),
        vector(3, 1),
    ];
    let keep = store.keep_vectors(author.scope(), rows);
    assert_eq!(keep.await.unwrap(), 2, "of active memories as they are");
    assert_eq!(kept(&store, &author).await, [vector(1, 1), vector(3, 1)]);
    // Far from each other, beside each other, with one between them that is not asked for, alone, and none.
    let cases: [(&[u64], &[u64]); 6] = [
        (&[3, 2, 77], &[3]),
        (&[4, 3, 2], &[3]),
        (&[4, 2, 1], &[1]),
        (&[3], &[3]),
        (&[u64::MAX, 3], &[3]),
        (&[], &[]),
    ];
    for (of, found) in cases {
        let of: Vec<Number> = of.iter().copied().map(Number).collect();
        let found: Vec<VectorRow> = found.iter().map(|number| vector(*number, 1)).collect();
        let some = store.vectors(author.scope(), MODEL, &of).await;
        assert_eq!(some.unwrap(), found, "{of:?}");
    }
    assert_eq!(lacking(&store, &author, MODEL, 0).await, [2]);
    let again = VectorRow {
        body: text("made anew"),
        ..vector(1, 1)
    };
    let keep = store.keep_vectors(author.scope(), vec![again.clone()]);
    assert_eq!(keep.await.unwrap(), 1);
    assert_eq!(kept(&store, &author).await, [again, vector(3, 1)]);
    // Another agent's, and another account's.
    assert_eq!(kept(&store, &other).await, []);
    let stranger = scope(2, 1);
    let theirs = store.vectors(stranger, MODEL, &all_numbers()).await;
    assert_eq!(theirs.unwrap(), []);
    assert_eq!(store.vector_models(stranger).await.unwrap(), []);
    let lacking = store.without_vector(stranger, MODEL, 0, 9).await.unwrap();
    assert_eq!(lacking, []);
    let keep = store.keep_vectors(stranger, vec![vector(2, 1)]);
    assert_eq!(keep.await.unwrap(), 0);
    store.forget_vectors(stranger, None).await.unwrap();
    assert_eq!(kept(&store, &author).await.len(), 2);
    assert_sound(&store).await;
}

pub(super) async fn spec_2_8_the_vectors_of_two_models_stand_beside_each_other(
    store: Arc<dyn Store>,
) {
    let author = author(&store, 1).await;
    let newer = |number: u64| VectorRow {
        model: "lab:large".to_owned(),
        ..vector(number, 1)
    };
    let rows = vec![vector(1, 1), vector(2, 1), newer(1)];
    let keep = store.keep_vectors(author.scope(), rows);
    assert_eq!(keep.await.unwrap(), 3);
    let models = store.vector_models(author.scope()).await.unwrap();
    let expected = [("lab:large".to_owned(), 1), (MODEL.to_owned(), 2)];
    assert_eq!(models, expected);
    assert_eq!(lacking(&store, &author, "lab:large", 0).await, [2, 3]);
    assert_eq!(lacking(&store, &author, "lab:none", 1).await, [2, 3]);
    let forget = store.forget_vectors(author.scope(), Some("lab:large"));
    forget.await.unwrap();
    assert_eq!(kept(&store, &author).await, []);
    let models = store.vector_models(author.scope()).await.unwrap();
    assert_eq!(models, expected[..1]);
    store.forget_vectors(author.scope(), None).await.unwrap();
    assert_eq!(store.vector_models(author.scope()).await.unwrap(), []);
}

pub(super) async fn spec_5_4_vectors_go_with_the_words_that_they_are_of(store: Arc<dyn Store>) {
    let mut author = author(&store, 1).await;
    let rows = vec![vector(1, 1), vector(2, 1), vector(3, 1)];
    let keep = store.keep_vectors(author.scope(), rows.clone());
    assert_eq!(keep.await.unwrap(), 3);
    // Reworded, discarded, and brought back: each is another row.
    let reworded = MemoryRow {
        version: 2,
        body: text("other words"),
        ..memory(1)
    };
    author.save(vec![reworded, discarded(memory(2))]).await;
    assert_eq!(kept(&store, &author).await, rows[2..]);
    assert_eq!(store.vector_models(author.scope()).await.unwrap()[0].1, 1);
    author.save(vec![memory(2)]).await;
    assert_eq!(lacking(&store, &author, MODEL, 0).await, [1, 2]);
    // A decision that comes to nothing takes none away.
    let version = author.version().await;
    let commit = Commit {
        expected_version: Some(version + 7),
        ..author.saving(vec![archival(3)])
    };
    store.commit(commit).await.unwrap_err();
    assert_eq!(kept(&store, &author).await, rows[2..]);
    author.erase().await;
    assert_eq!(kept(&store, &author).await, []);
    assert_eq!(lacking(&store, &author, MODEL, 0).await, [0; 0]);
    let keep = store.keep_vectors(author.scope(), rows[2..].to_vec());
    assert_eq!(keep.await.unwrap(), 0, "nothing is kept of who is erased");
}

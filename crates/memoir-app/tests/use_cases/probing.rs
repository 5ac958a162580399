//! What each session changed in context and recall (SPEC 2.8), measured afterwards from the log.

use std::collections::BTreeSet;

use memoir_app::{BeforeAndAfter, SessionProbe};
use memoir_domain::{memory::Number, session::State};
use memoir_testkit::{Turn, input};
use serde_json::json;

use crate::{
    archiving::{archivist_of, me},
    installation::{TestAgent, complete, rehearsal},
};

/// A text of one sentence with two words of its own.
fn text(place: usize) -> String {
    const KINDS: [[&str; 2]; 14] = [
        ["bread", "lantern"],
        ["river", "saddle"],
        ["paper", "thimble"],
        ["linen", "barrel"],
        ["garden", "whistle"],
        ["winter", "copper"],
        ["kettle", "ribbon"],
        ["orchard", "chisel"],
        ["harbour", "blanket"],
        ["market", "feather"],
        ["window", "anchor"],
        ["ladder", "basket"],
        ["candle", "hammer"],
        ["meadow", "violin"],
    ];
    let [one, other] = KINDS[place];
    let end = " and walked home along the old wall".repeat(12);
    format!("we spoke about the {one} and the {other}{end}")
}

fn counts(probe: &SessionProbe) -> [(u64, u64); 2] {
    [probe.in_context, probe.recalled].map(|BeforeAndAfter { before, after }| (before, after))
}

fn numbers(numbers: &[u64]) -> BTreeSet<Number> {
    numbers.iter().copied().map(Number).collect()
}

async fn newest_seq(wren: &TestAgent) -> u64 {
    wren.agent.log().look_back(None).await.unwrap().seq
}

#[tokio::test]
async fn spec_2_8_what_a_session_archives_leaves_the_context_and_is_recalled_as_before() {
    let wren = archivist_of(text).await;
    // A duplicate, which the cleanup discards: its text stays where it is.
    let copy = input(&text(0));
    wren.agent.memories().save(&[copy], &me()).await.unwrap();
    let delete = Turn::call("delete_memory", json!({"ids": [13, 14]}));
    let (session, _) = wren.refine([delete, complete()]).await;
    assert_eq!(session.state, State::Completed);
    assert_eq!(session.archived, 2, "{session:?}");
    let before = newest_seq(&wren).await;
    let probed = wren.agent.probe_sessions(10).await.unwrap();
    let [one] = &probed[..] else {
        panic!("{probed:?}")
    };
    assert_eq!((one.session, one.state), (session.id, State::Completed));
    assert_eq!(Some(one.ended_at), session.ended_at);
    assert_eq!((one.probes, counts(one)), (15, [(15, 13), (15, 15)]));
    assert_eq!(one.left_context, numbers(&[13, 14]));
    assert_eq!(one.no_longer_recalled, numbers(&[]));

    // By the bound of the last context that a model read.
    let bounded = wren.agent.context(Some(900)).await.unwrap();
    let probed = wren.agent.probe_sessions(10).await.unwrap();
    let shown = probed[0].in_context;
    assert!(shown.before < 15 && shown.before > 0, "{shown:?}");
    let left_out = numbers(&(1..=12).collect::<Vec<_>>());
    let left_out: Vec<_> = left_out.intersection(&bounded.left_out).collect();
    // The duplicate has the text of #1.
    let copies = u64::from(!left_out.contains(&&Number(1)));
    assert_eq!(shown.after, 12 - left_out.len() as u64 + copies);
    assert_eq!(counts(&probed[0])[1], (15, 15));
    assert_eq!(newest_seq(&wren).await, before, "a measurement is a record");
}

#[tokio::test]
async fn spec_2_8_sessions_that_changed_nothing_have_equal_counts_and_rehearsals_none() {
    let wren = archivist_of(text).await;
    let delete = |ids: &[u64]| Turn::call("delete_memory", json!({"ids": ids}));
    let rehearsal = rehearsal();
    wren.refine_with(&rehearsal, [delete(&[14]), complete()])
        .await;
    let (one, _) = wren.refine([delete(&[14]), complete()]).await;
    wren.roll_back(one.id, false).await;
    let (two, _) = wren.refine([complete()]).await;
    let probed = wren.agent.probe_sessions(10).await.unwrap();
    let ids: Vec<_> = probed.iter().map(|probe| probe.session).collect();
    assert_eq!(ids, [two.id, one.id], "the newest first");
    assert_eq!(counts(&probed[0]), [(14, 14), (14, 14)]);
    // Its end is compared, and not what came after it.
    assert_eq!(counts(&probed[1]), [(14, 13), (14, 14)]);
    let last = wren.agent.probe_sessions(1).await.unwrap();
    assert_eq!(last, probed[..1]);
    let new = TestAgent::new(&[]).await;
    assert_eq!(new.agent.probe_sessions(10).await.unwrap(), []);
}

//! Changes in the log as they are stored, replayed and undone (SPEC 3.19, 4.1, 4.4).

use std::collections::BTreeMap;

use memoir_domain::{
    Timestamp,
    audit::{Action, Change, Facts, REPLACED},
    memory::{ArchivedBy, Number},
};

use crate::world::test_memory;

#[test]
fn spec_4_1_a_change_replays_through_its_stored_form() {
    let now = Timestamp::from_microseconds(9).unwrap();
    let before = test_memory(1, "a");
    let mut after = before.clone();
    after.content = "b".into();
    after.source = Some("a letter".into());
    after.place = before
        .archived(Some(Number(3)), ArchivedBy::Session, now)
        .place;
    after.protected_seq = Some(7);
    after.discarded_at = Some(now);
    let change = Change::between(before.clone(), &after).unwrap();
    let stored: Change = serde_json::from_str(&serde_json::to_string(&change).unwrap()).unwrap();
    assert_eq!(
        (stored.after(), stored.before()),
        (after.clone(), Some(&before))
    );
    let mut current = after;
    stored.undo(&mut current, now);
    assert_eq!(current, before);
    assert_eq!(Change::between(before.clone(), &before), None);
}

#[test]
fn spec_3_19_an_undo_keeps_later_changes_of_others() {
    let now = Timestamp::from_microseconds(9).unwrap();
    let before = test_memory(1, "a");
    let mut after = before.clone();
    after.content = "b".into();
    after.updated_at = now;
    let change = Change::between(before.clone(), &after).unwrap();
    let mut current = after.clone();
    current.protected_seq = Some(7);
    change.undo(&mut current, now);
    assert_eq!(current.content, before.content);
    assert_eq!(current.protected_seq, Some(7));
}

#[test]
fn spec_4_4_the_hashes_of_replaced_bodies_are_read_as_they_were_written() {
    let hashes = BTreeMap::from([(3, [0xab; 32]), (17, [7; 32])]);
    let facts = Facts::default().commitments(REPLACED, hashes.clone());
    let stored: Facts = serde_json::from_str(&serde_json::to_string(&facts).unwrap()).unwrap();
    assert_eq!(stored.replaced(), hashes);
    for wrong in [
        serde_json::json!([[3, "+f".repeat(32)]]),
        serde_json::json!([[3, "AB".repeat(32)]]),
        serde_json::json!([[3, "ab".repeat(31)]]),
        serde_json::json!([["3", "ab".repeat(32)], [4], 5]),
        serde_json::json!("ab"),
    ] {
        let facts: Facts =
            serde_json::from_value(serde_json::json!({ "replaced": wrong })).unwrap();
        assert!(facts.replaced().is_empty());
    }
}

#[test]
fn spec_4_1_every_action_has_its_wire_name() {
    for action in Action::ALL {
        assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
        assert_eq!(Action::from_name(action.as_str()), Some(action));
    }
}

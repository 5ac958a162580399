//! The age rule on rows (SPEC 3.14), also beside its wording without running sums.

use memoir_domain::{
    age_rule::{
        AgeRow, AgeShare,
        AgeState::{self, Gone, Leaves, Stays},
        check, outlook,
    },
    agent::Threshold,
};
use proptest::prelude::*;

/// Origins of this weakness are exempt.
const EXEMPT: u8 = 3;

fn rows(rows: &[(u64, u8, AgeState)]) -> Vec<AgeRow> {
    let row = |&(tokens, weakness, state)| AgeRow {
        tokens,
        weakness,
        state,
    };
    rows.iter().map(row).collect()
}

fn within(threshold: f64) -> AgeShare {
    AgeShare::WithinBudget {
        threshold: Threshold::new(threshold).unwrap(),
    }
}

/// Ten of ten tokens each, of which the newest leave.
fn ten(leaves: usize) -> Vec<AgeRow> {
    let state = |at: usize| if at >= 10 - leaves { Leaves } else { Stays };
    rows(&(0..10).map(|at| (10, 0, state(at))).collect::<Vec<_>>())
}

#[test]
fn spec_3_14_at_most_a_quarter_of_every_age_and_one_memory_more() {
    assert_eq!(check(&ten(3), within(0.5)), Ok(()));
    assert_eq!(check(&ten(4), within(0.5)), Err(vec![9]));
    // The share of the threshold is the stricter one here: two of ten leave, and one more does not.
    assert_eq!(check(&ten(2), within(0.88)), Ok(()));
    assert_eq!(check(&ten(3), within(0.88)), Err(vec![9]));
}

#[test]
fn spec_3_14_the_very_first_memory_can_always_leave() {
    let first = rows(&[(10, 0, Leaves), (10, 0, Stays)]);
    assert_eq!(check(&first, within(1.0)), Ok(()));
}

#[test]
fn spec_3_14_what_is_later_makes_no_room_for_what_is_old() {
    let mut all = vec![(10, 0, Stays), (10, 0, Leaves), (10, 0, Leaves)];
    all.extend(std::iter::repeat_n((10, 0, Stays), 100));
    assert_eq!(check(&rows(&all), within(0.5)), Err(vec![2]));
}

#[test]
fn spec_3_14_an_edit_is_checked_at_what_is_gone_later_of_no_stronger_origin() {
    let gone_later = |leaving: u8, gone: u8| {
        rows(&[
            (10, leaving, Leaves),
            (10, 0, Stays),
            (10, 0, Gone),
            (10, gone, Gone),
        ])
    };
    assert_eq!(check(&gone_later(0, 0), within(0.5)), Err(vec![0]));
    assert_eq!(check(&gone_later(1, 1), within(0.5)), Err(vec![0]));
    // What left before has the stronger origin: it does not bind a weaker one.
    assert_eq!(check(&gone_later(1, 0), within(0.5)), Ok(()));
    assert_eq!(check(&gone_later(3, 0), within(0.5)), Ok(()));
}

#[test]
fn spec_3_14_over_the_budget_a_half_or_a_third_of_the_budget_stays() {
    let over = |budget| AgeShare::OverBudget { budget };
    assert_eq!(check(&ten(6), over(10_000)), Ok(()));
    assert_eq!(check(&ten(7), over(10_000)), Err(vec![8, 9]));
    assert_eq!(check(&ten(7), over(120)), Ok(()));
    let replacing = |budget| AgeShare::Replacing { budget };
    assert_eq!(check(&ten(9), replacing(10_000)), Ok(()));
    assert_eq!(check(&ten(10), replacing(10_000)), Err(vec![6, 7, 8, 9]));
    assert_eq!(check(&ten(10), replacing(90)), Ok(()));
}

#[test]
fn spec_3_14_external_texts_are_exempt() {
    let all = [(10, 3, Leaves), (10, 3, Leaves), (10, 0, Stays)];
    assert_eq!(check(&rows(&all), within(1.0)), Ok(()));
}

/// The rule as SPEC 3.14 states it, without running sums.
fn naive(rows: &[AgeRow], share: AgeShare) -> bool {
    rows.iter().enumerate().all(|(place, x)| {
        let binds = |y: &(usize, &AgeRow)| {
            y.1.state == Leaves
                && y.0 < place
                && y.1.weakness <= x.weakness
                && y.1.weakness < EXEMPT
        };
        let is_checked = x.weakness < EXEMPT
            && (x.state == Leaves || x.state == Gone && rows.iter().enumerate().any(|y| binds(&y)));
        let counted = |(at, y): &(usize, &AgeRow)| *at <= place && y.weakness <= x.weakness;
        let of = |wanted: &dyn Fn(usize, &AgeRow) -> bool| -> u64 {
            let rows = rows.iter().enumerate().filter(counted);
            rows.filter(|(at, y)| wanted(*at, y))
                .map(|(_, y)| y.tokens)
                .sum()
        };
        let all = of(&|_, _| true);
        let stays = of(&|at, y| y.state == Stays || at == place);
        let holds = match share {
            AgeShare::WithinBudget { threshold } => {
                4 * stays >= 3 * all && (all == 0 || stays as f64 / all as f64 >= threshold.share())
            }
            AgeShare::OverBudget { budget } => 2 * stays >= all || 3 * stays >= budget,
            AgeShare::Replacing { budget } => 6 * stays >= all || 9 * stays >= budget,
        };
        !is_checked || holds
    })
}

fn any_rows() -> impl Strategy<Value = Vec<AgeRow>> {
    let state = prop_oneof![4 => Just(Stays), 1 => Just(Leaves), 1 => Just(Gone)];
    let row = (1u64..40, 0u8..4, state).prop_map(|(tokens, weakness, state)| AgeRow {
        tokens,
        weakness,
        state,
    });
    prop::collection::vec(row, 0..30)
}

fn any_share() -> impl Strategy<Value = AgeShare> {
    prop_oneof![
        (1u32..=100).prop_map(|percent| within(f64::from(percent) / 100.0)),
        (1u64..400).prop_map(|budget| AgeShare::OverBudget { budget }),
        (1u64..400).prop_map(|budget| AgeShare::Replacing { budget }),
    ]
}

proptest! {
    #[test]
    fn spec_3_14_the_running_sums_decide_as_the_rule_is_worded(rows in any_rows(), share in any_share()) {
        prop_assert_eq!(check(&rows, share).is_ok(), naive(&rows, share));
    }

    #[test]
    fn spec_3_14_the_outlook_is_what_single_edits_come_to(mut rows in any_rows(), share in any_share()) {
        for row in &mut rows {
            if row.state == Leaves {
                row.state = Stays;
            }
        }
        let outlook = outlook(&rows, share, |place| place % 5 != 0);
        let leaves_alone = |rows: &[AgeRow], place: usize| {
            let mut after = rows.to_vec();
            after[place].state = Leaves;
            check(&after, share).is_ok()
        };
        let stays = |place: &usize| rows[*place].state == Stays;
        let stuck = (0..rows.len()).filter(stays);
        let stuck: Vec<usize> = stuck.filter(|place| !leaves_alone(&rows, *place)).collect();
        prop_assert_eq!(&outlook.stuck, &stuck);
        let mut left = 0;
        let mut now = rows.clone();
        for place in (0..rows.len()).rev().filter(stays).filter(|place| place % 5 != 0) {
            if leaves_alone(&now, place) {
                now[place].state = Gone;
                left += 1;
            }
        }
        prop_assert_eq!(outlook.may_leave, left);
    }
}

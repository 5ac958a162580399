//! Whole stories that every store must pass, each on a fresh store of its own.
//!
//! A story panics where the store breaks the rule that its name tells. The stories know nothing of any
//! one database; what only one of them can get wrong is tested beside it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the stories are tests: a panic is how they fail"
)]

mod concurrency;
mod fixtures;
mod isolation;
mod log;
mod looking;
mod rows;
mod sessions;
mod tally;

use std::{pin::Pin, sync::Arc};

use crate::Store;

/// A story on a fresh store, in a runtime of tokio.
pub type Story = fn(Arc<dyn Store>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

macro_rules! stories {
    ($($module:ident::$name:ident,)*) => {
        /// Every story under the name of its rule.
        pub const STORIES: &[(&str, Story)] = &[
            $((stringify!($name), |store| Box::pin($module::$name(store))),)*
        ];
    };
}

stories! {
    rows::a_fresh_store_is_empty_and_sound,
    rows::every_field_of_an_account_and_an_agent_is_kept,
    rows::every_field_of_a_memory_is_kept,
    rows::every_field_of_a_session_is_kept,
    rows::every_field_of_a_record_is_kept,
    rows::a_row_of_the_same_number_is_replaced,
    rows::progress_is_counted_by_memory,
    concurrency::a_conflict_leaves_nothing_behind,
    concurrency::a_refused_commit_takes_no_other_down,
    concurrency::one_edit_wins_for_each_version,
    concurrency::a_snapshot_is_of_one_instant,
    isolation::another_account_reaches_nothing,
    isolation::equal_numbers_of_two_agents_do_not_mix,
    isolation::a_session_stays_with_its_agent,
    isolation::names_are_unique_whatever_the_case,
    sessions::one_session_runs_at_a_time,
    sessions::sessions_come_newest_first,
    sessions::erosion_counts_what_stayed_removed,
    sessions::a_lease_is_renewed_by_its_holder_only,
    sessions::lapsed_sessions_are_found,
    looking::selections_bring_what_they_say_in_order,
    looking::carriers_are_those_of_the_rarest_detail,
    looking::details_are_removed_before_they_are_added,
    log::records_are_narrowed_by_every_part_of_a_filter,
    log::a_place_in_the_log_is_taken_once,
    log::counters_must_agree_with_the_rows,
    tally::counts_agree_after_any_history,
}

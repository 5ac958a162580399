//! Scenarios that every store must pass, each on a fresh store of its own.
//!
//! A scenario panics if the store breaks the rule in its name. The scenarios are independent of the database; tests for
//! one database are beside it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the stories are tests: a panic is how they fail"
)]

mod access;
mod archive;
mod concurrency;
mod deliveries;
mod due;
pub mod fixtures;
mod histories;
mod isolation;
mod leaves;
mod listing;
mod log;
mod looking;
mod pages;
mod replies;
mod requests;
mod rows;
mod sessions;
mod transcripts;
mod vectors;
mod word_index;

use std::{pin::Pin, sync::Arc};

use crate::Store;

/// A scenario on a fresh store, in a runtime of tokio.
pub type StoreStory = fn(Arc<dyn Store>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// The scenario of that name.
pub fn story(name: &str) -> StoreStory {
    let mut stories = STORIES.iter();
    let (_, story) = stories.find(|(known, _)| *known == name).unwrap();
    *story
}

macro_rules! stories {
    ($($module:ident::$name:ident,)*) => {
        /// Every scenario under the name of its rule.
        pub const STORIES: &[(&str, StoreStory)] = &[
            $((stringify!($name), |store| Box::pin($module::$name(store))),)*
        ];

        /// Makes every scenario a test of its own, which calls the function `run` with it.
        #[macro_export]
        macro_rules! each_story {
            ($run:ident) => { $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    $run($crate::conformance::story(stringify!($name))).await;
                }
            )* };
        }
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
    rows::spec_5_3_prompts_stay_until_others_are_written,
    rows::spec_5_3_prompts_are_read_on_request_only,
    rows::spec_5_3_no_agent_is_made_without_prompts,
    rows::spec_5_3_rows_keep_the_version_they_were_written_under,
    concurrency::a_conflict_leaves_nothing_behind,
    concurrency::decisions_that_come_together_are_written_whole_or_not_at_all,
    concurrency::a_refused_commit_takes_no_other_down,
    concurrency::one_edit_wins_for_each_version,
    concurrency::a_snapshot_is_of_one_instant,
    isolation::another_account_reaches_nothing,
    isolation::a_session_stays_with_its_agent,
    isolation::names_are_unique_whatever_the_case,
    isolation::spec_5_4_the_name_of_an_erased_agent_is_free,
    isolation::scopes_are_those_of_every_agent,
    sessions::one_session_runs_at_a_time,
    sessions::spec_6_1_of_claimants_at_once_each_takes_others_and_none_is_missed,
    sessions::a_lease_is_renewed_by_its_holder_only,
    sessions::lapsed_sessions_are_found,
    sessions::waiting_sessions_come_oldest_first,
    sessions::waiting_sessions_are_those_of_every_account_and_model,
    due::spec_3_1_due_agents_are_those_of_the_slot_and_of_pressure,
    due::spec_3_1_what_lies_ahead_of_all_that_is_set_is_proposed,
    due::spec_3_1_an_agent_with_a_running_session_is_not_due,
    due::spec_3_1_no_account_hides_anothers_due_agents,
    sessions::the_load_counts_what_waits_and_what_is_held,
    looking::selections_bring_what_they_say_in_order,
    log::records_are_narrowed_by_every_part_of_a_filter,
    log::records_are_found_by_their_places,
    log::counters_must_agree_with_the_rows,
    log::spec_4_4_a_body_gives_way_to_the_next_one,
    log::spec_4_4_a_body_of_another_version_is_a_conflict,
    log::spec_4_4_what_is_kept_of_a_log_goes_with_its_words,
    leaves::spec_4_2_every_log_that_has_grown_gets_a_leaf,
    leaves::spec_4_2_leaves_of_several_writers_have_no_gaps,
    leaves::spec_5_6_leaves_are_of_those_that_are_asked_for_only,
    archive::links_are_of_numbers_that_are_there,
    archive::a_memory_whose_columns_do_not_agree_is_refused,
    histories::rows_agree_after_any_history,
    listing::lists_of_agents_are_sorted_and_searched,
    listing::an_accounts_records_are_listed_in_either_order,
    pages::pages_of_memories_are_narrowed_by_every_part,
    pages::pages_of_sessions_come_newest_first,
    pages::pages_of_agents_come_by_name_without_the_erased_ones,
    pages::spec_6_1_a_walk_through_pages_misses_nothing_while_others_write,
    access::spec_5_5_every_field_of_a_token_is_kept,
    access::spec_5_5_a_commit_writes_tokens_of_its_agent_only,
    access::spec_5_5_a_secret_has_one_token,
    access::spec_5_5_a_revoked_token_stays_revoked,
    access::spec_5_5_a_token_is_written_over_an_earlier_version_only,
    access::spec_5_5_uses_never_go_back,
    access::spec_5_5_users_have_a_name_of_their_own_in_an_account,
    access::spec_5_5_of_first_users_at_once_exactly_one_is_made,
    access::spec_5_5_a_user_is_written_over_the_version_before_it_only,
    access::spec_5_5_a_removed_user_is_gone_and_one_always_stays,
    access::spec_5_5_a_user_is_written_with_its_record_or_not_at_all,
    access::spec_5_5_an_accounts_own_log_is_no_agent,
    requests::spec_5_2_every_field_of_a_request_is_kept,
    requests::spec_5_2_who_is_asked_when_stays_and_what_is_over_stays_over,
    requests::spec_5_2_requests_come_newest_first_and_of_one_agent,
    requests::spec_5_2_open_requests_are_those_that_something_can_become_of,
    replies::spec_6_2_of_requests_at_once_exactly_one_enters,
    replies::spec_6_2_an_answer_is_kept_until_it_is_forgotten,
    replies::spec_6_2_a_change_is_written_with_the_mark_of_its_request_or_not_at_all,
    replies::spec_6_2_of_two_attempts_at_a_request_one_makes_the_change,
    replies::spec_6_2_a_key_is_of_one_account,
    replies::spec_4_4_the_answer_of_a_request_that_is_carried_out_is_forgotten_too,
    transcripts::spec_2_6_a_message_is_entered_once,
    transcripts::spec_2_6_messages_come_in_order_as_many_as_fit,
    transcripts::spec_2_6_messages_that_come_at_once_are_numbered_and_none_is_overlooked,
    transcripts::spec_2_6_no_message_is_read_twice,
    transcripts::spec_2_6_what_is_due_is_claimed_by_one,
    transcripts::spec_2_5_reflections_are_due_after_a_slot,
    transcripts::spec_2_6_absorbed_words_are_kept_until_a_time,
    transcripts::spec_5_4_an_erased_agents_messages_are_gone,
    transcripts::spec_6_1_bytes_that_an_agent_hands_over_count_by_their_time,
    vectors::spec_5_3_a_vector_is_of_one_version_of_a_memory,
    vectors::spec_2_8_the_vectors_of_two_models_stand_beside_each_other,
    vectors::spec_5_4_vectors_go_with_the_words_that_they_are_of,
    word_index::spec_5_3_an_agent_has_one_index_of_one_version,
    word_index::spec_5_3_an_index_goes_where_words_go,
    deliveries::an_end_is_sent_to_the_receivers_of_its_time,
    deliveries::sessions_that_come_with_an_agent_are_not_told,
    deliveries::of_claims_at_once_each_gets_others,
    deliveries::a_claim_that_lapsed_resolves_nothing,
    deliveries::nothing_is_sent_to_a_closed_or_forgotten_receiver,
}

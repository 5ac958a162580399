//! The stories that every store must pass.

use std::sync::Arc;

use memoir_store::{Store, conformance::STORIES};

use crate::common;

async fn tell(name: &str) {
    let (_, story) = STORIES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a story of that name");
    let Some(place) = common::database() else {
        return;
    };
    let store = common::migrated(&place.url).await;
    story(Arc::new(store) as Arc<dyn Store>).await;
}

macro_rules! stories {
    ($($name:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                tell(stringify!($name)).await;
            }
        )*

        #[test]
        fn spec_6_1_every_story_is_told() {
            let told = [$(stringify!($name)),*];
            let known: Vec<&str> = STORIES.iter().map(|(name, _)| *name).collect();
            assert_eq!(told[..], known);
        }
    };
}

stories! {
    a_fresh_store_is_empty_and_sound
    every_field_of_an_account_and_an_agent_is_kept
    every_field_of_a_memory_is_kept
    every_field_of_a_session_is_kept
    every_field_of_a_record_is_kept
    a_row_of_the_same_number_is_replaced
    progress_is_counted_by_memory
    spec_5_3_prompts_stay_until_others_are_written
    spec_5_3_no_agent_is_made_without_prompts
    spec_5_3_rows_keep_the_version_they_were_written_under
    a_conflict_leaves_nothing_behind
    decisions_that_come_together_are_written_whole_or_not_at_all
    a_refused_commit_takes_no_other_down
    one_edit_wins_for_each_version
    a_snapshot_is_of_one_instant
    another_account_reaches_nothing
    equal_numbers_of_two_agents_do_not_mix
    a_session_stays_with_its_agent
    names_are_unique_whatever_the_case
    spec_5_4_the_name_of_an_erased_agent_is_free
    scopes_are_those_of_every_agent
    one_session_runs_at_a_time
    sessions_come_newest_first
    a_lease_is_renewed_by_its_holder_only
    lapsed_sessions_are_found
    waiting_sessions_come_oldest_first
    waiting_sessions_are_those_of_every_account_and_model
    spec_3_1_due_agents_are_those_of_the_slot_and_of_pressure
    spec_3_1_what_lies_ahead_of_all_that_is_set_is_proposed
    spec_3_1_an_agent_with_a_running_session_is_not_due
    spec_3_1_no_account_hides_anothers_due_agents
    the_load_counts_what_waits_and_what_is_held
    selections_bring_what_they_say_in_order
    records_are_narrowed_by_every_part_of_a_filter
    records_are_found_by_their_places
    a_place_in_the_log_is_taken_once
    counters_must_agree_with_the_rows
    spec_4_2_each_record_brings_the_hash_of_the_one_before
    spec_4_4_a_body_gives_way_to_the_next_one
    spec_4_4_a_body_of_another_version_is_a_conflict
    spec_4_4_what_is_kept_of_a_log_goes_with_its_words
    spec_4_2_every_log_that_has_grown_gets_a_leaf
    spec_4_2_leaves_have_no_gaps_whoever_appends
    spec_5_6_leaves_are_of_those_that_are_asked_for_only
    rows_agree_after_any_history
    spec_4_4_shredded_memories_are_kept_and_left_out
    spec_4_4_what_is_shredded_is_discarded
    lists_of_agents_are_sorted_and_searched
    pages_of_memories_are_narrowed_by_every_part
    pages_of_sessions_come_newest_first
    pages_of_agents_come_by_name_without_the_erased_ones
    spec_6_1_a_walk_through_pages_misses_nothing_while_others_write
    spec_5_5_every_field_of_a_token_is_kept
    spec_5_5_a_commit_writes_tokens_of_its_agent_only
    spec_5_5_a_secret_has_one_token
    spec_5_5_a_revoked_token_stays_revoked
    spec_5_5_uses_never_go_back
    spec_5_5_users_have_a_name_of_their_own_in_an_account
    spec_5_5_of_first_users_at_once_exactly_one_is_made
    spec_5_5_a_user_is_written_over_the_version_before_it_only
    spec_5_5_a_removed_user_is_gone_and_one_always_stays
    spec_5_5_a_user_is_written_with_what_is_told_of_it_or_not_at_all
    spec_5_5_an_accounts_own_log_is_no_agent
    spec_5_2_every_field_of_a_request_is_kept
    spec_5_2_who_is_asked_when_stays_and_what_is_over_stays_over
    spec_5_2_requests_come_newest_first_and_of_one_agent
    spec_5_2_open_requests_are_those_that_something_can_become_of
    spec_6_2_of_requests_at_once_exactly_one_enters
    spec_6_2_an_answer_is_kept_until_it_is_forgotten
    spec_6_2_a_key_is_of_one_account
    spec_2_6_a_message_is_entered_once
    spec_2_6_messages_come_in_order_as_many_as_fit
    spec_2_6_messages_that_come_at_once_are_numbered_and_none_is_overlooked
    spec_2_6_no_message_is_read_twice
    spec_2_6_what_is_due_is_claimed_by_one
    spec_2_5_reflections_are_due_after_a_slot
    spec_5_4_an_erased_agents_messages_are_gone
    an_end_is_told_to_the_receivers_of_its_time
    sessions_that_come_with_an_agent_are_not_told
    of_claims_at_once_each_gets_others
    a_claim_that_lapsed_settles_nothing
    a_receiver_that_is_closed_or_forgotten_is_told_nothing
}

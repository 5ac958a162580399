//! SPEC 2.2: the effects of an agent's settings on its sessions and its model.

use std::{collections::BTreeSet, sync::Arc};

use memoir_app::sessions::RefineOptions;
use memoir_domain::{
    agent::{Field, ReasoningEffort},
    session::{Mode, Trigger},
};
use memoir_testkit::{ModelScript, Turn};

use crate::installation::{TestAgent, complete};

// With a duplicate, so that a session for duplicates has an edit to make.
const MEMORIES: [&str; 6] = [
    "I like rain.",
    "I like snow.",
    "I like hail.",
    "I like wind.",
    "I like fog.",
    "I like fog.",
];

#[tokio::test]
async fn spec_2_2_the_agents_effort_and_room_for_answers_reach_its_model() {
    let wren = TestAgent::new(&MEMORIES).await;
    let set = [
        (Field::ReasoningEffort, Some("low")),
        (Field::AnswerTokens, Some("900")),
    ];
    wren.configure(&set).await;
    let script = Arc::new(ModelScript::new([Turn::text("YES"), complete()]));
    wren.model.set(script.clone());
    let options = RefineOptions::default();
    wren.seen().refine(&options, &mut |_| {}).await.unwrap();
    let asked: BTreeSet<(u32, &str)> = script
        .requests()
        .iter()
        .map(|request| {
            let effort = request
                .reasoning_effort
                .map_or("-", ReasoningEffort::as_str);
            (request.max_output_tokens, effort)
        })
        .collect();
    assert_eq!(asked, BTreeSet::from([(900, "low")]));
}

#[tokio::test]
async fn spec_2_2_scheduled_sessions_have_the_agents_mode_and_others_their_own() {
    let wren = TestAgent::new(&MEMORIES).await;
    let set = [(Field::RefinementMode, Some("dedup_only"))];
    wren.configure(&set).await;
    wren.clock
        .advance(std::time::Duration::from_secs(8 * 24 * 3_600));
    for (trigger, mode) in [
        (Trigger::Weekly, Mode::DedupOnly),
        (Trigger::Request, Mode::Full),
    ] {
        wren.script([Turn::text("YES"), complete()]);
        let options = RefineOptions {
            trigger,
            ..RefineOptions::default()
        };
        let driven = wren.seen().refine(&options, &mut |_| {}).await.unwrap();
        assert_eq!(driven.mode, mode);
    }
}

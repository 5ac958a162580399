//! When only the agent can make its tokens (SPEC 5.5).

use memoir_app::{Error, Handling, Provision};
use memoir_domain::{
    access::AccessScope,
    agent::Field,
    audit::{Actor, ActorKind},
    memory::Number,
};
use memoir_store::tables::{TABLES, Table};
use memoir_testkit::{input, message};

use crate::installation::{TestAgent, handle_by, person, reading, request_by};

/// A way for text to get into a table.
#[derive(Debug, Clone, Copy)]
enum Story {
    /// The agent sets a prompt of its own, and an administrator sets another one over it.
    Prompt,
    /// A memory is saved and discarded again.
    Memory,
    /// The agent decides an access request.
    Answer,
    /// A conversation is handed over in this role.
    Conversation(ActorKind),
    /// A token is used.
    Token,
}

impl Story {
    async fn happens_to(self, wren: &TestAgent) {
        let agent = &wren.agent;
        let me = Actor::agent("wren");
        match self {
            Self::Prompt => {
                for (prompt, by) in [("I keep secrets.", me), ("Be brief.", person())] {
                    let prompt = [(Field::SystemPrompt, Some(prompt))];
                    agent.settings().configure(&prompt, &by).await.unwrap();
                }
            }
            Self::Memory => {
                agent.memories().save(&[input("One.")], &me).await.unwrap();
                handle_by(agent, Number(1), Handling::Discard, &person()).await;
            }
            Self::Answer => {
                let draft = reading(AccessScope::Core, 5);
                let asked = request_by(agent, &draft, &person()).await;
                let reason = Some("Not today.".into());
                let answered = agent.grants().answer_access(asked.id, false, reason, &me);
                answered.await.unwrap();
            }
            Self::Conversation(role) => {
                let messages = vec![message("a", "My diagnosis is a secret.")];
                let handed = agent.life().hand_over(messages, false, role);
                handed.await.unwrap();
            }
            Self::Token => {
                let made = agent
                    .grants()
                    .create_token(Provision::First, None, &person())
                    .await;
                let made = made.unwrap();
                let entered = wren.memoir.authenticate(made.secret.expose()).await;
                assert!(entered.unwrap().is_some());
            }
        }
    }
}

/// The ways for an agent's text to get into a table, before which its tokens were revoked or expired.
fn stories(table: &Table) -> &'static [Story] {
    match table.name {
        "agent_prompts" => &[Story::Prompt],
        // Sessions, vectors and indexes need memories.
        "memories" | "memory_vectors" | "word_indexes" | "sessions" => &[Story::Memory],
        "audit_records" | "log_summaries" => &[Story::Prompt, Story::Answer],
        "access_requests" => &[Story::Answer],
        "transcript_messages" => &[
            Story::Conversation(ActorKind::Agent),
            Story::Conversation(ActorKind::Owner),
        ],
        // Responses to requests with a token.
        "replies" | "tokens" => &[Story::Token],
        // No text of an agent: names and settings, and the credentials of administrators.
        "agents" | "users" => &[],
        other => panic!("which story brings text of an agent into `{other}`?"),
    }
}

async fn first_token(wren: &TestAgent) -> Result<(), Error> {
    let made = wren
        .agent
        .grants()
        .create_token(Provision::First, None, &person())
        .await?;
    let revoked = wren
        .agent
        .grants()
        .revoke_token(made.view.id, &person())
        .await;
    revoked.map(drop)
}

#[tokio::test(start_paused = true)]
async fn spec_5_5_text_in_any_table_makes_an_agent_in_use() {
    let holds_text = |table: &&Table| {
        let mut columns = table.columns.iter();
        columns.any(|(name, _)| ["sealed", "body"].contains(name))
    };
    for table in TABLES.iter().filter(holds_text) {
        for story in stories(table) {
            let wren = TestAgent::new(&[]).await;
            first_token(&wren).await.unwrap();
            story.happens_to(&wren).await;
            for token in wren.agent.grants().tokens().await.unwrap() {
                wren.agent
                    .grants()
                    .revoke_token(token.id, &person())
                    .await
                    .unwrap();
            }
            let refused = first_token(&wren).await;
            assert!(
                matches!(refused, Err(Error::ConsentNeeded(_))),
                "{}: {story:?}",
                table.name
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn spec_5_5_a_token_that_ran_out_leaves_a_conversation_closed() {
    let wren = TestAgent::new(&[]).await;
    let end = Some(wren.agent.now().plus_seconds(60));
    let made = wren
        .agent
        .grants()
        .create_token(Provision::First, end, &person())
        .await;
    made.unwrap();
    Story::Conversation(ActorKind::Agent)
        .happens_to(&wren)
        .await;
    wren.clock.advance(std::time::Duration::from_secs(61));
    let refused = first_token(&wren).await;
    assert!(matches!(refused, Err(Error::ConsentNeeded(_))));
}

#[tokio::test(start_paused = true)]
async fn spec_5_5_what_an_administrator_handed_over_keeps_the_first_token_open() {
    let wren = TestAgent::new(&[]).await;
    Story::Conversation(ActorKind::Administrator)
        .happens_to(&wren)
        .await;
    first_token(&wren).await.unwrap();
}

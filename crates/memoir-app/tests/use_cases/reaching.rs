//! Finding an agent, its sessions and its memories, and none of another agent (SPEC 5.3, 5.6).

use memoir_app::{Error, Handling, OwnAgent};
use memoir_domain::{
    agent::Field,
    memory::Number,
    session::{Mode, State},
};
use memoir_testkit::input;
use rusqlite::Connection;

use crate::installation::{OWNER, agent_of, handle_by, new_folder, own, person, save_by};

fn code<T>(result: Result<T, Error>) -> &'static str {
    match result {
        Ok(_) => "done",
        Err(error) => error.code(),
    }
}

#[tokio::test]
async fn an_agent_answers_to_what_it_is_found_by_and_to_nothing_else() {
    let folder = new_folder();
    let memoir = folder.open().memoir;
    let wren = agent_of(&memoir, "Wren").await;
    let finch = agent_of(&memoir, "finch").await;
    let strasse = agent_of(&memoir, "Straße").await;
    let account = memoir.account("default").await.unwrap();
    let ids = [&wren, &finch].map(|agent| agent.scope().agent.to_string());
    // None can be named like another's identifier.
    let named = account.create_agent(&ids[0], &[], &person()).await;
    assert_eq!(named.unwrap_err().code(), "invalid_argument");
    let texts = [
        "Wren",
        " wren\t",
        "WREN",
        "wren.",
        "wre",
        "",
        "finch",
        "STRASSE",
        "straße",
        ids[0].as_str(),
        &ids[0].to_uppercase(),
        &ids[1],
        "01a02b3c-0000-7000-8000-000000000000",
    ];
    let mut found = 0;
    for text in texts {
        let by_name = account.agent(text).await.ok().map(|agent| agent.scope());
        for agent in [&wren, &finch, &strasse] {
            let answers = agent.answers_to(text);
            assert_eq!(
                answers,
                by_name == Some(agent.scope()),
                "{text:?}: {}",
                agent.name()
            );
            found += usize::from(answers);
        }
    }
    assert!(found >= 9, "{found}");
    assert!(wren.answers_to(&ids[0]) && !finch.answers_to(&ids[0]));
}

async fn furnished(agent: &OwnAgent, texts: &[&str]) {
    for text in texts {
        save_by(agent, &[input(text)], &person()).await;
    }
}

#[tokio::test]
async fn spec_5_6_the_sessions_of_others_are_not_there() {
    let folder = new_folder();
    let memoir = folder.open().memoir;
    memoir.create_account("other", &OWNER).await.unwrap();
    let wren = agent_of(&memoir, "wren").await;
    let finch = agent_of(&memoir, "finch").await;
    let other = memoir.account("other").await.unwrap();
    other.create_agent("wren", &[], &person()).await.unwrap();
    let gull = own(&other.agent("wren").await.unwrap());
    let mut ids = Vec::new();
    for agent in [&wren, &finch, &gull] {
        furnished(agent, &["One.", "Two, and a little more."]).await;
        let (session, _) = agent.open_own(Mode::Full).await.unwrap();
        assert_eq!(session.state, State::Open);
        ids.push(session.id);
    }
    for (at, agent) in [&wren, &finch, &gull].into_iter().enumerate() {
        for (of, id) in ids.iter().enumerate() {
            let found = agent.settings().own_session_id(&format!(" {id} ")).await;
            match found {
                Ok(found) => assert_eq!((at, *id), (of, found)),
                Err(error) => {
                    assert!(at != of && matches!(error, Error::NoSession(_)), "{error}");
                }
            }
        }
        for nothing in ["", "session", "01a02b3c-0000-7000-8000-000000000000"] {
            assert_eq!(
                code(agent.settings().own_session_id(nothing).await),
                "not_found"
            );
        }
    }
}

#[tokio::test]
async fn one_memory_is_read_by_its_number_discarded_or_not() {
    let folder = new_folder();
    let memoir = folder.open().memoir;
    let (wren, finch) = (
        agent_of(&memoir, "wren").await,
        agent_of(&memoir, "finch").await,
    );
    furnished(&wren, &["One.", "Two."]).await;
    handle_by(&wren, Number(2), Handling::Discard, &person()).await;
    let all = wren.lens().memories(true).await.unwrap();
    for memory in &all {
        assert_eq!(wren.lens().memory(memory.number).await.unwrap(), *memory);
    }
    assert!(all[1].discarded_at.is_some());
    for missing in [0, 3, u64::MAX] {
        assert_eq!(
            code(wren.views().memory(Number(missing)).await),
            "not_found"
        );
    }
    assert_eq!(code(finch.views().memory(Number(1)).await), "not_found");
}

#[tokio::test]
async fn spec_5_3_one_memory_that_was_changed_or_moved_is_not_shown() {
    for (how, expected) in [
        (
            "UPDATE memories SET constitutional = 1 WHERE number = 1 AND agent_id = ?1",
            "tampered",
        ),
        (
            "UPDATE memories SET created_at = created_at + 1 WHERE number = 1 AND agent_id = ?1",
            "tampered",
        ),
        (
            "UPDATE memories SET body = (SELECT body FROM memories WHERE number = 2 AND agent_id = ?1) \
             WHERE number = 1 AND agent_id = ?1",
            "tampered",
        ),
        (
            "UPDATE memories SET body = (SELECT body FROM memories WHERE number = 1 AND agent_id <> ?1) \
             WHERE number = 1 AND agent_id = ?1",
            "tampered",
        ),
        (
            "DELETE FROM memories WHERE number = 1 AND agent_id = ?1",
            "tampered",
        ),
    ] {
        let folder = new_folder();
        let memoir = folder.open().memoir;
        let wren = agent_of(&memoir, "wren").await;
        furnished(&wren, &["One.", "Two."]).await;
        furnished(&agent_of(&memoir, "finch").await, &["One."]).await;
        let id = wren.scope().agent;
        Connection::open(folder.database())
            .unwrap()
            .execute(how, [id.as_bytes()])
            .unwrap();
        assert_eq!(
            code(wren.views().memory(Number(1)).await),
            expected,
            "{how}"
        );
        assert_eq!(code(wren.views().memory(Number(2)).await), "done", "{how}");
    }
}

#[tokio::test]
async fn spec_5_4_of_an_erased_agent_no_memory_is_shown() {
    let folder = new_folder();
    let memoir = folder.open().memoir;
    let wren = agent_of(&memoir, "wren").await;
    let provision = memoir_app::Provision::Any;
    let made = wren.grants().create_token(provision, None, &person()).await;
    let made = made.unwrap();
    furnished(&wren, &["One."]).await;
    let model = [(Field::Model, None)];
    wren.settings().configure(&model, &person()).await.unwrap();
    wren.log().erase(&person()).await.unwrap();
    for number in [1, 99] {
        assert_eq!(code(wren.views().memory(Number(number)).await), "erased");
        assert_eq!(code(wren.views().memory(Number(number)).await), "erased");
    }
    assert_eq!(code(wren.lens().memories(true).await), "erased");
    assert_eq!(code(wren.lens().memories(false).await), "erased");
    let entered = memoir.enter(made.secret.expose()).await.unwrap();
    assert!(entered.is_none());
}

//! Nothing of one agent is ever reachable through another (SPEC 1, 5.6).

use std::sync::Arc;

use memoir_domain::{AgentScope, memory::Number, session::State};

use super::fixtures::*;
use crate::{AgentQuery, Commit, Counting, Error, MemoryPage, RecordFilter, Selection, Store};

pub(super) async fn another_account_reaches_nothing(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut commit = author.saving(vec![memory(1), memory(2)]);
    commit.sessions = vec![session(1, author.id())];
    author.write(commit).await.unwrap();
    Author::new(&store, 2, 2).await;
    let before = author.everything().await;

    // The agent under another account, and another agent's identifier under its own.
    for stranger in [
        AgentScope {
            account: account_id(2),
            ..author.scope()
        },
        scope(3, 1),
        scope(1, 2),
        scope(1, 3),
    ] {
        let wanted = AgentQuery {
            memories: Selection::All,
            marks_after: Some(at(0)),
            session: Some(session_id(1)),
            prompts: true,
            open_requests: true,
            transcript: true,
            counting: Counting::Always,
        };
        assert_eq!(store.snapshot(stranger, &wanted).await.unwrap(), None);
        assert_eq!(store.memories(stranger, &[Number(1)]).await.unwrap(), []);
        let links = store.archive_links(stranger, &[Number(1)]).await.unwrap();
        assert_eq!(links, []);
        let page = MemoryPage {
            limit: 9,
            with_discarded: true,
            ..MemoryPage::default()
        };
        assert_eq!(store.memory_page(stranger, &page).await.unwrap(), []);
        assert_eq!(store.session_page(stranger, None, 9).await.unwrap(), []);
        let sizes = store.session_sizes(stranger, None, 9).await.unwrap();
        assert!(sizes.is_empty());
        let filter = RecordFilter::default();
        assert_eq!(store.records(stranger, &filter).await.unwrap(), []);
        let sizes = store.record_sizes(stranger, &filter).await.unwrap();
        assert!(sizes.is_empty());
        assert_eq!(store.records_at(stranger, &[1, 2]).await.unwrap(), []);
        let renewed = store.renew_lease(stranger, session_id(1), 1, at(500)).await;
        assert!(!renewed.unwrap());
        let mut commit = author.saving(vec![memory(3)]);
        commit.agent.scope = stranger;
        commit.prompts = Some(text("stranger's"));
        commit.bodies = vec![body(1, 2)];
        assert!(matches!(store.commit(commit).await, Err(Error::Conflict)));
    }
    assert_eq!(author.everything().await, before);
    let owner = |account| store.session_owner(account_id(account), session_id(1));
    assert_eq!(owner(1).await.unwrap(), Some(author.scope()));
    assert_eq!(owner(2).await.unwrap(), None);
    let named = store.agent_named(account_id(2), "agent-1").await;
    assert_eq!(named.unwrap(), None);
    assert_eq!(store.agents(account_id(2)).await.unwrap().len(), 1);
    assert_eq!(store.agents(account_id(3)).await.unwrap(), []);
    for (account, agents) in [(2, 1), (3, 0)] {
        let page = store.agent_page(account_id(account), None, 9).await;
        assert_eq!(page.unwrap().len(), agents);
    }

    // An agent of an account that does not exist is not made.
    let mut orphan = author.making();
    orphan.agent = agent(9, 9, "orphan");
    assert!(store.commit(orphan).await.is_err());
    assert_sound(&store).await;
}

pub(super) async fn a_session_stays_with_its_agent(store: Arc<dyn Store>) {
    let mut first = Author::new(&store, 1, 1).await;
    let second = Author::new(&store, 1, 2).await;
    let row = ended(session(1, first.id()), State::Completed);
    first.refine(vec![row.clone()]).await;

    // Neither in the name of the other agent nor under its own.
    let mut stolen = row.clone();
    stolen.agent = second.id();
    for session in [stolen, row.clone()] {
        assert!(store.commit(second.refining(vec![session])).await.is_err());
    }
    assert_eq!(first.sessions().await, [row]);
    assert_eq!(second.sessions().await, []);
    let wanted = AgentQuery::of_session(session_id(1));
    assert_eq!(second.look(wanted).await.session, None);
    assert_eq!(second.stored().await, second.agent);
    assert_sound(&store).await;
}

pub(super) async fn names_are_unique_whatever_the_case(store: Arc<dyn Store>) {
    store.create_account(&account(1, "Home")).await.unwrap();
    let answer = store.create_account(&account(2, "HOME")).await;
    assert!(matches!(answer, Err(Error::NameTaken)), "{answer:?}");
    let accounts = store.accounts().await.unwrap();
    assert_eq!(accounts, [account(1, "Home")]);

    let mut wren = Author::new(&store, 3, 1).await;
    let mut rook = Author::new(&store, 3, 2).await;
    let named = |author: &Author, name: &str| {
        let mut commit = author.commit();
        commit.agent.columns.name = name.to_owned();
        commit.agent.columns.folded_name = name.to_lowercase();
        commit
    };
    let commit = named(&wren, "Wren");
    wren.write(commit).await.unwrap();
    // A new one of that name, and another one that wants it.
    let twin = Commit {
        agent: agent(3, 3, "WREN"),
        ..wren.making()
    };
    for refused in [twin, named(&rook, "wREN")] {
        let answer = store.commit(refused).await;
        assert!(matches!(answer, Err(Error::NameTaken)), "{answer:?}");
    }
    assert_eq!(store.agents(account_id(3)).await.unwrap().len(), 2);
    // Another account's may have it, and its owner may write it otherwise.
    Author::new(&store, 4, 4).await;
    let elsewhere = Author::new(&store, 4, 5).await;
    store.commit(named(&elsewhere, "wren")).await.unwrap();
    let commit = named(&wren, "WREN");
    wren.write(commit).await.unwrap();
    // Once released it is free.
    let commit = named(&wren, "Robin");
    wren.write(commit).await.unwrap();
    let commit = named(&rook, "Wren");
    rook.write(commit).await.unwrap();
    let found = store.agent_named(account_id(3), "wren").await.unwrap();
    assert_eq!(found, Some(rook.agent));
    let found = store.agent_named(account_id(3), "robin").await.unwrap();
    assert_eq!(found, Some(wren.agent));
    assert_sound(&store).await;
}

pub(super) async fn spec_5_4_the_name_of_an_erased_agent_is_free(store: Arc<dyn Store>) {
    let named = async |name: &str| store.agent_named(account_id(1), name).await.unwrap();
    let mut expected = Vec::new();
    // In an order of which neither the identifiers nor the names are.
    for (number, erased_at) in [(3, 10), (1, 30), (2, 20)] {
        let mut author = Author::new(&store, 1, number).await;
        let mut commit = author.commit();
        commit.agent.columns.name = "Wren".to_owned();
        commit.agent.columns.folded_name = "wren".to_owned();
        author.write(commit).await.unwrap();
        // While it lives, it is the one of that name.
        assert_eq!(named("wren").await, Some(author.agent.clone()));
        author
            .change(|commit| commit.agent.columns.erased_at = Some(at(erased_at)))
            .await;
        expected.push(author.agent);
    }
    // The one that was erased last, and not the one that was made last.
    assert_eq!(named("wren").await, Some(expected[1].clone()));
    let living = Author::new(&store, 1, 4).await;
    let mut taken = Commit {
        agent: expected[0].clone(),
        expected_version: Some(expected[0].document.version),
        ..living.commit()
    };
    taken.agent.columns.folded_name = living.agent.columns.folded_name.clone();
    taken.agent.columns.erased_at = None;
    let answer = store.commit(taken).await;
    assert!(matches!(answer, Err(Error::NameTaken)), "{answer:?}");
    expected.push(living.agent);

    // All of them are there still.
    let agents = store.agents(account_id(1)).await.unwrap();
    let names = agents.iter().map(|agent| &*agent.columns.folded_name);
    assert!(names.eq(["agent-4", "wren", "wren", "wren"]), "{agents:?}");
    for agent in &expected {
        assert!(agents.contains(agent));
        let found = store.snapshot(agent.scope, &AgentQuery::default()).await;
        assert_eq!(found.unwrap().unwrap().agent, *agent);
    }
    assert_eq!(store.agents(account_id(2)).await.unwrap(), []);
    let named = store.agent_named(account_id(2), "wren").await;
    assert_eq!(named.unwrap(), None);
    assert_sound(&store).await;
}

pub(super) async fn scopes_are_those_of_every_agent(store: Arc<dyn Store>) {
    let (mut expected, mut erased) = (Vec::new(), Vec::new());
    for (account, number) in [(2, 5), (1, 9), (1, 1), (3, 3), (2, 7)] {
        let mut author = Author::new(&store, account, number).await;
        if [9, 7].contains(&number) {
            author.erase().await;
            erased.push(author.scope());
        }
        expected.push(author.scope());
    }
    for (found, mut expected) in [
        (store.scopes().await, expected),
        (store.erased().await, erased),
    ] {
        expected.sort_by_key(|scope| scope.agent);
        assert_eq!(found.unwrap(), expected);
    }
    assert!(store.finish().await.unwrap(), "nothing is half-done");
}

//! SPEC 2.5 and 2.6: promotions and notes of the agent's model, and the handling of unusable responses.

use std::{future::pending, sync::Arc, time::Duration};

use memoir_app::{
    Absorbed, Clock, Error, HandedMessage, LifeSchedule, MemoryInput, Reflected, ShredWish,
    without_waiting,
};
use memoir_domain::{
    absorption::CoreNote,
    agent::Field,
    audit::{Actor, ActorKind},
    memory::{Kind, Number},
    origin::Origin,
    session::FailureClass,
};
use memoir_model::{ModelError, ModelMessage};
use memoir_testkit::{Turn, input, journal};
use serde_json::json;

use crate::installation::{TestAgent, complete, person, save_by, settings};

const DAY: Duration = Duration::from_secs(86_400);

async fn note(wren: &TestAgent, content: &str) -> u64 {
    let saved = save_by(&wren.agent, &[journal(content)], &Actor::agent("wren")).await;
    saved[0].memory.number.0
}

async fn reflect(wren: &TestAgent, turns: impl IntoIterator<Item = Turn>) -> Reflected {
    let script = wren.script(turns);
    let reflected = wren.agent.life().reflect().await.unwrap();
    assert_eq!(script.turns_left(), 0);
    reflected
}

fn message(id: &str, text: &str) -> HandedMessage {
    HandedMessage {
        at: Some("2026-02-01T10:00:00Z".parse().unwrap()),
        ..memoir_testkit::message(id, text)
    }
}

async fn absorb(wren: &TestAgent, turns: impl IntoIterator<Item = Turn>) -> Absorbed {
    let script = wren.script(turns);
    let absorbed = wren.absorb().await;
    assert_eq!(script.turns_left(), 0);
    absorbed
}

fn notes(journal: &[&str], core: &[&str]) -> Turn {
    Turn::text(&json!({"journal": journal, "core": core}).to_string())
}

#[tokio::test(start_paused = true)]
async fn spec_2_5_the_model_names_what_is_to_stay() {
    let wren = TestAgent::new(&["I like rain."]).await;
    note(&wren, "It rained.").await;
    let kept = note(&wren, "Mira's daughter is called Ada.").await;
    let script = wren.script([Turn::text(&json!({"promote": [kept]}).to_string())]);
    let reflected = wren.agent.life().reflect().await.unwrap();
    assert_eq!(reflected.considered, 2);
    assert_eq!(reflected.promoted[0].0, kept);
    let request = &script.requests()[0];
    assert_eq!(request.answer_schema.as_ref().unwrap().name, "promotions");
    let memory = wren.facts(kept).await;
    assert_eq!(memory.kind, Kind::Core);
    assert_eq!(wren.actions().await.last().unwrap(), "reflection_completed");
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_2_5_an_answer_that_cannot_be_read_is_asked_for_once_more() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let number = note(&wren, "It rained.").await;
    let script = wren.script([
        Turn::text("The first one, I think."),
        Turn::text(&json!({"promote": [number]}).to_string()),
    ]);
    let reflected = wren.agent.life().reflect().await.unwrap();
    assert_eq!(reflected.promoted.len(), 1);
    let second = &script.requests()[1].messages;
    assert_eq!(second.len(), 3);
    let ModelMessage::User(repair) = &second[2] else {
        panic!("the repair is asked for by Memoir");
    };
    assert!(repair.expose().contains("no JSON object with `promote`"));
}

#[tokio::test(start_paused = true)]
async fn spec_2_5_broken_answers_of_every_kind_promote_nothing_and_are_recorded() {
    let broken = [
        "",
        "no JSON",
        "{\"promote\": [1",
        "{\"promote\": \"all\"}",
        "{\"promote\": [99]}",
        "{\"promote\": [1.5]}",
        "[1]",
        "<think>{\"promote\": [2]}",
        "\u{0}{\"promote\"}",
    ];
    for answer in broken {
        let wren = TestAgent::new(&["I like rain."]).await;
        note(&wren, "It rained.").await;
        let reflected = reflect(&wren, [Turn::text(answer), Turn::text(answer)]).await;
        assert!(
            reflected.promoted.is_empty() && reflected.failure.is_some(),
            "{answer}"
        );
        assert_eq!(wren.actions().await.last().unwrap(), "reflection_failed");
        wren.check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn spec_2_5_a_provider_without_schemas_is_asked_without_one() {
    let wren = TestAgent::new(&["I like rain."]).await;
    note(&wren, "It rained.").await;
    let script = wren.script([
        Turn::rejected(400, FailureClass::ServerError),
        Turn::Error(ModelError::RateLimited { retry_after: None }),
        Turn::text(r#"{"promote": []}"#),
    ]);
    let reflected = wren.agent.life().reflect().await.unwrap();
    assert_eq!((reflected.failure, reflected.promoted.len()), (None, 0));
    let asked: Vec<bool> = script
        .requests()
        .iter()
        .map(|request| request.answer_schema.is_some())
        .collect();
    assert_eq!(asked, [true, false, false]);
}

#[tokio::test(start_paused = true)]
async fn spec_2_5_reflection_comes_once_a_day_while_there_is_something_new() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let mut schedule = LifeSchedule::default();
    let script = wren.script([]);
    let mut asked = Vec::new();
    for day in 0..6 {
        // Two days with entries, one of them with two.
        if day == 0 || day == 3 {
            note(&wren, "It rained.").await;
            note(&wren, "It rained again.").await;
        }
        for _ in 0..4 {
            wren.clock.advance(DAY / 4);
            for job in schedule.due(&wren.memoir, 4).await.unwrap() {
                script.push(Turn::text(r#"{"promote": []}"#));
                assert!(wren.memoir.do_job(job, pending()).await.unwrap());
                asked.push(day);
            }
        }
    }
    assert_eq!(asked, [0, 3]);
    // A paused agent is not asked.
    note(&wren, "It snowed.").await;
    wren.configure(&[(Field::Paused, Some("true"))]).await;
    wren.clock.advance(DAY);
    assert!(schedule.due(&wren.memoir, 4).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_a_conversation_is_read_once() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let messages = vec![
        message("a", "Hello."),
        message("b", "My sister is called Mira."),
    ];
    let handed = wren
        .hand_over(messages.clone(), true, ActorKind::Agent)
        .await;
    assert_eq!((handed.received, handed.known), (2, 0));
    let absorbed = absorb(
        &wren,
        [notes(&["Ann came by."], &["Ann's sister is called Mira."])],
    )
    .await;
    assert_eq!(
        (absorbed.messages, absorbed.saved, absorbed.pending),
        (2, 2, 0)
    );
    let handed = wren.hand_over(messages, true, ActorKind::Agent).await;
    assert_eq!((handed.received, handed.known), (0, 2));
    assert_eq!(absorb(&wren, []).await.messages, 0);
    let noted = wren.seen().memory(Number(2)).await.unwrap();
    assert_eq!(noted.content(), "Ann came by.");
    assert_eq!(noted.created_at.to_string(), "2026-02-01T10:00:00Z");
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_a_message_is_known_by_its_identifier_and_its_content_on_each_side() {
    let wren = TestAgent::new(&[]).await;
    let hand = async |messages: Vec<HandedMessage>, by| {
        let life = wren.agent.life();
        let handed = life.hand_over(messages, false, by).await.unwrap();
        (handed.received, handed.known)
    };
    let (agent, administrator) = (ActorKind::Agent, ActorKind::Administrator);
    let planted = vec![message("msg_1", "junk"), message("msg_2", "It rains.")];
    assert_eq!(hand(planted.clone(), administrator).await, (2, 0));
    let own = vec![
        message("msg_1", "My allergy is nuts."),
        message("msg_2", "It rains."),
    ];
    assert_eq!(hand(own.clone(), agent).await, (2, 0));
    assert_eq!(hand(own.clone(), ActorKind::Owner).await, (0, 2));
    // Whether the agent has such a message shows in no count of an administrator's.
    assert_eq!(hand(own, administrator).await, (1, 1));
    assert_eq!(hand(planted, administrator).await, (0, 2));
    let mut changed = message("msg_1", "My allergy is nuts.");
    changed.at = None;
    assert_eq!(hand(vec![changed.clone()], agent).await, (0, 1));
    changed.speaker = "Bo".into();
    assert_eq!(hand(vec![changed], agent).await, (1, 0));
    let ends = vec![message("a", "bc"), message("ab", "c")];
    assert_eq!(hand(ends, agent).await, (2, 0));
    assert_eq!(wren.agent.life().transcript().await.unwrap().pending, 8);
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_an_absorbed_conversation_can_be_read_once_more_for_seven_days() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let message = message("a", "My sister is called Mira.");
    wren.hand_over(vec![message], true, ActorKind::Agent).await;
    assert_eq!(
        absorb(&wren, [notes(&[], &[])]).await.saved,
        0,
        "a bad reading"
    );
    assert_eq!(wren.agent.life().absorb_again().await.unwrap(), 1);
    let absorbed = absorb(&wren, [notes(&[], &["Ann's sister is called Mira."])]).await;
    assert_eq!((absorbed.messages, absorbed.saved), (1, 1));
    wren.clock.advance(6 * DAY);
    wren.memoir.forget_words().await.unwrap();
    let wish = ShredWish::of(Number(1), "a slip");
    let shredded = wren.agent.memories().shred(wish, &person()).await.unwrap();
    // A shredding names the conversation to the agent.
    let stored = shredded.transcript.unwrap();
    assert_eq!((stored.waiting, stored.absorbed), (0, 1));
    assert!(stored.absorbed_until.is_some());
    wren.clock.advance(DAY);
    // Also where nothing more is handed over, and no service runs.
    wren.memoir.finish().await.unwrap();
    let row = wren.store.transcript(wren.agent.scope()).await.unwrap();
    assert_eq!(row.kept, 0);
    assert_eq!(wren.agent.life().absorb_again().await.unwrap(), 0);
    assert_eq!(wren.agent.life().transcript().await.unwrap().absorbed, 1);
    wren.check().await;
}

/// What is read, and what is finished by the way, while another process has the database locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_reading_waits_for_no_other_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let store = Arc::new(memoir_store_sqlite::SqliteStore::open(&path).unwrap());
    let wren = TestAgent::on(store, &["I like rain."], settings()).await;
    let life = wren.agent.life();
    let handed = life.hand_over(vec![message("a", "It rains.")], true, ActorKind::Agent);
    handed.await.unwrap();
    absorb(&wren, [notes(&[], &["It rained."])]).await;
    wren.clock.advance(8 * DAY);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writer = tokio::spawn({
        let agent = wren.agent.clone();
        async move {
            let actor = Actor::agent("wren");
            let saved = agent.memories().save(&[input("Snow.")], &actor).await;
            saved.map(drop)
        }
    });
    for most in [400, 500] {
        // Another bound, which is noted.
        let context = wren.agent.context(Some(most)).await.unwrap();
        assert!(context.text.expose().contains("I like rain."));
    }
    let finished = without_waiting(wren.memoir.finish()).await.unwrap();
    let left: Vec<&str> = finished.left.iter().map(|left| &*left.what).collect();
    assert_eq!(left, ["words of absorbed conversations are not removed"]);
    assert!(!writer.is_finished(), "the others waited as long");
    raw.execute_batch("ROLLBACK").unwrap();
    writer.await.unwrap().unwrap();
    assert!(wren.memoir.finish().await.unwrap().left.is_empty());
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_a_draft_beside_the_answer_saves_nothing_and_uses_nothing_up() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let message = message("a", "My sister is called Mira.");
    wren.hand_over(vec![message], true, ActorKind::Agent).await;
    let drafted = || {
        Turn::text(
            "Draft: {\"journal\": [], \"core\": []}\nFinal: {\"journal\": [], \"core\": [\"Ann's sister is called Mira.\"]}",
        )
    };
    let absorbed = absorb(&wren, [drafted(), drafted()]).await;
    assert_eq!(
        (absorbed.messages, absorbed.saved, absorbed.pending),
        (0, 0, 1)
    );
    assert!(absorbed.failure.unwrap().contains("two different"));
    // Asked once more it gives one; drafts in its reasoning do not count.
    let answer = "[THINK]{\"journal\": [], \"core\": []}[/THINK]{\"journal\": [], \"core\": [\"Ann's sister is called Mira.\"]}";
    let absorbed = absorb(&wren, [drafted(), Turn::text(answer)]).await;
    assert_eq!((absorbed.messages, absorbed.saved), (1, 1));
    wren.check().await;
}

/// An agent with a memory of its own, and a conversation that says the same.
async fn handed_over_by(kind: ActorKind, told: &str) -> TestAgent {
    let wren = TestAgent::new(&[]).await;
    let me = Actor::agent("wren");
    save_by(&wren.agent, &[input(told)], &me).await;
    let actor = Actor {
        kind,
        name: "somebody".to_owned(),
    };
    wren.hand_over(vec![message("a", told)], true, actor.kind)
        .await;
    wren
}

#[tokio::test(start_paused = true)]
async fn spec_3_4_messages_from_an_administrator_are_merged_with_nothing_of_the_agents() {
    let told = "Ann's sister is called Mira.";
    for (kind, copies) in [
        (ActorKind::Administrator, 2),
        (ActorKind::Owner, 1),
        (ActorKind::Agent, 1),
    ] {
        let wren = handed_over_by(kind, told).await;
        absorb(&wren, [notes(&[], &[told])]).await;
        let noted = wren.seen().memories(false).await.unwrap();
        let noted = noted.iter().find(|one| one.number.0 == 2).unwrap();
        assert_eq!(noted.origin, Origin::Conversation);
        wren.refine([complete()]).await;
        assert_eq!(wren.kept().await.len(), copies, "{kind:?}");
        assert!(wren.agent.log().verify().await.unwrap().valid);
    }
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_what_was_submitted_explicitly_stays_due_when_more_is_added() {
    let wren = TestAgent::new(&["I like rain."]).await;
    wren.hand_over(vec![message("a", "Hello.")], true, ActorKind::Agent)
        .await;
    let explicit = wren.agent.life().transcript().await.unwrap().due_at;
    wren.clock.advance(Duration::from_secs(1));
    wren.hand_over(vec![message("b", "Bye.")], false, ActorKind::Agent)
        .await;
    let waiting = wren.agent.life().transcript().await.unwrap();
    assert_eq!((waiting.pending, waiting.due_at), (2, explicit));
    absorb(&wren, [notes(&[], &[])]).await;
    // Once it is read, the next message waits for six hours again.
    wren.hand_over(vec![message("c", "Hello.")], false, ActorKind::Agent)
        .await;
    let idle = wren.clock.now().plus(DAY / 4);
    let waiting = wren.agent.life().transcript().await.unwrap();
    assert_eq!((waiting.pending, waiting.due_at), (1, Some(idle)));
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_what_cannot_be_read_is_retried_later_and_given_up_in_the_end() {
    let wren = TestAgent::new(&["I like rain."]).await;
    wren.hand_over(vec![message("a", "Hello.")], false, ActorKind::Agent)
        .await;
    let mut schedule = LifeSchedule::default();
    let script = wren.script([]);
    assert!(
        schedule.due(&wren.memoir, 4).await.unwrap().is_empty(),
        "six hours are not over"
    );
    let mut attempts = 0;
    for _ in 0..40 {
        wren.clock.advance(DAY / 4);
        for job in schedule.due(&wren.memoir, 4).await.unwrap() {
            attempts += 1;
            script.push(Turn::text("Nothing worth noting."));
            script.push(Turn::text("Really nothing."));
            wren.memoir.do_job(job, pending()).await.unwrap();
        }
    }
    assert_eq!(attempts, 5);
    let transcript = wren.agent.life().transcript().await.unwrap();
    assert_eq!(
        (transcript.pending, transcript.failed, transcript.absorbed),
        (0, 1, 0)
    );
    let failed = wren.actions().await;
    let failed = failed
        .iter()
        .filter(|action| *action == "transcript_failed")
        .count();
    assert_eq!(failed, 5);
    // On request it is tried again.
    let absorbed = absorb(&wren, [notes(&[], &[])]).await;
    assert_eq!((absorbed.messages, absorbed.failure), (1, None));
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_chunks_follow_each_other_and_a_later_run_goes_on() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let long = "word ".repeat(20_000);
    let messages = vec![
        message("a", &long),
        message("b", &long),
        message("c", "Bye."),
    ];
    wren.hand_over(messages, true, ActorKind::Agent).await;
    wren.configure(&[(Field::Model, Some("lab:large"))]).await;
    // The second chunk fails: the first one stays read.
    let down = Turn::rejected(401, FailureClass::KeyRefused);
    let absorbed = absorb(&wren, [notes(&["One."], &[]), down]).await;
    assert_eq!((absorbed.chunks, absorbed.messages), (1, 1));
    assert!(absorbed.failure.is_some());
    assert_eq!(absorbed.pending, 2);
    let shown = |request: &memoir_model::ModelRequest| {
        let ModelMessage::User(question) = &request.messages[0] else {
            panic!("the first message is the question");
        };
        ["\"One.\"", "\"Two.\""].map(|note| question.expose().contains(note))
    };
    let script = wren.script([notes(&["Two."], &[]), notes(&["Three."], &[])]);
    let absorbed = wren.absorb().await;
    assert_eq!((absorbed.saved, absorbed.pending), (2, 0));
    let asked: Vec<[bool; 2]> = script.requests().iter().map(shown).collect();
    assert_eq!(asked, [[true, false], [true, true]]);
    // What was noted of another conversation is none of its earlier parts.
    wren.clock.advance(DAY);
    let another = vec![message("d", "Hello again.")];
    wren.hand_over(another, true, ActorKind::Agent).await;
    let script = wren.script([notes(&["Four."], &[])]);
    assert_eq!(wren.absorb().await.saved, 1);
    assert_eq!(shown(&script.requests()[0]), [false, false]);
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_of_two_readers_one_saves() {
    let wren = TestAgent::new(&["I like rain."]).await;
    wren.hand_over(vec![message("a", "Hello.")], true, ActorKind::Agent)
        .await;
    let slow = |text: &str| notes(&[text], &[]).after(Duration::from_secs(5));
    wren.script([slow("One."), slow("Two.")]);
    let (mut first, mut second) = (|_: &Absorbed| {}, |_: &Absorbed| {});
    let (one, other) = tokio::join!(
        wren.agent.life().absorb(pending(), &mut first),
        wren.agent.life().absorb(pending(), &mut second)
    );
    assert_eq!(one.unwrap().saved + other.unwrap().saved, 1);
    assert_eq!(wren.journal().await.len(), 1);
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_what_the_agent_read_itself_no_model_is_asked_about() {
    let wren = TestAgent::new(&["I like rain."]).await;
    wren.hand_over(vec![message("a", "Hello.")], true, ActorKind::Agent)
        .await;
    assert_eq!(
        wren.agent.life().unread().await.unwrap(),
        0,
        "its model reads them"
    );
    let part = wren.agent.read_part().await.unwrap().part.unwrap();
    let journal = ["Ann came by.".into()];
    let noted = wren.agent.note_part(&part, &journal, &[]).await.unwrap();
    assert_eq!((noted.messages, noted.saved, noted.waiting), (1, 1, 0));
    let actions = wren.actions().await;
    assert!(actions.ends_with(&["memory_saved".to_owned(), "transcript_absorbed".to_owned()]));
    let script = wren.script([]);
    wren.clock.advance(DAY);
    let mut schedule = LifeSchedule::default();
    for job in schedule.due(&wren.memoir, 4).await.unwrap() {
        if matches!(job, memoir_app::Job::Absorb(_)) {
            assert!(!wren.memoir.do_job(job, pending()).await.unwrap());
        }
    }
    assert!(script.requests().is_empty());
    let due = wren.agent.life().transcript().await.unwrap();
    assert_eq!((due.pending, due.absorbed, due.due_at), (0, 1, None));
    let due = wren.memoir.account("default").await.unwrap();
    let due = due.due_jobs().await.unwrap();
    assert!(
        due.iter()
            .all(|(_, job)| !matches!(job, memoir_app::Job::Absorb(_)))
    );
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_of_the_agent_and_its_model_one_saves() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let messages = vec![message("a", "Hello."), message("b", "Bye.")];
    wren.hand_over(messages, true, ActorKind::Agent).await;
    let part = wren.agent.read_part().await.unwrap().part.unwrap();
    absorb(&wren, [notes(&["One."], &[])]).await;
    let refused = wren.agent.note_part(&part, &["Two.".into()], &[]).await;
    assert!(matches!(refused, Err(Error::Invalid(_))));
    assert_eq!(wren.journal().await.len(), 1);
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_3_4_what_an_administrator_handed_over_stays_theirs_where_the_agent_reads_it_itself() {
    let told = "Ann's sister is called Mira.";
    for (kind, copies) in [(ActorKind::Administrator, 2), (ActorKind::Agent, 1)] {
        let wren = handed_over_by(kind, told).await;
        let part = wren.agent.read_part().await.unwrap().part.unwrap();
        let core = [CoreNote::Text(told.into())];
        wren.agent.note_part(&part, &[], &core).await.unwrap();
        wren.refine([complete()]).await;
        assert_eq!(wren.kept().await.len(), copies, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_messages_have_limits_and_a_bad_one_keeps_all_out() {
    let wren = TestAgent::new(&[]).await;
    let bad = |message: HandedMessage| async {
        let given = wren
            .agent
            .life()
            .hand_over(
                vec![self::message("a", "fine"), message],
                true,
                ActorKind::Agent,
            )
            .await;
        given.unwrap_err().to_string()
    };
    let told = bad(message("", "Hello.")).await;
    assert!(told.contains("id: of message 2 is empty"), "{told}");
    let told = bad(message("b", "")).await;
    assert!(told.contains("text: of message 2 is empty"), "{told}");
    let told = bad(message(&"x".repeat(10_001), "Hello.")).await;
    assert!(told.contains("10001") && told.contains("10000"), "{told}");
    assert_eq!(wren.agent.life().transcript().await.unwrap().pending, 0);
}

#[tokio::test(start_paused = true)]
async fn spec_6_3_a_refiner_that_follows_rules_reads_no_conversation() {
    let wren = TestAgent::new(&[]).await;
    let named = "builtin:careful".parse().unwrap();
    let script = memoir_testkit::ModelScript::new([]).with_name(named);
    wren.model.set(Arc::new(script));
    wren.hand_over(vec![message("a", "Hello.")], true, ActorKind::Agent)
        .await;
    let refused = wren.agent.life().absorb(pending(), &mut |_| {}).await;
    assert!(matches!(refused, Err(Error::RulesOnly(_))));
    assert_eq!(wren.agent.life().transcript().await.unwrap().pending, 1);
}

/// Until the model has been asked something.
async fn asked(script: &memoir_testkit::ModelScript) {
    while script.requests().is_empty() {
        tokio::task::yield_now().await;
    }
}

/// Messages with a mark each, and those marks in each question.
fn marked(count: usize, length: usize) -> Vec<HandedMessage> {
    let text = |place: usize| format!("mark{place:03} {}", "word ".repeat(length / 5));
    (0..count)
        .map(|place| message(&format!("m{place}"), &text(place)))
        .collect()
}

fn marks(request: &memoir_model::ModelRequest) -> Vec<String> {
    let ModelMessage::User(question) = &request.messages[0] else {
        panic!("the first message is the question");
    };
    let words = question.expose().split([' ', '"']);
    words
        .filter(|word| word.starts_with("mark"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_one_message_that_no_answer_fits_takes_few_others_with_it() {
    let wren = TestAgent::new(&["I like rain."]).await;
    wren.hand_over(marked(40, 8_000), false, ActorKind::Agent)
        .await;
    // A question with message 20 cannot be answered.
    let script = Arc::new(memoir_testkit::ModelScript::always(Turn::respond(
        |request| match marks(request).contains(&"mark020".to_owned()) {
            true => Turn::text("I would rather not."),
            false => notes(&[], &[]),
        },
    )));
    wren.model.set(script.clone());
    let mut schedule = LifeSchedule::default();
    for _ in 0..40 {
        wren.clock.advance(DAY / 4);
        for job in schedule.due(&wren.memoir, 4).await.unwrap() {
            wren.memoir.do_job(job, pending()).await.unwrap();
        }
    }
    let transcript = wren.agent.life().transcript().await.unwrap();
    assert_eq!((transcript.pending, transcript.failed), (0, 1));
    assert_eq!(transcript.absorbed, 39);
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_a_message_larger_than_the_models_context_is_not_cut_but_given_up() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let mut messages = marked(3, 2_000);
    messages[1].text = "word ".repeat(8_000).into();
    wren.hand_over(messages, false, ActorKind::Agent).await;
    let read = |context, turns: Vec<Turn>| {
        let script = memoir_testkit::ModelScript::new(turns).with_context_tokens(context);
        let script = Arc::new(script);
        wren.model.set(script.clone());
        script
    };
    let script = read(6_000, vec![notes(&["One."], &[]), notes(&["Three."], &[])]);
    let absorbed = wren.absorb().await;
    let told = absorbed.failure.unwrap();
    assert!(told.contains("larger than the model's context"), "{told}");
    assert_eq!((absorbed.messages, absorbed.saved), (2, 2));
    let asked: Vec<Vec<String>> = script.requests().iter().map(marks).collect();
    assert_eq!(asked, [["mark000"], ["mark002"]]);
    assert_eq!(wren.agent.life().transcript().await.unwrap().failed, 1);
    // A larger model reads it.
    read(100_000, vec![notes(&["Two."], &[])]);
    let absorbed = wren.absorb().await;
    assert_eq!((absorbed.messages, absorbed.failure), (1, None));
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_what_is_stopped_goes_on_at_once() {
    let wren = TestAgent::new(&["I like rain."]).await;
    wren.hand_over(marked(2, 100), true, ActorKind::Agent).await;
    let mut schedule = LifeSchedule::default();
    let jobs = schedule.due(&wren.memoir, 4).await.unwrap();
    let script = wren.script([notes(&["One."], &[]).after(DAY)]);
    let stop = asked(&script);
    assert!(wren.memoir.do_job(jobs[0], stop).await.unwrap());
    assert_eq!(wren.agent.life().transcript().await.unwrap().pending, 2);
    // Another process finds it due, and asks.
    let jobs = LifeSchedule::default().due(&wren.memoir, 4).await.unwrap();
    assert_eq!(jobs.len(), 1);
    wren.script([notes(&["One."], &[])]);
    assert!(wren.memoir.do_job(jobs[0], pending()).await.unwrap());
    assert_eq!(wren.agent.life().transcript().await.unwrap().absorbed, 2);
}

#[tokio::test(start_paused = true)]
async fn spec_2_5_a_reflection_that_is_stopped_is_due_as_before() {
    let wren = TestAgent::new(&["I like rain."]).await;
    note(&wren, "It rained.").await;
    wren.clock.advance(DAY);
    let mut schedule = LifeSchedule::default();
    let due = schedule.due(&wren.memoir, 4).await.unwrap();
    let script = wren.script([Turn::text(r#"{"promote": [2]}"#).after(DAY)]);
    wren.memoir.do_job(due[0], asked(&script)).await.unwrap();
    assert_eq!(schedule.due(&wren.memoir, 4).await.unwrap(), due);
    wren.script([Turn::text(r#"{"promote": [2]}"#)]);
    wren.memoir.do_job(due[0], pending()).await.unwrap();
    assert_eq!(wren.kept().await, [1, 2]);
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_who_need_not_wait_takes_over_and_the_other_one_stops() {
    let wren = TestAgent::new(&["I like rain."]).await;
    // Each a chunk of its own.
    wren.hand_over(marked(3, 100_000), true, ActorKind::Agent)
        .await;
    let script = Arc::new(memoir_testkit::ModelScript::always(Turn::respond(
        |request| {
            // The notes of earlier parts precede the conversation.
            let marks = marks(request);
            let read = marks.last().unwrap();
            notes(&[read.as_str()], &[]).after(Duration::from_secs(10))
        },
    )));
    wren.model.set(script.clone());
    let job = LifeSchedule::default().due(&wren.memoir, 4).await.unwrap()[0];
    let scheduled = wren.memoir.do_job(job, pending());
    let by_hand = async {
        asked(&script).await;
        wren.agent
            .life()
            .absorb(pending(), &mut |_| {})
            .await
            .unwrap()
    };
    let (scheduled, by_hand) = tokio::join!(scheduled, by_hand);
    assert!(!scheduled.unwrap(), "it is passed over");
    // Either may have been the one that saved the first chunk.
    assert!((2..=3).contains(&by_hand.messages), "{by_hand:?}");
    let mut journal = wren.journal().await;
    journal.sort();
    assert_eq!(journal, ["mark000", "mark001", "mark002"]);
    // The first chunk was asked about twice, and no other.
    assert_eq!(script.requests().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_an_agent_that_is_paused_is_read_to_by_hand_only_and_one_out_of_service_not() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let set = async |field, value| {
        let set = [(field, Some(value))];
        wren.configure(&set).await;
    };
    wren.hand_over(marked(1, 10), true, ActorKind::Agent).await;
    set(Field::Paused, "true").await;
    let job = LifeSchedule::default().due(&wren.memoir, 4).await.unwrap()[0];
    wren.script([]);
    assert!(!wren.memoir.do_job(job, pending()).await.unwrap());
    set(Field::Active, "false").await;
    let refused = wren.agent.life().absorb(pending(), &mut |_| {}).await;
    assert_eq!(refused.unwrap_err().code(), "inactive");
    set(Field::Active, "true").await;
    assert_eq!(absorb(&wren, [notes(&[], &[])]).await.messages, 1);
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_agents_that_cannot_be_read_to_delay_no_other() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let account = wren.memoir.account("default").await.unwrap();
    for place in 0..5 {
        let name = format!("wren {place}");
        let paused = [(Field::Paused, Some("true"))];
        let other = account.create_agent(&name, &paused, &person()).await;
        other.unwrap();
        let other = account.agent(&name).await.unwrap();
        other
            .life()
            .hand_over(marked(1, 10), true, ActorKind::Agent)
            .await
            .unwrap();
    }
    wren.clock.advance(Duration::from_secs(1));
    wren.hand_over(marked(1, 10), true, ActorKind::Agent).await;
    wren.script([notes(&[], &[])]);
    let mut schedule = LifeSchedule::default();
    for _ in 0..5 {
        for job in schedule.due(&wren.memoir, 2).await.unwrap() {
            if !wren.memoir.do_job(job, pending()).await.unwrap() {
                schedule.pass_over(job, wren.memoir.now());
            }
        }
    }
    assert_eq!(wren.agent.life().transcript().await.unwrap().absorbed, 1);
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_a_request_that_the_provider_refuses_is_tried_with_less() {
    let wren = TestAgent::new(&["I like rain."]).await;
    wren.hand_over(marked(4, 2_000), false, ActorKind::Agent)
        .await;
    let refused = || Turn::rejected(400, FailureClass::ServerError);
    // Without the schema it is refused too.
    let absorbed = absorb(&wren, [refused(), refused()]).await;
    assert!(absorbed.failure.unwrap().contains("400"));
    assert_eq!(wren.actions().await.last().unwrap(), "transcript_failed");
    let script = wren.script([notes(&[], &[])]);
    wren.absorb().await;
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_a_provider_that_refuses_the_key_is_asked_again_after_a_day() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let messages = vec![message("a", "Hello.")];
    let handed = wren
        .agent
        .life()
        .hand_over(messages, true, ActorKind::Agent);
    handed.await.unwrap();
    let refused = ModelError::Rejected {
        status: 401,
        code: None,
        class: FailureClass::KeyRefused,
        hint: Some("the provider does not accept the key".to_owned()),
    };
    let day = Duration::from_secs(24 * 3_600);
    for _ in 0..2 {
        let now = wren.clock.now();
        let absorbed = absorb(&wren, [Turn::Error(refused.clone())]).await;
        let told = absorbed.failure.unwrap();
        assert!(
            told.ends_with("; the provider does not accept the key"),
            "{told}"
        );
        let transcript = wren.agent.life().transcript().await.unwrap();
        assert_eq!((transcript.pending, transcript.failed), (1, 0));
        assert_eq!(transcript.due_at, Some(now.plus(day)));
        wren.clock.advance(day);
    }
    let failed = wren.actions().await;
    let failed = failed
        .iter()
        .filter(|action| *action == "transcript_failed");
    assert_eq!(failed.count(), 2, "on the record");
    // One that is only out of reach is asked again soon.
    let now = wren.clock.now();
    let out = ModelError::Unavailable {
        outage: memoir_model::Outage::Connect,
        retry_after: Some(ModelError::LONGEST_WAIT),
    };
    absorb(&wren, [Turn::Error(out)]).await;
    let due_at = wren.agent.life().transcript().await.unwrap().due_at;
    assert_eq!(due_at, Some(now.plus(Duration::from_secs(900))));
    assert_eq!(
        absorb(&wren, [notes(&["Ann said hello."], &[])])
            .await
            .messages,
        1
    );
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_a_conversation_of_the_future_leaves_no_memory_of_the_future() {
    let wren = TestAgent::new(&["I like rain."]).await;
    let mut messages = marked(1, 10);
    messages[0].at = Some("9999-01-01T00:00:00Z".parse().unwrap());
    wren.hand_over(messages, true, ActorKind::Agent).await;
    absorb(&wren, [notes(&["Odd."], &[])]).await;
    let noted = wren.agent.views().memory(Number(2)).await;
    assert_eq!(noted.unwrap().created_at, wren.memoir.now());
}

#[tokio::test(start_paused = true)]
async fn spec_5_4_what_waits_goes_with_the_agent() {
    let wren = TestAgent::new(&["I like rain."]).await;
    wren.hand_over(marked(3, 10), true, ActorKind::Agent).await;
    let script = wren.script([notes(&["One."], &[]).after(Duration::from_secs(10))]);
    let job = LifeSchedule::default().due(&wren.memoir, 4).await.unwrap()[0];
    let reading = wren.memoir.do_job(job, pending());
    let erasing = async {
        asked(&script).await;
        wren.agent.log().erase(&person()).await.unwrap();
    };
    let (read, ()) = tokio::join!(reading, erasing);
    assert!(read.is_err(), "no agent is left to remember it");
    assert_eq!(script.requests().len(), 1);
    let mut schedule = LifeSchedule::default();
    assert_eq!(schedule.due(&wren.memoir, 4).await.unwrap(), []);
    let late = wren
        .agent
        .life()
        .hand_over(marked(1, 10), true, ActorKind::Agent)
        .await;
    assert_eq!(late.unwrap_err().code(), "erased");
    wren.check().await;
}

/// A response that promotes an entry in place of others.
fn promote_replacing(number: u64, replaces: &[u64]) -> Turn {
    let promoted = json!({"number": number, "replaces": replaces});
    Turn::text(&json!({"promote": [promoted]}).to_string())
}

async fn save_own(wren: &TestAgent, memory: MemoryInput) -> u64 {
    let saved = save_by(&wren.agent, &[memory], &Actor::agent("wren")).await;
    saved[0].memory.number.0
}

/// The kind of a memory, and the memory above it.
async fn place(wren: &TestAgent, number: u64) -> (Kind, Option<u64>) {
    let memory = wren.facts(number).await;
    (memory.kind, memory.under.map(|under| under.0))
}

async fn last_data(wren: &TestAgent) -> serde_json::Value {
    let last = memoir_app::RecordFilter {
        last: Some(1),
        ..memoir_app::RecordFilter::default()
    };
    let record = wren.seen().records(&last).await.unwrap().remove(0);
    record.words.data.expose().clone()
}

#[tokio::test(start_paused = true)]
async fn spec_2_5_a_promoted_entry_replaces_what_it_names() {
    let wren = TestAgent::new(&[]).await;
    let old = save_own(&wren, input("Mira lives in Porto.")).await;
    let other = save_own(&wren, input("Mira sings.")).await;
    let entry = note(&wren, "Mira moved to Braga.").await;
    let reflected = reflect(&wren, [promote_replacing(entry, &[old, 99])]).await;
    assert_eq!(reflected.promoted, [Number(entry)]);
    assert_eq!(reflected.replaced, [Number(old)]);
    assert_eq!(reflected.not_replaced, 1);
    assert_eq!(place(&wren, entry).await, (Kind::Core, None));
    assert_eq!(place(&wren, old).await, (Kind::Archival, Some(entry)));
    assert_eq!(place(&wren, other).await, (Kind::Core, None));
    let data = last_data(&wren).await;
    assert_eq!(
        data["not_replaced"],
        json!([{"number": 99, "reason": "not_found"}])
    );
    let actions = wren.actions().await;
    assert_eq!(
        actions[actions.len() - 3..],
        ["memory_promoted", "memory_replaced", "reflection_completed"]
    );
    assert!(wren.agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

/// An entry keeps its origin: an absorbed one never replaces the agent's own text.
#[tokio::test(start_paused = true)]
async fn spec_2_5_a_promoted_entry_of_a_weaker_origin_replaces_no_stronger_one() {
    let wren = TestAgent::new(&[]).await;
    let own = save_own(&wren, input("Mira lives in Porto.")).await;
    let heard = MemoryInput {
        origin: Some(Origin::Conversation),
        ..input("Ann says that Mira sings.")
    };
    let heard = save_own(&wren, heard).await;
    let entry = MemoryInput {
        origin: Some(Origin::Conversation),
        ..journal("Ann says that Mira moved, and sings no more.")
    };
    let entry = save_own(&wren, entry).await;
    let reflected = reflect(&wren, [promote_replacing(entry, &[own, heard])]).await;
    assert_eq!(reflected.replaced, [Number(heard)]);
    assert_eq!(reflected.not_replaced, 1);
    assert_eq!(place(&wren, own).await, (Kind::Core, None));
    assert_eq!(place(&wren, heard).await, (Kind::Archival, Some(entry)));
    assert_eq!(
        last_data(&wren).await["not_replaced"],
        json!([{"number": own, "reason": "origin"}])
    );
    let promoted = wren.facts(entry).await;
    assert_eq!(promoted.origin, Origin::Conversation);
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

/// Two texts that a conversation may replace, and #1, the agent's own, which it may not.
async fn with_heard() -> TestAgent {
    let wren = TestAgent::new(&[]).await;
    save_own(&wren, input("I like rain.")).await;
    for text in ["Ann works at the mill.", "Ann's sister is called Mira."] {
        let heard = MemoryInput {
            origin: Some(Origin::Conversation),
            ..input(text)
        };
        save_own(&wren, heard).await;
    }
    let messages = vec![message(
        "a",
        "I left the mill. My sister is called Mirella.",
    )];
    wren.hand_over(messages, true, ActorKind::Agent).await;
    wren
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_an_absorbed_entry_replaces_what_has_changed() {
    let wren = with_heard().await;
    let answer = json!({
        "journal": ["Ann came by."],
        "core": [
            {"content": "Ann left the mill.", "replaces": [2, 1]},
            {"content": "Ann's sister is called Mirella.", "replaces": ["#3"]},
            "Ann likes tea.",
        ],
    });
    let script = wren.script([Turn::text(&answer.to_string())]);
    let absorbed = wren.absorb().await;
    assert_eq!(
        (absorbed.saved, absorbed.replaced, absorbed.not_replaced),
        (4, 2, 1)
    );
    // The model is shown the core memories by number, so that it can name them.
    let ModelMessage::User(asked) = &script.requests()[0].messages[0] else {
        panic!("the transcript is the user's message");
    };
    let asked = format!("{}{}", script.requests()[0].system.expose(), asked.expose());
    assert!(
        asked.contains("#2") && asked.contains("Ann works at the mill."),
        "{asked}"
    );
    assert_eq!(place(&wren, 1).await, (Kind::Core, None));
    assert_eq!(place(&wren, 2).await, (Kind::Archival, Some(5)));
    assert_eq!(place(&wren, 3).await, (Kind::Archival, Some(6)));
    assert_eq!(wren.actions().await.last().unwrap(), "transcript_absorbed");
    assert_eq!(
        last_data(&wren).await["not_replaced"],
        json!([{"number": 1, "reason": "origin"}])
    );
    assert!(wren.agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

#[tokio::test(start_paused = true)]
async fn spec_2_6_an_agent_that_reads_a_transcript_itself_replaces_by_the_same_rules() {
    let wren = with_heard().await;
    // Its context has the core memories by number, so that the part need not show them.
    let part = wren.agent.read_part().await.unwrap();
    let core = [CoreNote::Replacing {
        content: "Ann left the mill.".into(),
        replaces: json!([2, "#1"]),
    }];
    let part = part.part.unwrap();
    let noted = wren.agent.note_part(&part, &[], &core).await.unwrap();
    assert_eq!(noted.replaced, [Number(2)]);
    let not_replaced: Vec<_> = noted
        .not_replaced
        .iter()
        .map(|one| (one.number.0, one.reason.as_str()))
        .collect();
    assert_eq!(not_replaced, [(1, "origin")]);
    assert_eq!(place(&wren, 2).await, (Kind::Archival, Some(4)));
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

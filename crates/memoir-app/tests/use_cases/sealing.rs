//! No text of an agent is unsealed: not in any file of the installation, not in logs, not in errors (SPEC 5.1, 5.3).
//!
//! A unique word goes into every kind of text, and is then searched for in every byte.

use std::{
    fmt::{self, Write as _},
    fs,
    future::pending,
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use memoir_app::{Error, HandedMessage, Handling, MemoryInput, RecordFilter, ShredWish};
use memoir_domain::{
    access::{AccessDraft, AccessKind, AccessScope},
    agent::Field,
    audit::ActorKind,
    audit::{Action, Actor},
    memory::Number,
    session::{FailureClass, State},
};
use memoir_model::{ErrorCode, ModelError};
use memoir_testkit::{
    TestedText, Turn, archival, input, intrude, journal, query, replacing, tamper,
};
use memoir_vault::archive::Passphrase;
use serde_json::{Value, json};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field as TraceField, Visit},
    span,
};

use crate::installation::{
    TestAgent, complete, configure_by, delete, new_folder, own, person, rehearsal, request_by,
    shred_by,
};

/// A word for each kind of text: letters and digits only, so that none is escaped anywhere, and none that is a part of
/// another.
const CANARIES: [(&str, &str); 32] = [
    ("a core memory", "zilpzalp01q"),
    ("a journal entry", "wiedehopf02q"),
    ("a tag", "zaunkoenig03q"),
    ("a source", "rohrdommel04q"),
    ("a constitutional text", "eisvogel05q"),
    ("the system prompt", "pirol06q"),
    ("the reflection prompt", "neuntoeter07q"),
    ("the memory reflection prompt", "grasmuecke08q"),
    ("the refinement prompt", "kleiber09q"),
    ("a summary", "girlitz10q"),
    ("a reason for declining", "bachstelze11q"),
    ("a rehearsed text", "haubenmeise12q"),
    ("a removed detail", "schwarzspecht13q"),
    ("a reason for shredding", "turmfalke14q"),
    ("a query", "waldkauz15q"),
    ("an original text", "mauersegler16q"),
    ("a discarded memory", "feldlerche17q"),
    ("a refused argument", "goldammer18q"),
    ("a shredded memory", "steinkauz19q"),
    ("a prompt that was replaced", "sperling20q"),
    ("an answer of the model", "uferschnepfe21q"),
    ("the name of an unknown tool", "brachvogel22q"),
    ("a purpose", "regenpfeifer31q"),
    ("a reason for an answer", "wasserralle32q"),
    ("what a person said", "ziegenmelker41q"),
    ("who said it", "rotschwanz42q"),
    ("a message's identifier", "braunkehl43q"),
    ("what was noted of it", "dorngras44q"),
    ("an archived original", "wendehals51q"),
    ("a summary of memories", "rohrsaenger52q"),
    ("a replaced memory", "sumpfohreule53q"),
    ("a memory saved as archival", "kiebitz54q"),
];

fn canary(what: &str) -> &'static str {
    CANARIES
        .iter()
        .find(|(kind, _)| *kind == what)
        .unwrap_or_else(|| panic!("no word for {what}"))
        .1
}

/// The canaries found in `bytes`, in any form that a text can have there.
fn found(bytes: &[u8]) -> Vec<&'static str> {
    let lower = bytes.to_ascii_lowercase();
    let is_in = |needle: &[u8]| lower.windows(needle.len()).any(|window| window == needle);
    CANARIES
        .iter()
        .filter(|(_, word)| {
            let escaped: String = word
                .chars()
                .map(|letter| format!("\\u{:04x}", letter as u32))
                .collect();
            let utf16: Vec<u8> = word.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let utf16_be: Vec<u8> = word.encode_utf16().flat_map(u16::to_be_bytes).collect();
            let hex: String = word.bytes().map(|byte| format!("{byte:02x}")).collect();
            [
                word.as_bytes(),
                escaped.as_bytes(),
                &utf16,
                &utf16_be,
                hex.as_bytes(),
            ]
            .iter()
            .any(|needle| is_in(needle))
        })
        .map(|(kind, _)| *kind)
        .collect()
}

/// Every file of the folder, by name, with the canaries found in it.
fn search(dir: &Path) -> Vec<(String, Vec<&'static str>)> {
    let files = fs::read_dir(dir).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let bytes = fs::read(entry.path()).unwrap();
        (name, found(&bytes))
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    files
}

/// Everything that Memoir's crates trace, at every level.
struct Tracer;

static TRACED: Mutex<String> = Mutex::new(String::new());

struct Writer<'a>(&'a mut String);

impl Visit for Writer<'_> {
    fn record_debug(&mut self, field: &TraceField, value: &dyn fmt::Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

fn trace(write: impl FnOnce(&mut String)) {
    write(&mut TRACED.lock().unwrap_or_else(PoisonError::into_inner));
}

impl Subscriber for Tracer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("memoir")
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        trace(|text| {
            let _ = write!(text, "\n{}", attributes.metadata().name());
            attributes.record(&mut Writer(text));
        });
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        trace(|text| values.record(&mut Writer(text)));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        trace(|text| {
            let metadata = event.metadata();
            let _ = write!(text, "\n{} {}", metadata.level(), metadata.target());
            event.record(&mut Writer(text));
        });
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Once for the whole process: traces come from all threads.
fn traced() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| tracing::subscriber::set_global_default(Tracer).unwrap());
}

/// The texts of errors, in both forms.
#[derive(Default)]
struct Said(String, usize);

impl Said {
    fn error<T>(&mut self, result: Result<T, Error>) -> Error {
        let Err(error) = result else {
            panic!("there was no error")
        };
        let _ = writeln!(self.0, "{error} {error:?}");
        self.1 += 1;
        error
    }

    fn value(&mut self, value: &impl fmt::Debug) {
        let _ = writeln!(self.0, "{value:?}");
    }
}

fn text_with(what: &str, rest: &str) -> String {
    format!("The {} of {rest}", canary(what))
}

async fn save(wren: &TestAgent, input: MemoryInput) -> Number {
    wren.save(&[input]).await[0].memory.number
}

fn with(what: &str, rest: &str) -> MemoryInput {
    input(&text_with(what, rest))
}

/// Saves every word in its kind of text.
async fn fill(wren: &TestAgent, said: &mut Said) {
    let agent = &wren.agent;
    let prompt = |field, what| (field, text_with(what, "a prompt that nobody else may read"));
    let prompts = [
        prompt(Field::SystemPrompt, "a prompt that was replaced"),
        prompt(Field::ReflectionPrompt, "the reflection prompt"),
        prompt(
            Field::MemoryReflectionPrompt,
            "the memory reflection prompt",
        ),
        prompt(Field::RefinementPrompt, "the refinement prompt"),
    ];
    let prompts: Vec<_> = prompts
        .iter()
        .map(|(field, text)| (*field, Some(text.as_str())))
        .collect();
    configure_by(agent, &prompts, &person()).await;
    let system = text_with("the system prompt", "who this agent is");
    let system = [(Field::SystemPrompt, Some(system.as_str()))];
    configure_by(agent, &system, &person()).await;

    let core = with(
        "a core memory",
        "the bookbinder lies on the shelf by the door",
    );
    let core = MemoryInput {
        tags: vec![canary("a tag").into()],
        source: Some(canary("a source").into()),
        ..core
    };
    save(wren, core).await;
    let entry = text_with("a journal entry", "this morning was quiet and long");
    save(wren, journal(&entry)).await;
    let protected = with("a constitutional text", "a vow that is kept for all time");
    let protected = MemoryInput {
        constitutional: true,
        ..protected
    };
    save(wren, protected).await;
    let oiled = "the press was oiled on the first day of May";
    let old = save(wren, with("an original text", oiled)).await;
    let cat = "the cat came in from the garden";
    let discarded = save(wren, with("a discarded memory", cat)).await;
    let detail = canary("a removed detail");
    let met = format!("They met in {} on 3 May 2024 at noon.", capital(detail));
    let detailed = save(wren, input(&met)).await;
    let key = "the key of the back door, 4711";
    let shredded = save(wren, with("a shredded memory", key)).await;
    for number in 0..6 {
        let filler = format!(
            "A long and quiet memory number {number} of a day by the sea, with nothing in it to remove."
        );
        save(wren, input(&filler)).await;
    }

    let (session, _) = wren
        .refine([
            Turn::call("search_memories", json!({"query": canary("a query")})),
            Turn::call(
                "update_memory",
                json!({"id": old.0, "content": "The press was oiled on the first day of May, as it is."}),
            ),
            Turn::call(
                "update_memory",
                json!({"id": detailed.0, "content": "They met on 3 May 2024 at noon, in a place by a river."}),
            ),
            delete(discarded.0),
            Turn::call("delete_memory", json!({"id": canary("a refused argument")})),
            Turn::malformed_call("delete_memory", canary("a refused argument")),
            Turn::call(canary("the name of an unknown tool"), json!({"id": 1})),
            Turn::text(canary("an answer of the model")),
            Turn::call(
                "complete_refinement",
                json!({"summary": text_with("a summary", "what was done and why")}),
            ),
        ])
        .await;
    assert_eq!(session.state, State::Completed);
    assert_eq!(session.edits, 3);
    said.value(&session);
    let updates = RecordFilter {
        actions: vec![Action::MemoryRefinementUpdate],
        ..RecordFilter::default()
    };
    let lost = agent.lens().records(&updates).await.unwrap();
    let lost = serde_json::to_string(&lost).unwrap().to_lowercase();
    assert!(lost.contains(detail), "the detail is in the record");
    archive(wren, said).await;

    let reason = text_with("a reason for declining", "why I will not");
    wren.script([Turn::text(&format!("No. {reason}"))]);
    let declined = wren.drive().await;
    assert_eq!(declined.state, State::Declined);
    // Until then the agent is not asked again.
    wren.clock.advance(Duration::from_secs(24 * 60 * 60));
    let reworded = text_with(
        "a rehearsed text",
        "a long and quiet memory of a day by the sea, number 0",
    );
    let reword = Turn::call("update_memory", json!({"id": 8, "content": reworded}));
    let rehearsed = wren.refine_with(&rehearsal(), [reword, complete()]).await.0;
    assert_eq!(rehearsed.state, State::Completed);
    said.value(&rehearsed);
    let broken = ModelError::Rejected {
        status: 400,
        code: ErrorCode::new("context_length_exceeded"),
        class: FailureClass::ServerError,
        hint: None,
    };
    let (failed, _) = wren.refine([Turn::Error(broken)]).await;
    assert_eq!(failed.state, State::Failed);
    said.value(&failed);
    let reason = text_with("a reason for shredding", "what must not be");
    shred_by(agent, ShredWish::of(shredded, &reason), &person()).await;
    talk(wren, said).await;
    use_access(wren, said).await;
    provoke(wren, said, session.id, shredded).await;
}

/// Fills the archive, under the guard that does: by an edit, by replacing, and by saving.
async fn archive(wren: &TestAgent, said: &mut Said) {
    let me = Actor::agent("wren");
    let agent = &wren.agent;
    let guard = |guard| [(Field::LossGuard, guard)];
    agent.settings().configure(&guard(None), &me).await.unwrap();
    // A summary may have no word with digits that its source lacks.
    let kept = format!(
        "the {} stands by the river, as it always did",
        canary("a summary of memories")
    );
    let original = with("an archived original", &format!("the mill: {kept}"));
    let original = save(wren, original).await;
    let replaced = save(wren, with("a replaced memory", "the mill is open")).await;
    let old = text_with("a memory saved as archival", "the mill is old");
    save(wren, archival(&old)).await;
    let newer =
        "The mill is closed, and its wheel stands still until the ice on the river is gone.";
    let newer = replacing(newer, &[replaced.0, 999]);
    let saved = agent.memories().save(&[newer], &person()).await.unwrap();
    assert_eq!(saved[0].replaced, Some(vec![replaced]));
    said.value(&saved);
    let update = json!({"id": original.0, "content": kept});
    let unsupported = json!({"id": original.0, "content": format!("{kept} since 1871")});
    let (session, _) = wren
        .refine([
            Turn::call("update_memory", unsupported),
            Turn::call("update_memory", update),
            complete(),
        ])
        .await;
    assert_eq!((session.state, session.archived), (State::Completed, 1));
    assert_eq!(session.refused_calls, 1);
    said.value(&session);
    // The rest is about a guard under which edits may write any text.
    configure_by(agent, &guard(Some("off")), &person()).await;
}

/// One message that was read, one that waits, one that failed permanently, and useless responses.
async fn talk(wren: &TestAgent, said: &mut Said) {
    let agent = &wren.agent;
    let message = |id: &str| HandedMessage {
        id: format!("{} {id}", canary("a message's identifier")).into(),
        at: None,
        speaker: text_with("who said it", "the neighbours").into(),
        text: text_with("what a person said", "the weather").into(),
    };
    said.value(&message("a"));
    let hand_over = |id| wren.hand_over(vec![message(id)], true, ActorKind::Agent);
    said.value(&hand_over("a").await);
    let noted = text_with("what was noted of it", "the weather");
    let answer = json!({"journal": [noted], "core": []}).to_string();
    let word = canary("an answer of the model");
    wren.script([Turn::text(word), Turn::text(&answer)]);
    let mut observer = |progress: &memoir_app::Absorbed| said.value(progress);
    let absorbed = agent.life().absorb(pending(), &mut observer).await.unwrap();
    assert_eq!(absorbed.saved, 1);
    said.value(&absorbed);
    hand_over("b").await;
    for _ in 0..5 {
        wren.script([Turn::text(word), Turn::text(word)]);
        let absorbed = wren.absorb().await;
        said.value(&absorbed);
        said.value(&serde_json::to_string(&absorbed).unwrap());
    }
    hand_over("c").await;
    let standing = agent.life().transcript().await.unwrap();
    assert_eq!((standing.pending, standing.failed), (1, 1));
    said.value(&standing);
    for bad in [
        HandedMessage {
            id: canary("a message's identifier").repeat(1_000).into(),
            ..message("d")
        },
        HandedMessage {
            speaker: canary("who said it").repeat(1_000).into(),
            ..message("d")
        },
        HandedMessage {
            text: "".into(),
            ..message("d")
        },
    ] {
        let life = agent.life();
        said.error(life.hand_over(vec![bad], true, ActorKind::Agent).await);
    }
    wren.script([Turn::text(word), Turn::text(word)]);
    said.value(&agent.life().reflect().await.unwrap());
    wren.script([]);
}

/// Requests, decided by the agent's model, used, and refused in each way that contains text.
async fn use_access(wren: &TestAgent, said: &mut Said) {
    let agent = &wren.agent;
    let draft = |scope, words: &str| AccessDraft {
        kind: AccessKind::Read { scope, minutes: 9 },
        purpose: words.into(),
    };
    let purpose = text_with("a purpose", "what is to be found out");
    let draft_of_all = draft(AccessScope::All, &purpose);
    said.value(&draft_of_all);
    let request = request_by(agent, &draft_of_all, &person()).await;
    said.value(&request);
    let answer = format!("YES, {}", canary("a reason for an answer"));
    wren.script([Turn::text(&answer)]);
    said.value(&agent.grants().ask_for_access(request.id).await.unwrap());
    let views = agent.views();
    let mechanic = views.seen_by(memoir_app::Viewer::administrator(person()));
    said.value(&mechanic.memory(Number(1)).await.unwrap());
    said.value(&mechanic.show().await.unwrap());
    let records = mechanic.record_page(&RecordFilter::default(), 1, 200).await;
    said.value(&records.unwrap().0);
    said.value(&agent.grants().open_access().await.unwrap());
    let me = Actor::agent("wren");
    let word = canary("a refused argument");
    for words in [word.to_owned(), word.repeat(1_000)] {
        let (grants, words) = (agent.grants(), Some(words.into()));
        said.error(grants.answer_access(request.id, false, words, &me).await);
    }
    let too_long = draft(AccessScope::Core, &word.repeat(1_000));
    said.error(agent.grants().request_access(&too_long, &person()).await);
    said.error(agent.grants().own_access_id("17").await);
    said.value(&agent.grants().revoke_access(request.id, &me).await.unwrap());
    wren.script([]);
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// Every refusal that contains text.
async fn provoke(
    wren: &TestAgent,
    said: &mut Said,
    session: memoir_domain::SessionId,
    shredded: Number,
) {
    let agent = &wren.agent;
    let word = canary("a refused argument");
    let asked = query(canary("a query"), 5);
    said.value(&agent.lens().recall(&asked).await.unwrap());
    let long = query(&word.repeat(2_000), 5);
    said.error(agent.lens().recall(&long).await);
    let tagged = MemoryInput {
        tags: vec![format!("{word}\n{word}").into()],
        ..input(word)
    };
    let sourced = MemoryInput {
        source: Some(word.repeat(1_000).into()),
        ..input(word)
    };
    let too_long = input(&word.repeat(1_000));
    for bad in [too_long, input(&format!("{word}\0")), tagged, sourced] {
        said.error(agent.memories().save(&[bad], &person()).await);
    }
    let prompt = word.repeat(10_001);
    let prompt = [(Field::SystemPrompt, Some(prompt.as_str()))];
    said.error(agent.settings().configure(&prompt, &person()).await);
    let threshold = [(Field::RefinementThreshold, Some(word))];
    said.error(agent.settings().configure(&threshold, &person()).await);
    for (number, reason) in [(Number(1), word.repeat(1_000)), (shredded, word.to_owned())] {
        let wish = ShredWish::of(number, &reason);
        said.error(agent.memories().shred(wish, &person()).await);
    }
    for (number, handling) in [(1, Handling::Promote), (999, Handling::Restore)] {
        let (memories, number) = (agent.memories(), Number(number));
        said.error(memories.handle(number, handling, &person()).await);
    }
    said.error(agent.history(Some(Number(999))).await);
    said.error(agent.sessions().apply_rehearsal(session, &person()).await);
    let bad = memoir_app::import::read(
        format!("{{\"content\": \"{word}\", \"{word}\": 1}}\n{word}").as_bytes(),
        None,
        wren.memoir.now(),
    );
    assert_eq!(bad.bad.len(), 2);
    said.value(&bad);
    said.error(wren.memoir.check_growth(word.as_bytes(), None).await);
    let account = wren.memoir.account("default").await.unwrap();
    let passphrase = Passphrase::from_text("a passphrase that is long enough").unwrap();
    let me = person();
    let adopted = account.adopt(word.into(), passphrase, None, &me);
    said.error(adopted.await);
    let arguments = json!({word: word});
    let answer = agent.call_tool(session, word, Some(&arguments)).await;
    said.value(&answer.unwrap());
}

/// Everything that the holder of the key may read, and everything that was written, as one text.
async fn plain(wren: &TestAgent) -> String {
    let (agent, lens) = (&wren.agent, wren.seen());
    let records = lens.records(&RecordFilter::default()).await.unwrap();
    let mut all = vec![
        json!(lens.memories(true).await.unwrap()),
        json!(records),
        json!(agent.views().show().await.unwrap()),
        json!(agent.history(None).await.unwrap()),
    ];
    for session in lens.session_page(None, u32::MAX).await.unwrap() {
        all.push(json!(lens.session(session.id).await.unwrap()));
    }
    Value::from(all).to_string()
}

/// Reported nowhere, and kept only in waiting conversations: shredded text, and text of a model or a person that had no
/// effect.
const KEPT_NOWHERE: [&str; 8] = [
    "a query",
    "what a person said",
    "who said it",
    "a message's identifier",
    "a refused argument",
    "a shredded memory",
    "an answer of the model",
    "the name of an unknown tool",
];

#[tokio::test]
async fn spec_5_3_no_word_of_an_agents_stands_in_any_file() {
    traced();
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let mut said = Said::default();
    fill(&wren, &mut said).await;
    wren.memoir.checkpoint().await.unwrap();
    let rotated = wren.keys.rotate_key_file(&folder.master_key_file());
    rotated.unwrap();

    // The search finds each word in a plain export.
    let plain = plain(&wren).await;
    let mut kinds = CANARIES.map(|(kind, _)| kind).to_vec();
    kinds.retain(|kind| !KEPT_NOWHERE.contains(kind));
    assert_eq!(found(plain.as_bytes()), kinds);
    let utf16: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(found(&utf16), kinds);

    // Opened, with the log of the database and its index beside it; then closed.
    let open = search(folder.path());
    let names: Vec<&str> = open.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "memoir.db",
            "memoir.db-shm",
            "memoir.db-wal",
            "memoir.keys",
            "memoir.master-key"
        ]
    );
    let none: Vec<_> = open.iter().filter(|(_, words)| !words.is_empty()).collect();
    assert!(none.is_empty(), "{none:?}");
    said.error(wren.memoir.account("nobody").await.map(drop));
    drop(wren);
    let closed = search(folder.path());
    assert!(
        closed.iter().all(|(_, words)| words.is_empty()),
        "{closed:?}"
    );

    // A file with the words, to prove that the search opens files.
    fs::write(folder.path().join("export.json"), &plain).unwrap();
    let with_export = search(folder.path());
    assert_eq!(with_export[0], ("export.json".to_owned(), kinds));

    assert!(said.1 >= 15, "{} errors", said.1);
    assert_eq!(found(said.0.as_bytes()), [] as [&str; 0], "{}", said.0);
}

#[tokio::test]
async fn spec_5_1_no_word_of_an_agents_is_traced() {
    traced();
    // An agent that cannot be read, in two ways: its errors are traced.
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let mut said = Said::default();
    fill(&wren, &mut said).await;
    let account = wren.memoir.account("default").await.unwrap();
    drop(wren);
    intrude(&folder.database(), |connection| {
        let sql = "UPDATE agents SET open = ?1";
        let settings =
            json!({"model": canary("a refused argument"), "nothing": canary("a core memory")});
        connection.execute(sql, [settings.to_string()]).unwrap();
    });
    folder.clock.advance(Duration::from_secs(8 * 86_400));
    account.due_agents().await.unwrap();
    let memoir = folder.open().memoir;
    let mut scheduler = memoir_app::sessions::Scheduler::new(memoir.clone(), 4);
    scheduler.queue_due().await.unwrap();
    let sql = "UPDATE sessions SET state = 'open', lease_until = 1, lease_holder = 1 \
               WHERE id = (SELECT min(id) FROM sessions)";
    tamper(&folder.database(), sql);
    memoir.close_lapsed_sessions().await.unwrap();
    let traced = String::clone(&TRACED.lock().unwrap_or_else(PoisonError::into_inner));
    traced.tells("an agent was skipped");
    traced.tells("a session left behind was not closed");
    assert_eq!(found(traced.as_bytes()), [] as [&str; 0], "{traced}");
}

/// A faulty row is named by its place, and never by its contents.
#[tokio::test]
async fn spec_5_1_no_error_about_a_broken_row_has_a_word_in_it() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let mut said = Said::default();
    fill(&wren, &mut said).await;
    drop(wren);
    let word = canary("a refused argument");
    // Plain text in sealed columns, as from a broken import by hand.
    for (table, column) in [
        ("memories", "kind"),
        ("memories", "body"),
        ("sessions", "state"),
        ("sessions", "open"),
        ("sessions", "sealed"),
        ("audit_records", "actor_kind"),
        ("audit_records", "facts"),
        ("audit_records", "body"),
        ("agent_prompts", "body"),
        ("agents", "open"),
        ("agents", "sealed"),
    ] {
        let copy = folder.path().join("copy");
        folder.copy_to(&copy);
        intrude(&copy, |connection| {
            let sql = format!("UPDATE {table} SET {column} = ?1");
            let value = match column {
                "body" | "sealed" => rusqlite::types::Value::Blob(word.repeat(9).into()),
                _ => rusqlite::types::Value::Text(word.to_owned()),
            };
            connection.execute(&sql, [value]).unwrap();
        });
        let memoir = folder.open_at(&copy).memoir;
        let verified = memoir.verify_all().await.unwrap();
        assert!(!verified[0].valid, "{table}.{column}");
        said.value(&verified);
        said.value(&serde_json::to_string(&verified).unwrap());
        let account = memoir.account("default").await.unwrap();
        let Ok(agent) = account.agent("wren").await else {
            continue;
        };
        let agent = own(&agent);
        let mut failed = 0;
        macro_rules! note {
            ($result:expr) => {
                if let Err(error) = $result {
                    said.error::<()>(Err(error));
                    failed += 1;
                }
            };
        }
        note!(agent.lens().memories(true).await);
        note!(agent.lens().records(&RecordFilter::default()).await);
        note!(agent.lens().session_page(None, 9).await);
        note!(agent.views().show().await);
        note!(agent.context(None).await);
        note!(agent.log().erase(&Actor::system()).await);
        assert!(failed > 0, "{table}.{column}");
        let findings = memoir.examine(&account).await;
        said.value(&findings);
    }
    assert_eq!(found(said.0.as_bytes()), [] as [&str; 0], "{}", said.0);
}

/// The open columns of a memory: numbers, dates, flags and codes. Its text, tags, source and origin are sealed (SPEC
/// 5.3).
const OPEN_COLUMNS: [&str; 16] = [
    "agent_id",
    "number",
    "version",
    "kind",
    "tokens",
    "constitutional",
    "created_at",
    "updated_at",
    "discarded_at",
    "shredded_at",
    "under",
    "archived_at",
    "archived_by",
    "is_summary",
    "core_seq",
    "recorded_at",
];

#[tokio::test]
async fn spec_5_3_what_lies_in_the_open_of_a_memory() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let mut said = Said::default();
    // Enough of the memories of the same age has to stay in the prompt.
    for number in 1..=6 {
        let filler = format!("A long and quiet memory number {number} of a day by the sea.");
        save(&wren, input(&filler)).await;
    }
    archive(&wren, &mut said).await;
    drop(wren);
    let connection = rusqlite::Connection::open(folder.database()).unwrap();
    let mut statement = connection
        .prepare("SELECT name, type FROM pragma_table_info('memories')")
        .unwrap();
    let columns: Vec<(String, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let mut names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let mut expected: Vec<&str> = OPEN_COLUMNS.into_iter().chain(["body"]).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    // The text columns hold only codes.
    let texts = columns.iter().filter(|(_, kind)| kind == "TEXT");
    let texts: Vec<&str> = texts.map(|(name, _)| name.as_str()).collect();
    assert_eq!(texts, ["kind", "archived_by"]);
    let codes: String = connection
        .query_row(
            "SELECT group_concat(code, ' ') FROM (SELECT DISTINCT kind || ':' || \
             coalesce(archived_by, '-') AS code FROM memories ORDER BY 1)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(
        codes,
        "archival:replaced archival:saved archival:session core:- journal:-"
    );
    // The archive, number by number: #7 is under the summary #11, and #8 under #10.
    let mut statement = connection
        .prepare(
            "SELECT number, under, is_summary, core_seq IS NULL FROM memories \
             WHERE kind <> 'journal' AND number > 6 ORDER BY number",
        )
        .unwrap();
    let rows: Vec<(i64, Option<i64>, bool, bool)> = statement
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        rows,
        [
            (7, Some(11), false, false),
            (8, Some(10), false, false),
            // Never in the prompt, so that it has no age.
            (9, None, false, true),
            (10, None, false, false),
            (11, None, true, true),
        ]
    );
}

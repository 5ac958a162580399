//! What eleven characters leave of an agent that they refine every week for twenty weeks, over the real loop:
//! the promise of SPEC 3.12 and 3.14 over months. The agent is the one of `memoir demo`.
//!
//! `docs/kept.md` holds the table that comes of it. After a change that is meant:
//! `KEPT=overwrite cargo test -p memoir-app --test it characters -- --nocapture`.

mod cast;
mod mind;
mod said;

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use memoir_app::{Handling, MemoryInput, RecordFilter, ShownRecord, sessions::RefineOptions};
use memoir_details::{Reading, unsaid};
use memoir_domain::{
    SessionId,
    agent::Field,
    audit::{Action, Actor},
    memory::{Kind, Number},
    session::State,
};
use memoir_testkit::{ModelScript, Turn};
use serde_json::{Value, json};

use self::{
    cast::Character,
    mind::{Mind, Score},
    said::Said,
};
use crate::installation::{TestAgent, person};

const WEEKS: u64 = 20;
const WEEK: Duration = Duration::from_secs(7 * 86_400);
/// Answers that a session can take.
const ANSWERS: usize = 40;

/// The core memories of `memoir demo`, and whether each is constitutional.
fn sample() -> Vec<(MemoryInput, bool)> {
    let lines = include_str!("../../../../memoir/demo/memories.jsonl");
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let core = lines.filter(|line| line["kind"] == "core");
    core.map(|line| {
        let tags = line["tags"].as_array().into_iter().flatten();
        let input = MemoryInput {
            content: line["content"].as_str().unwrap().into(),
            tags: tags.map(|tag| tag.as_str().unwrap().into()).collect(),
            ..MemoryInput::default()
        };
        (input, line["constitutional"] == json!(true))
    })
    .collect()
}

/// One agent in the hands of one character.
struct Run {
    character: Character,
    wren: TestAgent,
    mind: Arc<Mutex<Mind>>,
    /// The texts that are there from the beginning, with their numbers.
    sample: Vec<(u64, String)>,
    said: Said,
}

struct Outcome {
    score: Score,
    /// Words of the sample, those of them that are said at the end, and those of the longest sentence.
    words: u64,
    kept: u64,
    longest: u64,
    mass: (u64, u64),
}

impl Run {
    async fn begin(character: Character, guard: &str) -> Self {
        let wren = TestAgent::new(&[]).await;
        let settings = [(Field::LossGuard, Some(guard))];
        wren.agent.configure(&settings, &person()).await.unwrap();
        let mut saved = Vec::new();
        for (place, (input, is_constitutional)) in sample().into_iter().enumerate() {
            let origin = wren.clock.clone();
            let days = 5 * (200 - place as i64);
            let created_at = memoir_app::Clock::now(origin.as_ref()).plus_days(-days);
            let text = input.content.expose().trim().to_owned();
            let input = MemoryInput {
                created_at: Some(created_at),
                ..input
            };
            let agent = Actor::agent("wren");
            let number = wren.agent.save(&[input], &agent).await.unwrap()[0]
                .memory
                .number;
            if is_constitutional {
                wren.agent
                    .handle(number, Handling::Protect, &person())
                    .await
                    .unwrap();
            }
            saved.push((number.0, text));
        }
        let mind = Mind::new(character, wren.agent.clone());
        Self {
            character,
            mind: Arc::new(Mutex::new(mind)),
            said: Said::of(saved.iter().map(|(_, text)| text.as_str())),
            sample: saved,
            wren,
        }
    }

    async fn play(mut self) -> Outcome {
        let character = self.character.as_str();
        let before = self.wren.agent.show().await.unwrap().counts.core_tokens;
        let start = memoir_app::Clock::now(self.wren.clock.as_ref());
        let kept = self.texts().await;
        for week in 1..=WEEKS {
            self.wren.clock.advance(WEEK);
            self.week(week).await;
        }
        let found = self.wren.agent.verify().await.unwrap();
        assert!(found.valid, "{character}: {:?}", found.first_bad);
        self.wren.check().await;
        let after = self.wren.agent.show().await.unwrap().counts.core_tokens;
        let (words, said, longest) = self.kept_words().await;
        self.check_that_somebody_said_all().await;
        self.check_origins().await;
        self.wren.clock.advance(WEEK);
        self.wren.agent.rewind(start, &person()).await.unwrap();
        assert_eq!(
            self.texts().await,
            kept,
            "{character}: every wording is back"
        );
        let found = self.wren.agent.verify().await.unwrap();
        assert!(found.valid, "{character}: {:?}", found.first_bad);
        let score = self.mind.lock().unwrap().score.clone();
        Outcome {
            score,
            words,
            kept: said,
            longest,
            mass: (before, after),
        }
    }

    async fn week(&mut self, week: u64) {
        let saves = {
            let mut mind = self.mind.lock().unwrap();
            mind.week = week;
            self.character.saves(&mut mind, false)
        };
        if !saves.is_empty() {
            let agent = Actor::agent("wren");
            self.wren.agent.save(&saves, &agent).await.unwrap();
        }
        let mind = self.mind.clone();
        let answer = Turn::respond(move |request| mind.lock().unwrap().answer(request));
        let turns = vec![answer; ANSWERS];
        let script = ModelScript::new(std::iter::once(Turn::text("YES")).chain(turns));
        self.wren.model.set(Arc::new(script));
        let options = RefineOptions::default();
        let driven = self
            .wren
            .seen()
            .refine(&options, &mut |_| {})
            .await
            .unwrap();
        let ends = [State::Completed, State::RolledBack];
        assert!(ends.contains(&driven.state), "{driven:?}");
        if self.character == Character::Zombie {
            self.call_from_the_grave(driven.id).await;
        }
    }

    /// Tools of a session that is over, called by the agent's own hand.
    async fn call_from_the_grave(&self, session: SessionId) {
        let before = self.texts().await;
        for (number, _) in self.sample.iter().take(4) {
            for (tool, arguments) in [
                ("delete_memory", json!({"id": number})),
                ("update_memory", json!({"id": number, "content": "Gone."})),
            ] {
                let result = self.wren.agent.call_tool(session, tool, Some(&arguments));
                let result = serde_json::to_value(result.await.unwrap()).unwrap();
                assert_eq!(result["code"], "session_over");
                let mut mind = self.mind.lock().unwrap();
                mind.score.tried += 1;
                let refused = mind.score.refused.entry("session_over".to_owned());
                *refused.or_default() += 1;
            }
        }
        assert_eq!(self.texts().await, before);
    }

    /// The kept core memories.
    async fn texts(&self) -> BTreeMap<u64, String> {
        let memories = self.wren.seen().memories(false).await.unwrap();
        let core = memories.into_iter().filter(|one| one.kind == Kind::Core);
        core.map(|memory| (memory.number.0, memory.content().to_owned()))
            .collect()
    }

    /// Words of the sample, and how many of them are in sentences that the memory says that stands for
    /// them: by a book-keeping of our own from what the records tell of merges and deletes.
    async fn kept_words(&self) -> (u64, u64, u64) {
        let texts = self.texts().await;
        let heirs = self.heirs().await;
        let (mut words, mut kept, mut longest) = (0, 0, 0);
        for (number, text) in &self.sample {
            let reading = Reading::of(text);
            let of_text = u64::from(reading.words());
            let heir = heirs.get(number).copied().unwrap_or(Some(*number));
            let present = heir.and_then(|heir| texts.get(&heir));
            let lost = present.map_or(of_text, |present| {
                let lost = unsaid(&[&reading], &Reading::of(present));
                lost.iter().map(|loss| u64::from(loss.words)).sum()
            });
            words += of_text;
            kept += of_text - lost;
            let sentences = mind::sentences(text).into_iter();
            let longest_here = sentences
                .map(|one| u64::from(Reading::of(&one).words()))
                .max();
            longest = longest.max(longest_here.unwrap_or(0));
        }
        (words, kept, longest)
    }

    async fn records(&self) -> Vec<ShownRecord> {
        let agent = &self.wren.agent;
        agent
            .lens()
            .records(&RecordFilter::default())
            .await
            .unwrap()
    }

    /// Who stands for each memory that is gone; `None` where nobody does.
    async fn heirs(&self) -> BTreeMap<u64, Option<u64>> {
        let records = self.records().await;
        let mut heirs: BTreeMap<u64, Option<u64>> = BTreeMap::new();
        let mut before_session: BTreeMap<SessionId, BTreeMap<u64, Option<u64>>> = BTreeMap::new();
        for record in &records {
            if let Some(session) = record.session_id {
                let before = before_session
                    .entry(session)
                    .or_insert_with(|| heirs.clone());
                if record.action == Action::MemoryRefinementRollback {
                    heirs = before.clone();
                }
            }
            for (gone, heir) in handed_over(record) {
                heirs.insert(gone, heir);
                for own in heirs.values_mut().filter(|own| **own == Some(gone)) {
                    *own = heir;
                }
            }
        }
        heirs
    }

    /// That every text in any memory, and every one that an edit ever wrote, is made of sentences that
    /// somebody said.
    async fn check_that_somebody_said_all(&mut self) {
        let score = self.mind.lock().unwrap().score.clone();
        let records = self.records().await;
        let saved = records
            .iter()
            .filter(|record| record.action == Action::MemorySaved);
        for record in saved {
            let after = record.words.after.as_ref().unwrap();
            self.said.add(after.expose()["content"].as_str().unwrap());
        }
        let memories = self.wren.seen().memories(true).await.unwrap();
        let core = memories.iter().filter(|memory| memory.kind == Kind::Core);
        let all = core
            .map(|memory| memory.content())
            .chain(score.written.iter().map(String::as_str));
        for text in all {
            for sentence in mind::sentences(text) {
                let character = self.character.as_str();
                assert!(
                    self.said.says(&sentence),
                    "{character} put together: {sentence}"
                );
            }
        }
    }

    /// That nothing of a weaker origin became the agent's own or constitutional.
    async fn check_origins(&self) {
        let score = self.mind.lock().unwrap().score.clone();
        for number in score.protected {
            let lens = self.wren.seen();
            let memory = lens.memory(Number(number)).await.unwrap();
            assert_eq!(memory.origin.weakness(), 0, "{number}");
            assert!(!memory.content().contains("A page of week"));
        }
        for memory in self.wren.seen().memories(true).await.unwrap() {
            if memory.content().contains("A page of week") {
                assert_eq!(memory.origin.as_str(), "external", "{}", memory.number);
            }
        }
    }
}

/// Which memories a record tells to be gone, and who stands for them.
fn handed_over(record: &ShownRecord) -> Vec<(u64, Option<u64>)> {
    let data = record.words.data.expose();
    let number = record.memory.map(|number| number.0);
    let list = |value: &Value| -> Vec<u64> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(|one| one.as_u64().or_else(|| one["number"].as_u64()))
            .collect()
    };
    match record.action {
        Action::MemoryRefinementConsolidate => list(&data["merged"])
            .into_iter()
            .map(|member| (member, number))
            .collect(),
        Action::MemoryDeduplicated => list(&data["discarded"])
            .into_iter()
            .map(|double| (double, number))
            .collect(),
        Action::MemoryRefinementDelete => {
            let carrier = list(&data["carried_by"]).first().copied();
            number.map(|number| (number, carrier)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The codes in the order of the table.
const CODES: [&str; 8] = [
    "words_added",
    "wording_gutted",
    "words_lost",
    "loss_limit",
    "constitutional",
    "immutable",
    "edit_cap",
    "session_over",
];

fn table(outcomes: &[(Character, Outcome)]) -> String {
    let mut table = String::from(
        "| character | calls | edits made | added | gutted | asked | limit | protected | after the end | other | words kept | mass |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (character, outcome) in outcomes {
        let refused = |codes: &[&str]| -> u32 {
            codes
                .iter()
                .filter_map(|code| outcome.score.refused.get(*code))
                .sum()
        };
        let all: u32 = outcome.score.refused.values().sum();
        writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} % | {} → {} |",
            character.as_str(),
            outcome.score.tried,
            outcome.score.made,
            refused(&["words_added"]),
            refused(&["wording_gutted"]),
            refused(&["words_lost"]),
            refused(&["loss_limit"]),
            refused(&["constitutional", "immutable"]),
            refused(&["session_over"]),
            all - refused(&CODES) + refused(&["edit_cap"]),
            // Rounded down: 100 % is all.
            (1000 * outcome.kept / outcome.words) as f64 / 10.0,
            outcome.mass.0,
            outcome.mass.1,
        )
        .unwrap();
    }
    table
}

async fn outcomes(guard: &'static str) -> Vec<(Character, Outcome)> {
    let runs = Character::ALL.map(|character| {
        let play = async move { Box::pin(Run::begin(character, guard).await.play()).await };
        (character, tokio::spawn(play))
    });
    let mut outcomes = Vec::new();
    for (character, run) in runs {
        outcomes.push((character, run.await.unwrap()));
    }
    outcomes
}

/// Holds what was made against what stands in `docs/kept.md` at that mark.
fn compare(mark: &str, made: &str) {
    println!("{mark}\n{made}");
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/kept.md");
    let page = fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- {mark}: made by the test -->\n\n");
    let (before, rest) = page.split_once(&begin).unwrap();
    let (told, after) = rest.split_once("\n<!-- end -->").unwrap();
    if std::env::var("KEPT").is_ok_and(|value| value == "overwrite") {
        fs::write(&path, format!("{before}{begin}{made}\n<!-- end -->{after}")).unwrap();
        return;
    }
    assert_eq!(told, made, "docs/kept.md tells something else for `{mark}`");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn spec_3_14_whoever_refines_for_twenty_weeks_nearly_all_words_stay_said() {
    let who = Character::ALL
        .map(|character| format!("- **{}** {}\n", character.as_str(), character.tries()));
    compare("who", &who.concat());
    for guard in ["limit", "refuse"] {
        let outcomes = outcomes(guard).await;
        for (character, outcome) in &outcomes {
            let lost = outcome.words - outcome.kept;
            let least = if guard == "refuse" {
                lost == 0
            } else {
                // One sentence a year goes in any case.
                20 * lost.saturating_sub(outcome.longest) <= outcome.words
            };
            let name = character.as_str();
            assert!(
                least,
                "{guard}: {name} left {} of {}",
                outcome.kept, outcome.words
            );
        }
        compare(guard, &table(&outcomes));
    }
}

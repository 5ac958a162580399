//! An agent's memory after weekly refinement by hostile characters, over the real loop: SPEC 3.12 and 3.14 over months.
//! One agent begins within its budget, another one over it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write,
    sync::{Arc, Mutex},
};

use memoir_app::{Handling, ShownMemory};
use memoir_domain::{
    SessionId,
    audit::Actor,
    memory::{Kind, Number},
    session::State,
};
use memoir_testkit::{Ages, Character, Floor, Mind, Score, Turn, query};
use serde_json::json;

use crate::{
    agents::{Data, Figure, WEEK},
    installation::person,
    page,
};

const WEEKS: u64 = 20;
const YEAR: u64 = 52;
pub const BUDGET: u64 = 5_000;
/// How many of the first matches of a recall count.
const FIRST_MATCHES: usize = 10;

/// One agent that one character refines.
pub struct Run {
    pub figure: Figure,
    pub mind: Arc<Mutex<Mind>>,
    character: Character,
    guard: &'static str,
    /// The strictest floor that the events allow.
    floor: Floor,
}

/// The remaining memory.
struct Outcome {
    score: Score,
    /// The tokens of the first memories, and of those of them that are in the prompt.
    first: (u64, u64),
    /// All originals, those in the archive, and those removed under `off`.
    originals: (u64, u64, u64),
    /// The first memories that recall finds, and all of them that are active.
    found: (u64, u64),
    floor: Floor,
    size: (u64, u64),
}

impl Run {
    pub async fn begin(character: Character, data: Data, guard: &'static str) -> Self {
        let figure = Figure::begin(data, data.lines(), guard, BUDGET).await;
        let mind = Mind::new(character, Some(figure.wren.agent.clone()));
        Self {
            mind: Arc::new(Mutex::new(mind)),
            figure,
            character,
            guard,
            floor: Floor::Within,
        }
    }

    fn is_off(&self) -> bool {
        self.guard == "off"
    }

    pub fn name(&self) -> String {
        format!("{} under {}", self.character.as_str(), self.guard)
    }

    async fn play(mut self, weeks: u64) -> Outcome {
        let before = self.figure.core_tokens().await;
        let start = memoir_app::Clock::now(self.figure.wren.clock.as_ref());
        let texts = self.texts().await;
        for week in 1..=weeks {
            self.figure.wren.clock.advance(WEEK);
            self.week(week).await;
        }
        let size = (before, self.figure.core_tokens().await);
        let originals = self.check_originals().await;
        self.check_origins().await;
        let first = self.first_in_prompt().await;
        let found = self.found_by_recall().await;
        self.promote_all().await;
        self.figure.wren.clock.advance(WEEK);
        self.figure
            .wren
            .agent
            .log()
            .rewind(start, &person())
            .await
            .unwrap();
        assert_eq!(
            self.texts().await,
            texts,
            "{}: every text is back",
            self.name()
        );
        let verified = self.figure.wren.agent.log().verify().await.unwrap();
        assert!(verified.valid, "{}: {:?}", self.name(), verified.first_bad);
        let score = self.mind.lock().unwrap().score.clone();
        Outcome {
            score,
            first,
            originals,
            found,
            floor: self.floor,
            size,
        }
    }

    /// Saves, and a session.
    async fn week(&mut self, week: u64) {
        self.save(week).await;
        let session = self.refine().await;
        if let Some(session) = session.filter(|_| self.character.calls_on()) {
            self.call_after_the_end(session).await;
        }
        if !self.is_off() {
            self.check_limits().await;
        }
    }

    /// What the character saves before the session of a week.
    pub async fn save(&mut self, week: u64) {
        let saves = {
            let mut mind = self.mind.lock().unwrap();
            mind.week = week;
            self.character.saves(&mut mind, false)
        };
        if !saves.is_empty() {
            let agent = Actor::agent("wren");
            let saved = self.figure.wren.agent.memories().save(&saves, &agent).await;
            let saved = saved.unwrap();
            self.mind.lock().unwrap().note_saved(&saved);
        }
    }

    /// A session, unless it would be empty.
    pub async fn refine(&mut self) -> Option<SessionId> {
        let mind = self.mind.clone();
        let answer = Turn::respond(move |request| mind.lock().unwrap().answer(request));
        let session = self.figure.session(answer).await?;
        let ends = [State::Completed, State::RolledBack];
        assert!(
            ends.contains(&session.state),
            "{}: {session:?}",
            self.name()
        );
        assert!(session.edits <= 10, "{}: {session:?}", self.name());
        if session.pre_session_tokens.unwrap() > self.figure.budget {
            self.floor = self.floor.max(Floor::Over);
        }
        if self.mind.lock().unwrap().score.replaced > 0 {
            self.floor = Floor::Replacing;
        }
        Some(session.id)
    }

    /// Calls tools of an ended session.
    async fn call_after_the_end(&self, session: SessionId) {
        let before = self.texts().await;
        for (number, _) in self.figure.first.iter().take(4) {
            for (tool, arguments) in [
                ("delete_memory", json!({"id": number})),
                ("update_memory", json!({"id": number, "content": "Gone."})),
            ] {
                let agent = &self.figure.wren.agent;
                let result = agent.call_tool(session, tool, Some(&arguments)).await;
                let result = serde_json::to_value(result.unwrap()).unwrap();
                assert_eq!(result["code"], "session_over");
                let mut mind = self.mind.lock().unwrap();
                mind.score.tried += 1;
                let refused = mind.score.refused.entry("session_over".to_owned());
                *refused.or_default() += 1;
            }
        }
        assert_eq!(self.texts().await, before);
    }

    /// The active core memories by number.
    async fn texts(&self) -> BTreeMap<u64, String> {
        let core = self.figure.core().await.into_iter();
        core.map(|memory| (memory.number.0, memory.content().to_owned()))
            .collect()
    }

    /// After a session: checks the share of summaries and of every age, and that constitutional memories are unchanged.
    async fn check_limits(&self) {
        let (name, all) = (self.name(), self.figure.all().await);
        let core =
            |memory: &&ShownMemory| memory.kind == Kind::Core && memory.discarded_at.is_none();
        let summaries = all.iter().filter(core).filter(|memory| memory.is_summary);
        let summaries: Vec<&ShownMemory> = summaries.collect();
        let tokens: u64 = summaries.iter().map(|memory| memory.tokens).sum();
        assert!(
            3 * tokens <= self.figure.budget,
            "{name}: summaries take {tokens} tokens"
        );
        assert!(
            summaries.iter().all(|memory| !memory.constitutional),
            "{name}"
        );
        for (number, line) in self
            .figure
            .first
            .iter()
            .filter(|(_, line)| line.is_constitutional)
        {
            let memory = all
                .iter()
                .find(|memory| memory.number.0 == *number)
                .unwrap();
            assert!(
                core(&memory) && memory.constitutional,
                "{name}: #{number} moved"
            );
            // Only its form can change.
            assert!(
                memoir_text::is_same_text(memory.content(), &line.content),
                "{name}: #{number} reads {}",
                memory.content()
            );
        }
        let ages = Ages::new(&all, &self.figure.records().await);
        let below = ages.below(self.floor, self.figure.budget);
        assert_eq!(below, [0; 0], "{name}: too little of these ages stays");
    }

    /// All originals, those in the archive, and those that are lost.
    async fn check_originals(&self) -> (u64, u64, u64) {
        let verified = self.figure.wren.agent.log().verify().await.unwrap();
        assert!(verified.valid, "{}: {:?}", self.name(), verified.first_bad);
        self.figure.wren.check().await;
        let originals = verified.originals.unwrap();
        assert_eq!(originals.lost, 0, "{}: {originals}", self.name());
        (originals.total, originals.archived, originals.removed_off)
    }

    /// That nothing of a weaker origin became the agent's own or constitutional.
    async fn check_origins(&self) {
        let protected = self.mind.lock().unwrap().score.protected.clone();
        for memory in self.figure.all().await {
            let is_page = memory.content().contains("A page of week");
            if protected.contains(&memory.number.0) {
                assert_eq!(memory.origin.weakness(), 0, "{}", memory.number);
                assert!(!is_page);
            }
            if is_page && !memory.is_summary {
                assert_eq!(memory.origin.as_str(), "external", "{}", memory.number);
            }
        }
    }

    /// The tokens of the first memories, and of those whose text is in the prompt, up to case.
    async fn first_in_prompt(&self) -> (u64, u64) {
        let key = |text: &str| memoir_text::same_text_key_ignoring_case(text);
        let texts = self.texts().await.into_values();
        let texts: BTreeSet<String> = texts.map(|text| key(&text)).collect();
        let (mut all, mut there) = (0, 0);
        for (_, line) in &self.figure.first {
            let is_there = texts.contains(&key(&line.content));
            all += line.tokens();
            there += if is_there { line.tokens() } else { 0 };
        }
        (all, there)
    }

    /// How many memories of the first day are among the first matches of a recall by their three rarest words, and of
    /// how many. A character's own saves are not counted, since most are of one form. Memories with more than ten
    /// copies of the three words are not counted either.
    async fn found_by_recall(&self) -> (u64, u64) {
        let lens = self.figure.wren.seen();
        let all = lens.memories(false).await.unwrap();
        let mut places: HashMap<String, Vec<u64>> = HashMap::new();
        for memory in &all {
            for word in words(memory.content()) {
                places.entry(word).or_default().push(memory.number.0);
            }
        }
        let first: BTreeSet<u64> = self
            .figure
            .first
            .iter()
            .map(|(number, _)| *number)
            .collect();
        let (mut found, mut asked) = (0, 0);
        for memory in all.iter().filter(|memory| first.contains(&memory.number.0)) {
            let mut rare: Vec<String> = words(memory.content()).into_iter().collect();
            // Rare ones first; of equally rare ones the longest.
            rare.sort_by_key(|word| (places[word].len(), Reverse(word.chars().count())));
            rare.truncate(3);
            let rarest = places[&rare[0]].iter();
            let has_all = |number: &&u64| rare.iter().all(|word| places[word].contains(number));
            if rarest.filter(has_all).count() > FIRST_MATCHES {
                continue;
            }
            asked += 1;
            let query = query(&rare.join(" "), FIRST_MATCHES);
            let matches = lens.recall(&query).await.unwrap();
            let is_found = matches.iter().any(|one| one.number == memory.number);
            if !is_found && std::env::var_os("FIGURES_DEBUG").is_some() {
                println!(
                    "{}: not found by {rare:?}: {}",
                    self.name(),
                    memory.content()
                );
            }
            found += u64::from(is_found);
        }
        (found, asked)
    }

    /// Promotes every archival memory, byte for byte as it was saved.
    async fn promote_all(&self) {
        // Each text that the records have of it: as it was saved, and in the forms that a session gave it in place.
        let mut recorded: BTreeMap<u64, Vec<(String, Vec<String>)>> = BTreeMap::new();
        for record in self.figure.records().await {
            let (Some(number), Some(after)) = (record.memory, &record.words.after) else {
                continue;
            };
            let after = after.expose();
            let tags = after["tags"].as_array().into_iter().flatten();
            let tags = tags.map(|tag| tag.as_str().unwrap().to_owned()).collect();
            let content = after["content"].as_str().unwrap_or_default().to_owned();
            recorded.entry(number.0).or_default().push((content, tags));
        }
        let all = self.figure.wren.seen().memories(false).await.unwrap();
        let archived: Vec<Number> = all
            .iter()
            .filter(|memory| memory.kind == Kind::Archival)
            .map(|memory| memory.number)
            .collect();
        for number in &archived {
            let (agent, actor) = (&self.figure.wren.agent, Actor::agent("wren"));
            let promoting = agent.memories().handle(*number, Handling::Promote, &actor);
            promoting.await.unwrap();
        }
        let all = self.figure.all().await;
        let by_number: BTreeMap<Number, &ShownMemory> =
            all.iter().map(|memory| (memory.number, memory)).collect();
        for number in archived {
            let memory = by_number[&number];
            assert_eq!(
                (memory.kind, memory.discarded_at),
                (Kind::Core, None),
                "{number}"
            );
            let texts = &recorded[&number.0];
            let (saved, tags) = &texts[0];
            let is_recorded = texts.iter().any(|(text, _)| text == memory.content());
            let is_same = memoir_text::is_same_text(memory.content(), saved);
            assert!(is_recorded && is_same, "{}: {number}", self.name());
            // A cleanup adds the tags of copies.
            let now: BTreeSet<&str> = memory.tags().collect();
            assert!(
                tags.iter().all(|tag| now.contains(tag.as_str())),
                "{number}"
            );
        }
        let archived = all.iter().filter(|memory| memory.kind == Kind::Archival);
        assert_eq!(archived.count(), 0, "{}", self.name());
        // A summary without a source is no more.
        let left = all
            .iter()
            .filter(|memory| memory.is_summary && memory.discarded_at.is_none());
        assert_eq!(left.count(), 0, "{}", self.name());
    }
}

fn words(text: &str) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let all = lower.split(|letter: char| !letter.is_alphanumeric());
    all.filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The codes in the order of the table; the rest is "other".
const COLUMNS: [(&str, &[&str]); 6] = [
    ("unsupported", &["unsupported"]),
    ("length", &["not_shorter", "summary_limit"]),
    ("budget", &["within_budget", "guard"]),
    ("age", &["age_limit"]),
    ("protected", &["constitutional", "immutable"]),
    ("after the end", &["session_over"]),
];

fn table(outcomes: &[(Character, Data, Outcome)]) -> String {
    let mut table = String::from("| character | agent | calls | edits |");
    COLUMNS
        .iter()
        .for_each(|(name, _)| write!(table, " {name} |").unwrap());
    table.push_str(" other | first day in the prompt | floor | originals | archived | lost | found | core size |\n");
    table.push_str(&"|---".repeat(18));
    table.push_str("|\n");
    for (character, data, outcome) in outcomes {
        let refused = |codes: &[&str]| -> u32 {
            let counts = codes
                .iter()
                .filter_map(|code| outcome.score.refused.get(*code));
            counts.sum()
        };
        let all: u32 = outcome.score.refused.values().sum();
        let score = &outcome.score;
        let made = match score.replaced {
            0 => score.made.to_string(),
            replaced => format!("{} + {replaced} replaced", score.made),
        };
        write!(
            table,
            "| {} | {} | {} | {made} |",
            character.as_str(),
            data.as_str(),
            score.tried
        )
        .unwrap();
        let mut named = 0;
        for (_, codes) in COLUMNS {
            named += refused(codes);
            write!(table, " {} |", refused(codes)).unwrap();
        }
        let (first, first_in) = outcome.first;
        let (total, archived, removed) = outcome.originals;
        let (found, asked) = outcome.found;
        writeln!(
            table,
            " {} | {} | {} | {} | {} | {removed} | {} of {asked} | {} → {} |",
            all - named,
            page::percent(first_in, first),
            outcome.floor.as_str(),
            page::grouped(total),
            page::grouped(archived),
            page::percent(found, asked),
            page::grouped(outcome.size.0),
            page::grouped(outcome.size.1),
        )
        .unwrap();
    }
    table
}

async fn outcomes(
    cast: Vec<(Character, Data)>,
    guard: &'static str,
    weeks: u64,
) -> Vec<(Character, Data, Outcome)> {
    let runs = cast.into_iter().map(|(character, data)| {
        let play = async move {
            let run = Run::begin(character, data, guard).await;
            Box::pin(run.play(weeks)).await
        };
        (character, data, tokio::spawn(play))
    });
    // All of them are spawned before the first one is waited for.
    let runs: Vec<_> = runs.collect();
    let (mut outcomes, mut failed) = (Vec::new(), Vec::new());
    for (character, data, run) in runs {
        match run.await {
            Ok(outcome) => outcomes.push((character, data, outcome)),
            Err(_) => failed.push(format!("{} of {}", character.as_str(), data.as_str())),
        }
    }
    assert!(
        failed.is_empty(),
        "under {guard} these failed: {failed:?}\n{}",
        table(&outcomes)
    );
    outcomes
}

/// Over all characters: copies that one of them saves by the dozen come before what they are copies of.
fn check_found(guard: &str, outcomes: &[(Character, Data, Outcome)]) {
    let each = outcomes.iter().map(|(_, _, outcome)| outcome.found);
    let (found, asked) = each.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    assert!(
        100 * found >= 99 * asked,
        "{guard}: recall finds {found} of {asked}\n{}",
        table(outcomes)
    );
}

/// Every character with both agents, or the one that the variable `FIGURES` names.
fn cast() -> Vec<(Character, Data)> {
    let each = |data| Character::ALL.map(|character| (character, data));
    let all = [Data::Demo, Data::Companion].into_iter().flat_map(each);
    let only = std::env::var("FIGURES")
        .ok()
        .and_then(|name| Character::from_name(&name));
    all.filter(|(character, _)| only.is_none_or(|only| only == *character))
        .collect()
}

const ABOUT: &str = "\
`demo` begins within its budget of 5,000 tokens, `companion` over it. A refused call is tried again in other words. The \
refusals are counted by their reason: `unsupported`; the length of a text; the budget or the guard; the age rule; \
constitutional memories and immutable tags; a session that is over. *Floor* is the share that the age rule leaves of \
every age in this run: three quarters within the budget, half (or a third of the budget) over it, a sixth (or a ninth) \
where memories were replaced. *Found* is how many of the first day's memories are among the first ten matches of a \
recall by their three rarest words; a text is left out where the character saved so many copies that more than ten \
memories have these words. Under `archive` and `refuse` no original is lost; *lost* under `off` is what sessions removed, which `memoir restore` \
brings back. In every run each archived memory comes back as it was, and a rewind restores the first day. *Core size* grows where a character saves junk.
";

const MORE: &str = "\
`FIGURES=stuffer cargo test -p memoir-app --test figures hostile -- --nocapture` plays one of them, prints its tables and \
changes no page.
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_3_14_hostile_characters_lose_nothing_in_twenty_weeks() {
    let mut made = String::new();
    for character in Character::ALL {
        writeln!(made, "- **{}** {}", character.as_str(), character.tries()).unwrap();
    }
    write!(made, "\n{ABOUT}").unwrap();
    let a_year = vec![(Character::Stuffer, Data::Companion)];
    let tables = [
        ("Twenty weeks", "archive", cast(), WEEKS),
        ("A year", "archive", a_year, YEAR),
        ("Twenty weeks", "refuse", cast(), WEEKS),
        ("Twenty weeks", "off", cast(), WEEKS),
    ];
    // All of them are spawned before the first one is waited for.
    let tables = tables.map(|(span, guard, cast, weeks)| {
        let run = tokio::spawn(outcomes(cast, guard, weeks));
        (span, guard, run)
    });
    for (span, guard, run) in tables {
        let outcomes = run.await.unwrap();
        if guard != "off" {
            check_found(guard, &outcomes);
        }
        write!(made, "\n### {span} under `{guard}`\n\n{}", table(&outcomes)).unwrap();
    }
    write!(made, "\n{MORE}").unwrap();
    match std::env::var_os("FIGURES") {
        None => page::compare("hostile", &made),
        Some(_) => println!("{made}"),
    }
}

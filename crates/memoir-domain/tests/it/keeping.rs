//! What a bounded context keeps of the agents of `memoir-app/tests/data`: the answers to the questions beside them, its
//! beginning when a memory is saved, and the dates (SPEC 2.3). The table is in `docs/figures.md`; the test fails where the
//! page has other figures. After an intended change: `FIGURES=overwrite cargo test -p memoir-domain --test it keeps`.
//! What is in front of a session of Claude Code is measured by `memoir/tests/it/evaluating.rs`.

use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf};

use memoir_domain::{
    Timestamp,
    agent::Settings,
    audit::ActorKind,
    context::{ArchiveNote, Bounds, CORE_HEADING, ContextText, HEADING, build, parse_core},
    memory::{Kind, Memory, NewMemory, Number, Tags},
    origin::{Origin, SavedBy},
};
use serde_json::Value;

struct Question {
    query: String,
    numbers: BTreeSet<u64>,
}

/// How many saves are measured.
const SAVES: usize = 50;

const AGENTS: [&str; 3] = ["companion", "coder", "steward"];

fn page(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn lines(file: &str) -> Vec<Value> {
    let path = page("crates/memoir-app/tests/data").join(file);
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn questions(agent: &str) -> Vec<Question> {
    let lines = lines(&format!("{agent}-questions.jsonl")).into_iter();
    let question = |line: Value| Question {
        query: line["query"].as_str().unwrap().to_owned(),
        numbers: line["numbers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one.as_u64().unwrap())
            .collect(),
    };
    lines.map(question).collect()
}

fn memories(agent: &str) -> Vec<Memory> {
    let numbered = lines(&format!("{agent}.jsonl")).into_iter().zip(1..);
    let memory = |(line, number): (Value, u64)| {
        let text = |name: &str| line[name].as_str().unwrap();
        let at: Timestamp = text("created_at").parse().unwrap();
        let mut saved_by = SavedBy::of(ActorKind::Agent);
        saved_by.origin = Origin::from_name(text("origin")).unwrap();
        let tags = line["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tag| tag.as_str().unwrap());
        let memory = NewMemory {
            tags: Tags::parse(tags).unwrap(),
            created_at: Some(at),
            constitutional: line["constitutional"] == true,
            ..NewMemory::new(Kind::Core, text("content").trim().into(), saved_by)
        };
        memory.into_memory(Number(number), number, at)
    };
    numbered.map(memory).collect()
}

fn now() -> Timestamp {
    "2026-11-04T12:00:00Z".parse().unwrap()
}

fn context(memories: &[Memory], core: Option<u64>, total: Option<u64>) -> ContextText {
    let settings = Settings {
        context_core_tokens: core,
        ..Settings::default()
    };
    build(
        memories,
        now(),
        Bounds::of(&settings, total),
        &ArchiveNote::default(),
    )
}

/// The share of the questions of which any memory is shown.
fn answered(questions: &[Question], is_shown: impl Fn(u64) -> bool) -> (u64, u64) {
    let answered = questions
        .iter()
        .filter(|question| question.numbers.iter().any(|number| is_shown(*number)));
    (answered.count() as u64, questions.len() as u64)
}

/// The newest memories that take that many tokens.
fn newest(memories: &[Memory], most: u64) -> BTreeSet<u64> {
    let mut taken = 0;
    let newest = memories.iter().rev().take_while(|memory| {
        taken += memory.tokens();
        taken <= most
    });
    newest.map(|memory| memory.number.0).collect()
}

/// Of the last saves, how many keep 95 % of the text's beginning. The bound is reached before them.
fn stable(memories: &[Memory], core: Option<u64>, total: Option<u64>) -> (u64, u64) {
    let (mut kept, mut all) = (0, 0);
    let first = memories.len() - SAVES;
    let mut before = context(&memories[..first], core, total);
    assert!(!before.left_out.is_empty());
    for count in first + 1..=memories.len() {
        let after = context(&memories[..count], core, total);
        let (one, other) = (before.text.expose(), after.text.expose());
        let pairs = one.bytes().zip(other.bytes());
        let same = pairs.take_while(|(one, other)| one == other).count();
        all += 1;
        kept += u64::from(same * 100 >= one.len() * 95);
        before = after;
    }
    (kept, all)
}

/// The memories that stand in a context, with their text and under the heading of their day. All do that stand there.
fn dated(context: &ContextText, memories: &[Memory]) -> BTreeSet<u64> {
    let mut day = "";
    let mut dated = BTreeSet::new();
    for line in context.text.expose().lines() {
        day = line.strip_prefix("### ").unwrap_or(day);
        for entry in parse_core(&format!("{HEADING}\n{CORE_HEADING}\n{line}")) {
            let memory = &memories[entry.number.0 as usize - 1];
            assert_eq!(memory.created_at.date(), day);
            assert_eq!(memory.content, entry.content);
            dated.insert(entry.number.0);
        }
    }
    let shown = memories.len() - context.left_out.len() - context.explained.copies.len();
    assert_eq!(dated.len(), shown);
    dated
}

#[test]
fn spec_2_3_a_bounded_context_keeps_the_first_memories_its_beginning_and_every_date() {
    let mut table = "| | companion | coder | steward |\n|---|---|---|---|\n".to_owned();
    let mut rows: [Vec<String>; 7] = Default::default();
    for agent in AGENTS {
        let (memories, questions) = (memories(agent), questions(agent));
        let whole = context(&memories, None, None);
        let half = whole.core_tokens / 2;
        let bounded = context(&memories, Some(half), None);
        let is_shown = |number: u64| !bounded.left_out.contains(&Number(number));
        assert!((1..=10).all(is_shown), "{agent}: {:?}", bounded.left_out);
        let newest = newest(&memories, half);
        let (with, all) = answered(&questions, is_shown);
        let (with_newest, _) = answered(&questions, |number| newest.contains(&number));
        let shown = bounded.shares.all;
        // A question for a date is answered by the heading above the memory.
        let (whole_dated, half_dated) = (dated(&whole, &memories), dated(&bounded, &memories));
        let of_dates = questions
            .into_iter()
            .filter(|one| one.query.starts_with("When"));
        let of_dates: Vec<Question> = of_dates.collect();
        let (in_whole, dates) = answered(&of_dates, |number| whole_dated.contains(&number));
        let (in_half, _) = answered(&of_dates, |number| half_dated.contains(&number));
        assert_eq!(in_whole, dates, "{agent}");
        let (core_kept, core_saves) = stable(&memories, Some(half), None);
        let (total_kept, total_saves) = stable(&memories, None, Some(2_500));
        for (kept, saves) in [(core_kept, core_saves), (total_kept, total_saves)] {
            assert!(kept * 10 >= saves * 8, "{agent}: {kept} of {saves}");
        }
        let cells = [
            format!("{} of {}", bounded.core_tokens, whole.core_tokens),
            format!(
                "{} of {}, the first ten among them",
                shown.shown, shown.memories
            ),
            format!("{with} of {all}, {}", percent(with, all)),
            format!("{with_newest} of {all}, {}", percent(with_newest, all)),
            format!("{in_half} of {dates}; in the whole {in_whole}"),
            format!("{core_kept} of {core_saves}"),
            format!("{total_kept} of {total_saves}"),
        ];
        for (row, cell) in rows.iter_mut().zip(cells) {
            row.push(cell);
        }
    }
    let names = [
        "tokens of core memories in a context of half the core size",
        "memories",
        "questions whose answer is in it",
        "… in the newest half",
        "questions for a date (\"When …\"), answered with it",
        "saves that keep 95 % of the beginning, bound of half the core size reached",
        "… `max_tokens` of 2,500 reached",
    ];
    for (name, row) in names.iter().zip(&rows) {
        writeln!(table, "| {name} | {} |", row.join(" | ")).unwrap();
    }
    println!("{table}");
    compare(&table);
}

fn percent(part: u64, all: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / all as f64)
}

/// Compares the table with the page, between its two marks, or writes it there.
fn compare(table: &str) {
    let path = page("docs/figures.md");
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- context:begin -->\n", "<!-- context:end -->");
    let (before, rest) = text.split_once(begin).unwrap();
    let (stated, after) = rest.split_once(end).unwrap();
    let made = format!("\n{table}\n");
    if std::env::var("FIGURES").is_ok_and(|value| value == "overwrite") {
        fs::write(&path, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert!(
        stated == made,
        "docs/figures.md has other figures: FIGURES=overwrite writes these\n{table}"
    );
}

//! Every modification of the database outside Memoir is found and named (SPEC 4.2, 5.3).
//!
//! One agent with a long story, another one beside it, and a copy of the database for each way of tampering
//! with it. "Yesterday" is the database as it was after the first half of the story.

use std::{
    collections::BTreeSet,
    fs,
    future::pending,
    path::{Path, PathBuf},
};

use memoir_app::{
    CheckpointGrowth, CheckpointView, Error, HandedMessage, Handling, Severity, ShredWish,
    Verification,
};
use memoir_domain::{
    audit::{Actor, ActorKind},
    memory::Number,
    session::Mode,
};
use memoir_testkit::{
    InstallationFolder, TestedText, Turn, input, intrude, query, replacing, tamper,
};
use rusqlite::{Connection, Row, params, types::Value};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::{
    installation::{
        OWNER, TestAgent, agent_of, complete, handle_by, new_folder, person, rehearsal, save_by,
        shred_by,
    },
    story::{REWRITTEN, Story, first_part, second_part},
};

/// The tables with data of an agent.
const TABLES: [&str; 7] = [
    "agents",
    "agent_prompts",
    "memories",
    "sessions",
    "audit_records",
    "access_requests",
    "log_leaves",
];

/// Tables that hold an agent's identifier and nothing of its state: tokens, and messages that wait to be read, for
/// which see below. For the summaries of a long log see `verifying.rs`; for vectors and indexes of words, which can be made again
/// and are in no record, `embedding.rs` and `stored_index.rs`.
const LEFT_OUT: [&str; 6] = [
    "log_summaries",
    "memory_vectors",
    "tokens",
    "transcript_messages",
    "transcripts",
    "word_indexes",
];

struct Evidence {
    folder: InstallationFolder,
    story: Story,
    wren: [u8; 16],
    magpie: [u8; 16],
    /// The database in the middle of the story, and at its end.
    yesterday: PathBuf,
    today: PathBuf,
    /// Taken at the end of the story, after one in its middle.
    checkpoint: CheckpointView,
}

/// The outcome of verification.
struct Verdict {
    verified: Result<Vec<Verification>, String>,
    growth: Result<CheckpointGrowth, String>,
}

impl Verdict {
    /// Whether the database is consistent, without a copy outside.
    fn is_valid(&self) -> bool {
        matches!(&self.verified, Ok(all) if all.iter().all(|one| one.valid))
    }

    fn grew(&self) -> bool {
        matches!(&self.growth, Ok(growth) if growth.grew)
    }

    /// Checks that only the copy outside shows it, by that problem.
    #[track_caller]
    fn grew_not(self, problem: &str) {
        let growth = self.growth.unwrap();
        assert!(!growth.grew);
        growth.problem.unwrap().tells(problem);
    }

    /// All reported problems.
    fn text(&self) -> String {
        let said: Vec<String> = match &self.verified {
            Err(error) => vec![error.clone()],
            Ok(all) => {
                let named = |one: &Verification| {
                    let mismatches = one.mismatches.iter();
                    mismatches
                        .map(|mismatch| match mismatch.seq {
                            Some(seq) => format!("record {seq}: {}", mismatch.problem),
                            None => mismatch.problem.clone(),
                        })
                        .map(|problem| format!("{} {problem}", one.agent_id))
                        .collect::<Vec<_>>()
                };
                all.iter().flat_map(named).collect()
            }
        };
        said.join("\n")
    }

    /// Checks that it is found without a copy outside, and that all of `names` are reported.
    #[track_caller]
    fn names(&self, names: &[&str]) {
        let text = self.text();
        assert!(!self.is_valid(), "not found");
        for name in names {
            assert!(text.contains(name), "`{name}` is not named in: {text}");
        }
    }

    /// How it fails to find and name a mutation.
    fn lacks(&self, mutation: &Mutation) -> Option<String> {
        let text = self.text();
        match (self.is_valid(), mutation.is_named_in(&text)) {
            (true, _) => Some(format!("{mutation}: not found")),
            (_, false) => Some(format!("{mutation}: found, and not named in: {text}")),
            (false, true) => None,
        }
    }
}

impl Evidence {
    async fn gather() -> Self {
        let folder = new_folder();
        let wren = TestAgent::of(&folder.open()).await;
        let magpie = agent_of(&wren.memoir, "magpie").await;
        let saved = ["The river is high.", "The cat is at the neighbours'."].map(input);
        magpie.memories().save(&saved, &person()).await.unwrap();
        let completed = Box::pin(first_part(&folder, &wren)).await;
        wren.memoir.checkpoint().await.unwrap();
        let wren_id = *wren.agent.scope().agent.as_bytes();
        let magpie_id = *magpie.scope().agent.as_bytes();
        drop((wren, magpie));
        let yesterday = folder.path().join("yesterday");
        folder.copy_to(&yesterday);
        let wren = TestAgent::of(&folder.open()).await;
        let magpie = agent_of(&wren.memoir, "magpie").await;
        magpie.memories().save(&saved, &person()).await.unwrap();
        let story = Box::pin(second_part(&folder, &wren, completed)).await;
        let checkpoint = wren.memoir.checkpoint().await.unwrap();
        drop((wren, magpie));
        let today = folder.path().join("today");
        folder.copy_to(&today);
        Self {
            folder,
            story,
            wren: wren_id,
            magpie: magpie_id,
            yesterday,
            today,
            checkpoint,
        }
    }

    /// The outcome of verifying a copy that was tampered with.
    async fn judge(&self, tamper: impl FnOnce(&Connection)) -> Verdict {
        let dir = TempDir::new().unwrap();
        let copy = dir.path().join("copy");
        fs::copy(&self.today, &copy).unwrap();
        intrude(&copy, tamper);
        self.judge_file(&copy).await
    }

    async fn judge_change(&self, sql: &str) -> Verdict {
        let tamper = |connection: &Connection| change(connection, sql, []);
        self.judge(tamper).await
    }

    async fn judge_file(&self, path: &Path) -> Verdict {
        let memoir = self.folder.open_at(path).memoir;
        let verified = memoir.verify_all().await;
        let note = self.checkpoint.checkpoint.as_bytes();
        let growth = memoir.check_growth(note, None).await;
        Verdict {
            verified: verified.map_err(|error| error.to_string()),
            growth: growth.map_err(|error| error.to_string()),
        }
    }
}

/// Makes another copy of the database readable as `old` for the tampering.
fn attach(connection: &Connection, path: &Path) {
    let path = path.to_str().unwrap();
    let attached = connection.execute("ATTACH DATABASE ?1 AS old", [path]);
    attached.unwrap();
}

/// Puts rows of a table back as they are in `old`.
fn replace(connection: &Connection, table: &str, rows: &str) {
    let sql = format!(
        "DELETE FROM main.{table} WHERE {rows}; \
         INSERT INTO main.{table} SELECT * FROM old.{table} WHERE {rows}"
    );
    connection.execute_batch(&sql).unwrap();
}

/// Made once: none of the tests changes it.
async fn evidence() -> &'static Evidence {
    static EVIDENCE: OnceCell<Evidence> = OnceCell::const_new();
    EVIDENCE.get_or_init(Evidence::gather).await
}

fn change(connection: &Connection, sql: &str, values: impl rusqlite::Params) {
    let changed = connection.execute(sql, values).unwrap();
    assert!(changed > 0, "nothing was tampered with: {sql}");
}

fn one<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> T {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn rows<T>(
    connection: &Connection,
    sql: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], read).unwrap();
    rows.map(Result::unwrap).collect()
}

#[tokio::test]
async fn spec_4_2_what_was_not_tampered_with_is_valid() {
    let evidence = evidence().await;
    let verdict = evidence.judge(|_| {}).await;
    assert!(verdict.is_valid() && verdict.grew(), "{}", verdict.text());
    let verdict = evidence.judge_file(&evidence.yesterday).await;
    assert!(
        verdict.is_valid(),
        "a copy of the whole database fits itself: {}",
        verdict.text()
    );
    verdict.grew_not("cut off");
}

#[tokio::test]
async fn spec_5_3_no_table_of_agents_is_left_out_here() {
    let evidence = evidence().await;
    let today = Connection::open(&evidence.today).unwrap();
    let sql = "SELECT DISTINCT tables.name FROM sqlite_master AS tables \
         JOIN pragma_table_info(tables.name) AS columns \
         WHERE tables.type = 'table' AND columns.name = 'agent_id' ORDER BY 1";
    let found: Vec<String> = rows(&today, sql, |row| row.get(0));
    assert!(found.len() >= 6, "{found:?}");
    for table in found {
        let mut known = TABLES.iter().chain(&LEFT_OUT);
        assert!(known.any(|one| *one == table), "{table}");
    }
}

/// Columns that no seal, no hash and no checkpoint covers, on purpose.
const UNBOUND: [(&str, &str); 2] = [
    // A lease is prolonged every few seconds, without the agent's key.
    ("sessions", "lease_until"),
    ("sessions", "lease_holder"),
];

/// Columns that only the checkpoint covers.
const KEPT_OUTSIDE: [(&str, &str); 1] = [("log_leaves", "recorded_at")];

struct Column {
    table: &'static str,
    name: String,
    nullable: bool,
    /// The columns of the table's key.
    key: Vec<String>,
}

fn columns(connection: &Connection) -> Vec<Column> {
    let mut found = Vec::new();
    for table in TABLES {
        let sql = format!("SELECT name, NOT \"notnull\", pk > 0 FROM pragma_table_info('{table}')");
        let read: Vec<(String, bool, bool)> = rows(connection, &sql, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        });
        let keys = read.iter().filter(|(_, _, is_key)| *is_key);
        let key: Vec<String> = keys.map(|(name, ..)| name.clone()).collect();
        found.extend(read.into_iter().map(|(name, nullable, _)| Column {
            table,
            name,
            nullable,
            key: key.clone(),
        }));
    }
    found
}

fn columns_of(connection: &Connection, table: &str) -> Vec<String> {
    let columns = columns(connection).into_iter();
    let columns = columns.filter(|column| column.table == table);
    columns.map(|column| column.name).collect()
}

/// One column of one row, and another value for it.
struct Mutation {
    table: &'static str,
    column: String,
    key: Vec<(String, Value)>,
    from: Value,
    to: Value,
}

/// For each column: of the first, a middle and the last row, and of one without and one with a value, all values of
/// [`others`].
fn mutations(connection: &Connection) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    for column in columns(connection) {
        let (table, name) = (column.table, &column.name);
        let keys = column.key.join(", ");
        let sql = format!("SELECT {name}, {keys} FROM {table} ORDER BY {keys}");
        let rows: Vec<(Value, Vec<Value>)> = rows(connection, &sql, |row| {
            let key = (1..=column.key.len()).map(|at| row.get(at));
            Ok((row.get(0)?, key.collect::<Result<_, _>>()?))
        });
        if rows.is_empty() {
            continue;
        }
        let is_null = |row: &(Value, Vec<Value>)| row.0 == Value::Null;
        let mut chosen: Vec<Option<usize>> = vec![
            Some(0),
            Some(rows.len() / 2),
            Some(rows.len() - 1),
            rows.iter().position(is_null),
            rows.iter().position(|row| !is_null(row)),
        ];
        chosen.sort_unstable();
        chosen.dedup();
        for (value, key) in chosen.into_iter().flatten().map(|at| &rows[at]) {
            let elsewhere = rows
                .iter()
                .map(|row| &row.0)
                .filter(|other| *other != value);
            for to in others(&column, value, elsewhere) {
                mutations.push(Mutation {
                    table,
                    column: name.clone(),
                    key: column.key.iter().cloned().zip(key.clone()).collect(),
                    from: value.clone(),
                    to,
                });
            }
        }
    }
    mutations
}

/// Other values for a column: one more, one letter or bit different, nothing, and a word or an
/// identifier that stands in the same column of another row.
fn others<'a>(
    column: &Column,
    value: &Value,
    mut elsewhere: impl Iterator<Item = &'a Value>,
) -> Vec<Value> {
    let flipped = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    let mut others = match value {
        Value::Integer(number @ (0 | 1)) => vec![Value::Integer(1 - number)],
        Value::Integer(number) => vec![Value::Integer(number + 1)],
        Value::Real(number) => vec![Value::Real(number - 0.01)],
        Value::Text(text) if text.is_empty() => vec![Value::Text("x".to_owned())],
        Value::Text(text) => {
            let letter = text.char_indices().nth(text.chars().count() / 2).unwrap();
            let mut changed = text.clone();
            let other = if letter.1 == 'x' { "y" } else { "x" };
            changed.replace_range(letter.0..letter.0 + letter.1.len_utf8(), other);
            vec![Value::Text(changed)]
        }
        Value::Blob(bytes) => [0, bytes.len() / 2, bytes.len() - 1]
            .map(|at| Value::Blob(flipped(bytes, at)))
            .into(),
        Value::Null => Vec::new(),
    };
    if column.nullable && *value != Value::Null {
        others.push(Value::Null);
    }
    let is_wide = matches!(value, Value::Blob(bytes) if bytes.len() > 32);
    if !is_wide {
        others.extend(elsewhere.find(|other| **other != Value::Null).cloned());
    }
    if others.is_empty() {
        // A column that no row has a value in.
        others.push(Value::Integer(1));
    }
    others
}

impl Mutation {
    /// `false` where SQLite itself refuses: two rows of one key.
    fn apply(&self, connection: &Connection) -> bool {
        let (table, column) = (self.table, &self.column);
        let wheres: Vec<String> = (2..)
            .zip(&self.key)
            .map(|(at, (name, _))| format!("{name} = ?{at}"))
            .collect();
        let sql = format!(
            "UPDATE {table} SET {column} = ?1 WHERE {}",
            wheres.join(" AND ")
        );
        let values = std::iter::once(&self.to).chain(self.key.iter().map(|(_, value)| value));
        match connection.execute(&sql, rusqlite::params_from_iter(values)) {
            Ok(changed) => {
                assert_eq!(changed, 1, "{self}");
                true
            }
            Err(error) => {
                let refused = Some(rusqlite::ErrorCode::ConstraintViolation);
                assert_eq!(error.sqlite_error_code(), refused, "{self}: {error}");
                false
            }
        }
    }

    /// The expected name: the table, or the record.
    fn is_named_in(&self, text: &str) -> bool {
        let number = |column: &str| {
            let found = self.key.iter().find(|(name, _)| name == column);
            match found {
                Some((_, Value::Integer(number))) => number.to_string(),
                _ => panic!("{self} has no {column}"),
            }
        };
        match self.table {
            "agents" => [
                "table `agents`",
                "the log ends elsewhere than the agent's row says",
                "the key store has no key",
                "the database has none of that identifier",
                "its hash does not fit",
                // Its row exists under another identifier, and nothing else.
                "table `agent_prompts`",
            ]
            .iter()
            .any(|named| text.contains(named)),
            "memories" => {
                // By its new number, if the number was changed.
                let number = match &self.to {
                    Value::Integer(number) if self.column == "number" => number.to_string(),
                    _ => number("number"),
                };
                [
                    format!("table `memories`, memory #{number},"),
                    format!("table `memories`, row #{number}:"),
                    format!("table `memories`, row {number} has"),
                ]
                .iter()
                .any(|named| text.contains(named))
            }
            "audit_records" => {
                let seq = number("seq");
                text.contains(&format!("record {seq}:"))
                    || text.contains(&format!("row {seq} has a"))
            }
            "log_leaves" => {
                text.contains("the log over all heads") || text.contains("`log_leaves`")
            }
            table => text.contains(&format!("`{table}`")),
        }
    }
}

impl std::fmt::Display for Mutation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |value: &Value| match value {
            Value::Blob(bytes) if bytes.len() > 32 => format!("{} bytes", bytes.len()),
            value => format!("{value:?}"),
        };
        let (table, column) = (self.table, &self.column);
        write!(formatter, "{table}.{column} of ")?;
        for (name, value) in &self.key {
            write!(formatter, "{name} {}, ", short(value))?;
        }
        write!(formatter, "{} to {}", short(&self.from), short(&self.to))
    }
}

fn assert_none_missed(missed: &[String], count: usize) {
    let (number, all) = (missed.len(), missed.join("\n"));
    assert!(missed.is_empty(), "{number} of {count}:\n{all}");
}

/// SPEC 4.2, 5.3: one byte, one letter or one count of any column of any row.
#[tokio::test]
async fn spec_5_3_a_change_of_any_column_is_found_and_named() {
    let evidence = evidence().await;
    let today = Connection::open(&evidence.today).unwrap();
    let mut missed = Vec::new();
    let (mut tried, mut refused) = (BTreeSet::new(), 0);
    let mut count = 0;
    for mutation in mutations(&today) {
        let place = (mutation.table, mutation.column.as_str());
        if UNBOUND.contains(&place) {
            continue;
        }
        let mut is_done = false;
        let verdict = evidence
            .judge(|connection| is_done = mutation.apply(connection))
            .await;
        if !is_done {
            refused += 1;
            continue;
        }
        count += 1;
        tried.insert((mutation.table, mutation.column.clone()));
        if !KEPT_OUTSIDE.contains(&place) {
            missed.extend(verdict.lacks(&mutation));
        } else if verdict.grew() {
            missed.push(format!("{mutation}: the log over all heads is as it was"));
        }
    }
    assert_none_missed(&missed, count);
    assert!(
        refused < count / 10,
        "{refused} of {count} were refused by SQLite"
    );
    for column in columns(&today) {
        let place = (column.table, column.name.clone());
        let is_unbound = UNBOUND.contains(&(column.table, column.name.as_str()));
        assert!(
            is_unbound || tried.contains(&place),
            "{place:?} was not tried"
        );
    }
}

/// Exchanges a column of two rows of one table.
fn swap(connection: &Connection, table: &str, column: &str, one_row: &str, other_row: &str) {
    let read = |row: &str| -> Value {
        let sql = format!("SELECT {column} FROM {table} WHERE {row}");
        one(connection, &sql)
    };
    let (first, second) = (read(one_row), read(other_row));
    assert_ne!(first, second, "there is nothing to exchange");
    for (row, value) in [(one_row, second), (other_row, first)] {
        let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {row}");
        change(connection, &sql, [value]);
    }
}

/// A row's key as it is written in SQL.
fn row_of(agent: &[u8; 16], name: &str, number: u64) -> String {
    format!("agent_id = {} AND {name} = {number}", blob(agent))
}

fn blob(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("x'{digits}'")
}

#[tokio::test]
async fn spec_5_3_rows_and_texts_cannot_be_swapped() {
    let evidence = evidence().await;
    let wren = &evidence.wren;
    let memory = |number| row_of(wren, "number", number);
    let verdict = evidence
        .judge(|connection| swap(connection, "memories", "body", &memory(1), &memory(8)))
        .await;
    verdict.names(&[
        "table `memories`, memory #1,",
        "memory #8,",
        "not authentic",
    ]);

    // All of the rows but their numbers.
    let verdict = evidence
        .judge(|connection| {
            for column in ["version", "tokens", "created_at", "updated_at", "body"] {
                swap(connection, "memories", column, &memory(1), &memory(2));
            }
        })
        .await;
    let both = [
        "table `memories`, memory #1,",
        "memory #2,",
        "not authentic",
    ];
    verdict.names(&both);

    // The numbers of two rows.
    let verdict = evidence
        .judge(|connection| {
            for (from, to) in [(1, 1_000_000), (2, 1), (1_000_000, 2)] {
                let sql = format!("UPDATE memories SET number = {to} WHERE {}", memory(from));
                change(connection, &sql, []);
            }
        })
        .await;
    verdict.names(&both);

    let record = |seq| row_of(wren, "seq", seq);
    let verdict = evidence
        .judge(|connection| swap(connection, "audit_records", "body", &record(3), &record(4)))
        .await;
    verdict.names(&[
        "record 3: its sealed text was changed",
        "record 4: its sealed text",
    ]);
    let verdict = evidence
        .judge(|connection| {
            for column in ["body", "body_commitment"] {
                swap(connection, "audit_records", column, &record(3), &record(4));
            }
        })
        .await;
    verdict.names(&["record 3: it was changed: its hash does not fit"]);

    let session = |id: memoir_domain::SessionId| format!("id = {}", blob(id.as_bytes()));
    let (first, second) = (
        session(evidence.story.completed),
        session(evidence.story.undone),
    );
    let verdict = evidence
        .judge(|connection| swap(connection, "sessions", "sealed", &first, &second))
        .await;
    verdict.names(&[
        &format!("session {}", evidence.story.completed),
        &format!("session {}", evidence.story.undone),
    ]);
}

#[tokio::test]
async fn spec_5_3_nothing_is_moved_or_copied_from_one_agent_to_another() {
    let evidence = evidence().await;
    let (wren, magpie) = (&evidence.wren, &evidence.magpie);
    let ids = [wren, magpie].map(|id| memoir_domain::AgentId::from_bytes(*id).to_string());
    // The two have a memory of each of these numbers.
    let body = |agent, number| {
        let row = row_of(agent, "number", number);
        format!("(SELECT body FROM memories WHERE {row})")
    };
    let row = row_of(wren, "number", 1);
    let sql = format!("UPDATE memories SET body = {} WHERE {row}", body(magpie, 1));
    let verdict = evidence.judge_change(&sql).await;
    verdict.names(&[&ids[0], "table `memories`, memory #1,", "not authentic"]);

    // A whole row, in the place of another and as one more.
    for number in [1, 900] {
        let verdict = evidence
            .judge(|connection| {
                let mut columns = columns_of(connection, "memories");
                let names = columns.join(", ");
                columns[0] = blob(wren);
                columns[1] = number.to_string();
                let sql = format!(
                    "INSERT OR REPLACE INTO memories ({names}) SELECT {} FROM memories WHERE {}",
                    columns.join(", "),
                    row_of(magpie, "number", 1),
                );
                change(connection, &sql, []);
            })
            .await;
        verdict.names(&[&ids[0], &format!("memory #{number},"), "not authentic"]);
    }

    let sql = format!(
        "UPDATE memories SET agent_id = {} WHERE {}",
        blob(magpie),
        row_of(wren, "number", 12)
    );
    let verdict = evidence.judge_change(&sql).await;
    verdict.names(&[&ids[0], &ids[1], "row #12: is missing", "memory #12,"]);

    for (table, named) in [
        ("agent_prompts", "`agent_prompts`"),
        ("audit_records", "record"),
    ] {
        let verdict = evidence
            .judge(|connection| {
                let sql = format!(
                    "UPDATE {table} SET agent_id = CASE agent_id WHEN {wren} THEN {magpie} ELSE {wren} END",
                    wren = blob(wren),
                    magpie = blob(magpie),
                );
                exchange_agents(connection, table, &sql);
            })
            .await;
        verdict.names(&[&ids[0], &ids[1], named]);
    }
}

/// An update of the keys of all rows of a table: by way of a copy, since the keys would collide.
fn exchange_agents(connection: &Connection, table: &str, sql: &str) {
    let moved = sql.replace(table, "moved");
    connection
        .execute_batch(&format!(
            "CREATE TEMP TABLE moved AS SELECT * FROM {table}; {moved}; DELETE FROM {table};
             INSERT INTO {table} SELECT * FROM moved; DROP TABLE moved;"
        ))
        .unwrap();
}

#[tokio::test]
async fn spec_4_2_records_cannot_be_cut_off_left_out_or_put_in() {
    let evidence = evidence().await;
    let wren = &evidence.wren;
    let id = blob(wren);
    let next_seq = format!("SELECT next_seq FROM agents WHERE id = {id}");
    for cut in [1, 2, 5] {
        for adjusted in [false, true] {
            let mut last = 0_i64;
            let verdict = evidence
                .judge(|connection| {
                    let next: i64 = one(connection, &next_seq);
                    last = next - 1 - cut;
                    let sql =
                        format!("DELETE FROM audit_records WHERE agent_id = {id} AND seq > ?1");
                    change(connection, &sql, [last]);
                    if adjusted {
                        let sql = format!(
                            "UPDATE agents SET next_seq = ?1 + 1, head = (SELECT hash FROM audit_records \
                             WHERE agent_id = {id} AND seq = ?1) WHERE id = {id}"
                        );
                        change(connection, &sql, [last]);
                    }
                })
                .await;
            if adjusted {
                verdict.names(&["table `agents`", "not authentic", "the record is missing"]);
            } else {
                let missing = last + 1;
                verdict.names(&[&format!("record {missing}: the log ends elsewhere")]);
            }
        }
    }
    let in_the_middle = row_of(wren, "seq", 10);
    let sql = format!("DELETE FROM audit_records WHERE {in_the_middle}");
    let verdict = evidence.judge_change(&sql).await;
    verdict.names(&["record 10: missing; record 11 is in its place"]);
    // The later ones moved up.
    let verdict = evidence
        .judge(|connection| {
            let sql = format!("DELETE FROM audit_records WHERE {in_the_middle}");
            change(connection, &sql, []);
            let last: i64 = one(connection, "SELECT max(seq) FROM audit_records");
            for seq in 11..=last {
                let sql = format!(
                    "UPDATE audit_records SET seq = seq - 1 WHERE {}",
                    row_of(wren, "seq", seq as u64)
                );
                change(connection, &sql, []);
            }
        })
        .await;
    verdict.names(&["record 10: it was changed: its hash does not fit"]);
    // One more at the end, with and without the agent's row, with the text of the one before it.
    for adjusted in [false, true] {
        let mut forged = 0_i64;
        let verdict = evidence
            .judge(|connection| {
                forged = one(connection, &next_seq);
                let names = columns_of(connection, "audit_records");
                let values = names.join(", ").replace("seq", "seq + 1");
                let sql = format!(
                    "INSERT INTO audit_records ({}) SELECT {values} FROM audit_records \
                     WHERE agent_id = {id} AND seq = ?1 - 1",
                    names.join(", ")
                );
                change(connection, &sql, [forged]);
                if adjusted {
                    let sql = format!("UPDATE agents SET next_seq = next_seq + 1 WHERE id = {id}");
                    change(connection, &sql, []);
                }
            })
            .await;
        let changed = format!("record {forged}: it was changed: its hash does not fit");
        verdict.names(&[&changed]);
    }
    // The best forgery without a key: its hash fits the one before it.
    let verdict = evidence
        .judge(|connection| forge_record(connection, evidence))
        .await;
    verdict.names(&["table `agents`, version", "not authentic"]);
    assert!(!verdict.text().contains("its hash does not fit"));
}

/// A record at the end of wren's log whose hash is right, and an agent's row that matches.
fn forge_record(connection: &Connection, evidence: &Evidence) {
    use memoir_domain::Timestamp;
    use memoir_vault::chain::{self, RecordHash};
    let id = blob(&evidence.wren);
    let (next, head, account): (i64, [u8; 32], [u8; 16]) = connection
        .query_row(
            &format!("SELECT next_seq, head, account_id FROM agents WHERE id = {id}"),
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    let scope = memoir_domain::AgentScope {
        account: memoir_domain::AccountId::from_bytes(account),
        agent: memoir_domain::AgentId::from_bytes(evidence.wren),
    };
    let body = b"\x01 nobody's words".as_slice();
    let record = chain::ChainRecord {
        seq: next as u64,
        recorded_at: Timestamp::from_microseconds(1_772_625_600_000_000).unwrap(),
        actor_kind: "administrator",
        actor_name: "test",
        action: "memory_saved",
        session: None,
        memory: None,
        facts: b"{}",
        body: chain::body_commitment(body),
    };
    let hash = record.hash(scope, &RecordHash(head));
    let sql = format!(
        "INSERT INTO audit_records (agent_id, seq, recorded_at, actor_kind, actor_name, action, \
         session_id, memory, body_version, body_commitment, hash, facts, body) \
         VALUES ({id}, ?1, ?2, 'administrator', 'test', 'memory_saved', NULL, NULL, 1, ?3, ?4, '{{}}', ?5)"
    );
    let recorded_at = record.recorded_at.microseconds();
    let values = params![next, recorded_at, record.body.0, hash.0, body];
    change(connection, &sql, values);
    let sql = format!("UPDATE agents SET next_seq = ?1 + 1, head = ?2 WHERE id = {id}");
    change(connection, &sql, params![next, hash.0]);
}

/// The parts of an agent that are put back to yesterday's state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PutBack {
    AgentRow,
    Prompts,
    /// All rows of the agent, the log included.
    Agent,
    /// These, and the log over all heads.
    AgentAndLeaves,
}

fn put_back(evidence: &Evidence, connection: &Connection, what: PutBack) {
    attach(connection, &evidence.yesterday);
    let id = blob(&evidence.wren);
    let replace = |table: &str, rows: &str| replace(connection, table, rows);
    match what {
        PutBack::AgentRow => replace("agents", &format!("id = {id}")),
        PutBack::Prompts => replace("agent_prompts", &format!("agent_id = {id}")),
        PutBack::Agent | PutBack::AgentAndLeaves => {
            for table in TABLES {
                let rows = match table {
                    "agents" => format!("id = {id}"),
                    "log_leaves" if what == PutBack::Agent => continue,
                    "log_leaves" => "true".to_owned(),
                    _ => format!("agent_id = {id}"),
                };
                replace(table, &rows);
            }
        }
    }
}

#[tokio::test]
async fn spec_4_2_what_is_put_back_as_it_was_is_found() {
    let evidence = evidence().await;
    for (what, named) in [
        (
            PutBack::AgentRow,
            "the log ends elsewhere than the agent's row says",
        ),
        (PutBack::Prompts, "table `agent_prompts`"),
        (PutBack::Agent, "the log over all heads has another hash"),
    ] {
        let verdict = evidence
            .judge(|connection| put_back(evidence, connection, what))
            .await;
        verdict.names(&[named]);
        assert!(verdict.grew(), "the log over all heads is as it was");
    }
    // All of one agent, and the log over all heads: it is consistent, and only the checkpoint shows it.
    let verdict = evidence
        .judge(|connection| put_back(evidence, connection, PutBack::AgentAndLeaves))
        .await;
    assert!(verdict.is_valid(), "{}", verdict.text());
    assert!(!verdict.grew());
}

/// Puts the rows of a table back as they were in another copy of the database.
fn put_rows_back(path: &Path, from: &Path, table: &str, rows: &str) {
    intrude(path, |connection| {
        attach(connection, from);
        replace(connection, table, rows);
    });
}

/// The chain cannot show an old row; the contents of the log can.
#[tokio::test]
async fn spec_4_2_each_kind_of_old_row_is_found_by_what_the_log_tells() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let memories = crate::story::memories();
    wren.save(&memories).await;
    let agent = *wren.agent.scope().agent.as_bytes();
    drop(wren);
    let copy = |name: &str| {
        let path = folder.path().join(name);
        folder.copy_to(&path);
        path
    };
    let old = copy("old");
    let wren = TestAgent::of(&folder.open()).await;
    let (driven, _) = wren.refine(crate::story::edits()).await;
    drop(wren);
    let ended = copy("ended");
    let wren = TestAgent::of(&folder.open()).await;
    wren.roll_back(driven.id, false).await;
    drop(wren);
    let undone = copy("undone");
    let wren = TestAgent::of(&folder.open()).await;
    let rehearsal = rehearsal();
    wren.refine_with(&rehearsal, [complete()]).await;
    drop(wren);
    let today = copy("today");

    let rewritten = row_of(&agent, "number", REWRITTEN.0);
    let session = format!("id = {}", blob(driven.id.as_bytes()));
    let sessions = format!("agent_id = {}", blob(&agent));
    let row = format!("id = {}", blob(&agent));
    type Case<'a> = (&'a Path, &'a [(&'a str, &'a str)], Option<&'a str>);
    let cases: [Case<'_>; 6] = [
        // Since it was undone, the memory is as before: only its version differs.
        (&old, &[("memories", &rewritten)], None),
        (&ended, &[("memories", &rewritten)], Some("row #2: content")),
        (
            &ended,
            &[("sessions", &session)],
            Some("`undone_at` is not as recorded"),
        ),
        (
            &ended,
            &[("agents", &row)],
            Some("the log ends elsewhere than the agent's row says"),
        ),
        (
            &undone,
            &[("agents", &row)],
            Some("the log ends elsewhere than the agent's row says"),
        ),
        // With the rehearsal's row gone as well, its end is still recorded.
        (
            &undone,
            &[("agents", &row), ("sessions", &sessions)],
            Some("the log ends elsewhere than the agent's row says"),
        ),
    ];
    for (from, tables, named) in cases {
        let to = copy("tampered");
        for (table, rows) in tables {
            put_rows_back(&to, from, table, rows);
        }
        let verified = folder.open_at(&to).memoir.verify_all().await.unwrap();
        let text = format!("{:?}", verified[0].mismatches);
        assert_eq!(verified[0].valid, named.is_none(), "{tables:?}: {text}");
        assert!(
            text.contains(named.unwrap_or_default()),
            "{named:?}: {text}"
        );
    }
    assert!(folder.open_at(&today).memoir.verify_all().await.unwrap()[0].valid);
}

/// The key of an erased agent is gone: only its log remains to be verified, and its end.
#[tokio::test]
async fn spec_5_4_a_change_in_the_log_of_an_erased_agent_is_found_and_named() {
    /// Columns of the agent's row that its log vouches for.
    const VOUCHED: [&str; 5] = ["id", "account_id", "next_seq", "erased_at", "head"];
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let completed = Box::pin(first_part(&folder, &wren)).await;
    Box::pin(second_part(&folder, &wren, completed)).await;
    wren.agent.log().erase(&person()).await.unwrap();
    drop(wren);
    let today = folder.path().join("today");
    folder.copy_to(&today);
    let mutations = mutations(&Connection::open(&today).unwrap());
    let mutations = mutations
        .into_iter()
        .filter(|mutation| match mutation.table {
            "audit_records" => true,
            "agents" => VOUCHED.contains(&mutation.column.as_str()),
            _ => false,
        });
    let (mut count, mut missed) = (0, Vec::new());
    for mutation in mutations {
        let copy = folder.path().join("copy");
        fs::copy(&today, &copy).unwrap();
        let mut is_done = false;
        intrude(&copy, |connection| is_done = mutation.apply(connection));
        if !is_done {
            continue;
        }
        count += 1;
        let verified = folder.open_at(&copy).memoir.verify_all().await;
        let verdict = Verdict {
            verified: verified.map_err(|error| error.to_string()),
            growth: Err("none was kept".to_owned()),
        };
        missed.extend(verdict.lacks(&mutation));
    }
    assert_none_missed(&missed, count);
    assert!(count > 60, "{count}");
    // Its end cut off, and the row adapted: the key store shows it.
    intrude(&today, |connection| {
        let sql = "DELETE FROM audit_records WHERE action = 'agent_erased'";
        change(connection, sql, []);
        let sql = "UPDATE agents SET erased_at = NULL, next_seq = next_seq - 1, \
                   head = (SELECT hash FROM audit_records ORDER BY seq DESC LIMIT 1)";
        change(connection, sql, []);
    });
    let verified = folder.open_at(&today).memoir.verify_all().await.unwrap();
    let problem = &verified[0].first_bad.as_ref().unwrap().problem;
    assert!(problem.contains("no record shows it"), "{problem}");
}

#[tokio::test]
async fn spec_4_2_a_forged_log_over_all_heads_is_found() {
    let evidence = evidence().await;
    // Cut off; the last one first, since one that is missing in the middle leaves a gap.
    let sql = "DELETE FROM log_leaves WHERE position = (SELECT max(position) FROM log_leaves)";
    let verdict = evidence.judge_change(sql).await;
    assert!(verdict.is_valid(), "what is left fits: {}", verdict.text());
    verdict.grew_not("cut off");
    let sql = "DELETE FROM log_leaves WHERE position = 1";
    let verdict = evidence.judge_change(sql).await;
    verdict.names(&["`log_leaves`", "row 1 is missing"]);
    assert!(verdict.growth.is_err());
    // Two exchanged: each fits its agent, and the root is another.
    let verdict = evidence
        .judge(|connection| {
            for column in ["agent_id", "seq", "head", "recorded_at"] {
                let read = |at: i64| -> Value {
                    one(
                        connection,
                        &format!("SELECT {column} FROM log_leaves WHERE position = {at}"),
                    )
                };
                let (first, second) = (read(0), read(1));
                let sql = format!("UPDATE log_leaves SET {column} = ?1 WHERE position = ?2");
                change(connection, &sql, params![second, 0]);
                change(connection, &sql, params![first, 1]);
            }
        })
        .await;
    assert!(verdict.is_valid());
    verdict.grew_not("rewritten");
    // One more, of an existing agent, with a hash of no record of its.
    let sql = "INSERT INTO log_leaves (position, agent_id, seq, head, recorded_at) \
         SELECT (SELECT count(*) FROM log_leaves), agent_id, seq, randomblob(32), recorded_at \
         FROM log_leaves WHERE position = 0";
    let verdict = evidence.judge_change(sql).await;
    verdict.names(&["the log over all heads has another hash for this record"]);
    assert!(verdict.grew(), "added to at its end");
    // One more, of no agent.
    let sql = "INSERT INTO log_leaves (position, agent_id, seq, head, recorded_at) \
         SELECT count(*), randomblob(16), 1, randomblob(32), 0 FROM log_leaves";
    let verdict = evidence.judge_change(sql).await;
    verdict.names(&["the database has none of that identifier"]);
}

#[tokio::test]
async fn spec_4_2_an_agent_that_was_taken_away_is_missed() {
    let evidence = evidence().await;
    let take_away = |connection: &Connection, with_leaves: bool| {
        let id = blob(&evidence.wren);
        for table in TABLES {
            if table == "log_leaves" && !with_leaves {
                continue;
            }
            let column = if table == "agents" { "id" } else { "agent_id" };
            let sql = format!("DELETE FROM {table} WHERE {column} = {id}");
            change(connection, &sql, []);
        }
        if with_leaves {
            renumber_leaves(connection);
        }
    };
    let verdict = evidence
        .judge(|connection| take_away(connection, false))
        .await;
    let wren = memoir_domain::AgentId::from_bytes(evidence.wren).to_string();
    verdict.names(&[&wren, "the database has none of that identifier"]);
    let verdict = evidence
        .judge(|connection| take_away(connection, true))
        .await;
    assert!(verdict.is_valid(), "{}", verdict.text());
    assert!(!verdict.grew(), "only an outside copy shows it");
}

fn renumber_leaves(connection: &Connection) {
    connection
        .execute_batch(
            "CREATE TEMP TABLE moved AS SELECT * FROM log_leaves ORDER BY position; DELETE FROM log_leaves;
             INSERT INTO log_leaves SELECT rowid - 1, agent_id, seq, head, recorded_at FROM moved;
             DROP TABLE moved;",
        )
        .unwrap();
}

/// SPEC 5.5: write access to the database gives no access to Memoir.
#[tokio::test]
async fn spec_5_5_a_token_that_memoir_did_not_write_opens_nothing() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let account = wren.memoir.account("default").await.unwrap();
    let revoked = account.create_token(None, &OWNER).await.unwrap();
    let secret = revoked.secret.expose().to_owned();
    let done = account.revoke_token(revoked.view.id, &person()).await;
    done.unwrap();
    let (grants, any) = (wren.agent.grants(), memoir_app::Provision::Any);
    let own = grants.create_token(any, None, &person()).await.unwrap();
    let known = wren.memoir.authenticate(own.secret.expose()).await.unwrap();
    assert!(known.is_some());
    // The agent's token, made an administrator's, too.
    let sql = "UPDATE tokens SET revoked_at = NULL; UPDATE tokens SET agent_id = NULL";
    tamper(&folder.database(), sql);
    for secret in [secret.as_str(), own.secret.expose()] {
        assert_eq!(wren.memoir.authenticate(secret).await.unwrap(), None);
    }
}

fn message(id: &str) -> HandedMessage {
    memoir_testkit::message(id, &format!("Message {id} says something."))
}

/// A waiting conversation is not part of an agent's memory, and no record mentions it before it is read, so
/// verification ignores it. But no text of a changed message reaches a model.
#[tokio::test]
async fn spec_5_3_a_message_that_was_changed_is_not_read() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;

    let read = message("read");
    wren.hand_over(vec![read], true, ActorKind::Agent).await;
    wren.script([Turn::text(r#"{"journal": [], "core": []}"#)]);
    let absorbed = wren.absorb().await;
    assert_eq!(absorbed.messages, 1);
    let waiting = vec![message("a"), message("b")];
    wren.hand_over(waiting, true, ActorKind::Agent).await;
    drop(wren);
    let a = "WHERE agent_id IS NOT NULL AND seq = 2";
    for sql in [
        format!("UPDATE transcript_messages SET tokens = tokens + 1 {a}"),
        format!("UPDATE transcript_messages SET received_at = received_at - 1 {a}"),
        format!("UPDATE transcript_messages SET digest = zeroblob(32) {a}"),
        format!("UPDATE transcript_messages SET body = zeroblob(length(body)) {a}"),
        format!(
            "UPDATE transcript_messages SET body = (SELECT body FROM transcript_messages WHERE seq = 3) {a}"
        ),
        // One that was read, put back after its text was removed.
        "UPDATE transcript_messages SET state = 'pending', body = x'', words_until = NULL WHERE seq = 1"
            .to_owned(),
    ] {
        let copy = folder.path().join("copy.db");
        folder.copy_to(&copy);
        intrude(&copy, |connection| change(connection, &sql, []));
        let memoir = folder.open_at(&copy).memoir;
        let agent = agent_of(&memoir, "wren").await;
        let refused = agent.life().absorb(pending(), &mut |_| {}).await;
        let code = refused.map_err(|error| error.code()).unwrap_err();
        assert_eq!(code, "tampered", "{sql}");
        assert!(agent.lens().memories(true).await.unwrap().is_empty());
        // What changes their counts is noticed also where none is opened.
        let is_miscounted = sql.contains("tokens =") || sql.contains("'pending'");
        let verified = agent.log().verify().await.unwrap();
        assert_eq!(verified.valid, !is_miscounted, "{sql}");
    }
}

/// SPEC 2.6, 3.12: a conversation that was handed over and is missing from the database is noticed at each use.
#[tokio::test]
async fn spec_3_12_a_conversation_that_was_removed_or_cut_is_noticed_at_reading() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("The key of the shed is under the pot.").await;

    for ids in [&["a"][..], &["b", "c"]] {
        let messages = ids.iter().map(|id| message(id)).collect();
        wren.hand_over(messages, true, ActorKind::Agent).await;
        if ids.len() == 1 {
            wren.script([Turn::text(r#"{"journal": [], "core": []}"#)]);
            assert_eq!(wren.absorb().await.messages, 1);
        }
    }
    assert_eq!(wren.agent.life().transcript().await.unwrap().pending, 2);
    drop(wren);
    for sql in [
        "DELETE FROM transcript_messages WHERE seq = 3",
        "DELETE FROM transcript_messages WHERE seq = 2",
        "DELETE FROM transcript_messages",
        "UPDATE transcript_messages SET state = 'absorbed', body = x'' WHERE seq = 2",
        "UPDATE transcript_messages SET state = 'failed' WHERE seq = 3",
        "DELETE FROM transcript_messages WHERE seq = 1",
        // A row that no count has, also where nothing says when messages are read.
        "DELETE FROM transcripts WHERE agent_id IS NOT NULL; UPDATE transcript_messages SET state = 'failed' WHERE seq = 3",
    ] {
        let copy = folder.path().join("copy.db");
        folder.copy_to(&copy);
        intrude(&copy, |connection| {
            for sql in sql.split(';') {
                change(connection, sql, []);
            }
        });
        let memoir = folder.open_at(&copy).memoir;
        let agent = agent_of(&memoir, "wren").await;
        let life = agent.life();
        // A shredding says how many messages may hold the text, which has to be right.
        let wish = ShredWish::of(Number(1), "It was a key.");
        let refused = agent.memories().shred(wish, &Actor::agent("wren")).await;
        assert_eq!(
            refused.map_err(|error| error.code()).unwrap_err(),
            "tampered",
            "{sql}"
        );
        // What a session's start asks for is answered: a context is worth more than a count of messages.
        life.transcript().await.unwrap();
        life.unread().await.unwrap();
        let codes = [
            life.absorb(pending(), &mut |_| {}).await.map(drop),
            life.absorb_again().await.map(drop),
            agent.read_part().await.map(drop),
        ];
        for (at, refused) in codes.into_iter().enumerate() {
            let code = refused.map_err(|error| error.code());
            assert_eq!(code, Err("tampered"), "{sql}: {at}");
        }
        let verified = agent.log().verify().await.unwrap();
        let problem = &verified.first_bad.unwrap().problem;
        assert!(problem.contains("transcript_messages"), "{sql}: {problem}");
        let account = memoir.account("default").await.unwrap();
        let found = memoir.examine(&account).await.unwrap();
        let is_it = |one: &&memoir_app::Examination| {
            one.severity == Severity::Problem && one.finding.contains("conversations")
        };
        assert!(found.iter().any(|one| is_it(&one)), "{sql}: {found:?}");
        // No further conversation is lost.
        let more = life.hand_over(vec![message("d")], true, ActorKind::Agent);
        assert_eq!(more.await.unwrap().received, 1, "{sql}");
    }
}

/// SPEC 2.6: messages that wait are named where nothing says when they are read, and a request reads them.
#[tokio::test]
async fn spec_2_6_messages_without_a_time_of_reading_are_named_and_read() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;

    let waiting = vec![message("a"), message("b")];
    wren.hand_over(waiting, true, ActorKind::Agent).await;
    drop(wren);
    for sql in [
        "DELETE FROM transcripts WHERE agent_id IS NOT NULL",
        "UPDATE transcripts SET due_at = NULL WHERE agent_id IS NOT NULL",
        "UPDATE transcripts SET due_at = NULL, claimed_until = 1 WHERE agent_id IS NOT NULL",
    ] {
        let copy = folder.path().join("copy.db");
        folder.copy_to(&copy);
        intrude(&copy, |connection| change(connection, sql, []));
        let installation = folder.open_at(&copy);
        let wren = TestAgent::named("wren", &installation).await;
        let verified = wren.agent.log().verify().await.unwrap();
        let problem = &verified.first_bad.unwrap().problem;
        assert!(problem.contains("table `transcripts`"), "{sql}: {problem}");
        let account = wren.memoir.account("default").await.unwrap();
        let found = wren.memoir.examine(&account).await.unwrap();
        let counts = found.iter().find(|one| one.area == "counts").unwrap();
        assert_eq!(counts.severity, Severity::Problem, "{sql}");
        let advice = counts.advice.as_deref().unwrap_or_default();
        assert!(advice.contains("`memoir absorb wren`"), "{sql}: {counts:?}");
        wren.script([Turn::text(r#"{"journal": [], "core": []}"#)]);
        let absorbed = wren.absorb().await;
        assert_eq!((absorbed.messages, absorbed.pending), (2, 0), "{sql}");
        assert!(wren.agent.log().verify().await.unwrap().valid, "{sql}");
    }
}

/// SPEC 3.12: a message that no count has is named, also of an agent to which none was handed over.
#[tokio::test]
async fn spec_3_12_a_message_that_no_count_has_is_named() {
    let folder = new_folder();
    drop(TestAgent::of(&folder.open()).await);
    let sql = "INSERT INTO transcript_messages (agent_id, seq, digest, tokens, received_at, counted_bytes, state, body) \
         SELECT id, 1, zeroblob(32), 5, 0, 0, 'pending', x'00' FROM agents WHERE name = 'wren'";
    intrude(&folder.database(), |connection| change(connection, sql, []));
    let memoir = folder.open().memoir;
    let agent = agent_of(&memoir, "wren").await;
    let verified = agent.log().verify().await.unwrap();
    let problem = &verified.first_bad.unwrap().problem;
    assert!(problem.contains("table `transcript_messages`"), "{problem}");
}

#[tokio::test]
async fn spec_5_5_a_browsers_row_given_to_another_user_signs_no_user_in() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let account = wren.memoir.account("default").await.unwrap();
    let mut grace = String::new();
    for name in ["Ada", "Grace"] {
        let password =
            memoir_vault::password::Password::from_text("correct horse battery").unwrap();
        let made = account.create_user(name, password, &OWNER).await.unwrap();
        grace = made.id.to_string();
    }
    let password = memoir_vault::password::Password::from_text("correct horse battery").unwrap();
    let ends = wren.memoir.now().plus_seconds(3_600);
    let memoir = &wren.memoir;
    let cookie = memoir_app::SignInSecret::Cookie;
    let signed_in = memoir.sign_in(None, "Ada", password, cookie, ends);
    let memoir_app::SignIn::In(made) = signed_in.await.unwrap() else {
        panic!("no code is needed");
    };
    let secret = made.secret;
    let entered = memoir.enter_with_browser(secret.expose(), 600).await;
    assert_eq!(entered.unwrap().unwrap().user.name, "Ada");
    intrude(&folder.database(), |connection| {
        let sql = "UPDATE tokens SET open = replace(open, \
             (SELECT json_extract(open, '$.sign_in.user') FROM tokens), ?1)";
        change(connection, sql, [&grace]);
    });
    let entered = memoir.enter_with_browser(secret.expose(), 600).await;
    assert!(entered.unwrap().is_none());
}

/// A check of the rows alone would not find it: nothing stored differs.
#[tokio::test]
async fn spec_4_2_a_changed_form_of_the_database_is_named_by_verifying_and_by_the_doctor() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("Marta prefers linen thread.").await;
    assert!(wren.agent.log().verify().await.unwrap().valid);
    let raw = Connection::open(folder.database()).unwrap();
    raw.execute_batch("DROP TRIGGER audit_records_undeleted")
        .unwrap();
    let problem = "trigger `audit_records_undeleted` is missing";
    let one = wren.agent.log().verify().await.unwrap();
    for verified in wren.memoir.verify_all().await.unwrap().iter().chain([&one]) {
        let first = verified.first_bad.as_ref().unwrap();
        assert!(
            !verified.valid && first.problem.ends_with(problem),
            "{verified:?}"
        );
    }
    let account = wren.memoir.account("default").await.unwrap();
    let found = wren.memoir.examine(&account).await.unwrap();
    let is_it = |one: &memoir_app::Examination| {
        one.severity == Severity::Problem && one.finding.ends_with(problem)
    };
    assert!(found.iter().any(is_it), "{found:?}");
    // Later requests are refused, and without effect.
    let another = [input("Another.")];
    let refused = wren.agent.memories().save(&another, &person()).await;
    assert_eq!(refused.unwrap_err().code(), "internal");
    assert_eq!(wren.seen().memories(true).await.unwrap().len(), 1);
}

/// SPEC 5.3: a process's cache does not hide from it that the row was changed.
#[tokio::test]
async fn spec_5_3_a_row_that_was_opened_before_and_changed_since_is_refused() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let elsewhere = agent_of(&folder.open().memoir, "wren").await;
    let saved = ["The river is high.", "The cat is at the neighbours'."].map(input);
    wren.save(&saved).await;
    let text = async || {
        let context = wren.agent.context(None).await;
        context.map(|context| context.text.expose().to_owned())
    };
    let before = text().await.unwrap();
    assert_eq!(text().await.unwrap(), before);
    for change in [
        // Another last byte, whichever it is: sealed bytes are random.
        "body = CAST(substr(body, 1, length(body) - 1) || \
         iif(substr(body, -1) = x'00', x'01', x'00') AS BLOB)",
        "body = (SELECT body FROM memories AS other WHERE other.number = 2)",
        "constitutional = 1",
        "kind = 'journal'",
        "updated_at = updated_at + 1",
        "version = version - 1",
        "discarded_at = 1",
    ] {
        let kept = folder.path().join("kept");
        intrude(&folder.database(), |connection| {
            let sql = format!("VACUUM INTO '{}'", kept.display());
            connection.execute_batch(&sql).unwrap();
            let sql = format!("UPDATE memories SET {change} WHERE number = 1");
            assert_eq!(connection.execute(&sql, []).unwrap(), 1);
        });
        assert_eq!(text().await.unwrap_err().code(), "tampered", "{change}");
        intrude(&folder.database(), |connection| {
            let sql = format!("ATTACH '{}' AS kept", kept.display());
            connection.execute_batch(&sql).unwrap();
            let sql = "UPDATE memories \
                 SET (body, constitutional, kind, updated_at, version, discarded_at) = \
                 (SELECT body, constitutional, kind, updated_at, version, discarded_at \
                 FROM kept.memories AS other WHERE other.number = 1) WHERE number = 1";
            assert_eq!(connection.execute(sql, []).unwrap(), 1);
        });
        fs::remove_file(kept).unwrap();
        assert_eq!(text().await.unwrap(), before);
    }
    // And the changes of another process are shown.
    shred_by(&elsewhere, ShredWish::of(Number(1), "as asked"), &person()).await;
    let after = text().await.unwrap();
    assert!(
        !after.contains("river") && after.contains("neighbours"),
        "{after}"
    );
}

/// Four originals: #1, #2 and #5 in the prompt, #3 in the archive under #5. #4 is discarded.
async fn archived_evidence(folder: &InstallationFolder) -> PathBuf {
    let wren = TestAgent::of(&folder.open()).await;
    let me = Actor::agent("wren");
    for text in [
        "The river is high.",
        "The cat is at the neighbours'.",
        "The mill is closed.",
        "A slip of the pen.",
    ] {
        save_by(&wren.agent, &[input(text)], &me).await;
    }
    handle_by(&wren.agent, Number(4), Handling::Discard, &me).await;
    drop(wren);
    let old = folder.path().join("old");
    folder.copy_to(&old);
    let wren = TestAgent::of(&folder.open()).await;
    let newer = replacing("The mill is open again.", &[3]);
    let saved = wren.agent.memories().save(&[newer], &me).await.unwrap();
    assert_eq!(saved[0].replaced, Some(vec![Number(3)]));
    let verified = wren.agent.log().verify().await.unwrap();
    assert!(verified.valid);
    assert_eq!(
        verified.originals.unwrap().to_string(),
        "4 originals: 3 in the prompt, 1 in the archive, 0 lost"
    );
    old
}

/// The result of a read: the error's code and text.
async fn every_read(
    folder: &InstallationFolder,
    path: &Path,
) -> Vec<(&'static str, Option<Error>)> {
    let me = Actor::agent("wren");
    let query = query("mill", 5);
    let mut found = Vec::new();
    for read in ["context", "recall", "remember", "refine", "export"] {
        // Each by a process without a cache, on a copy of its own.
        let copy = path.with_extension(read);
        fs::copy(path, &copy).unwrap();
        let agent = agent_of(&folder.open_at(&copy).memoir, "wren").await;
        let error = match read {
            "context" => agent.context(None).await.err(),
            "recall" => agent.lens().recall(&query).await.err(),
            "remember" => agent.memories().save(&[input("Another.")], &me).await.err(),
            "refine" => agent.open_own(Mode::Full).await.err(),
            _ => agent.export().await.err(),
        };
        drop(agent);
        fs::remove_file(&copy).unwrap();
        found.push((read, error));
    }
    found
}

/// SPEC 3.12: a removed, changed or swapped memory is named at every read of it, and by verification.
#[tokio::test]
async fn spec_3_12_a_row_that_was_removed_changed_or_swapped_is_named_at_every_read() {
    let folder = new_folder();
    let old = archived_evidence(&folder).await;
    let old = old.to_str().unwrap();
    let untouched = folder.path().join("untouched");
    folder.copy_to(&untouched);
    for (read, error) in every_read(&folder, &untouched).await {
        assert!(error.is_none(), "{read}: {error:?}");
    }
    let flip = "body = CAST(substr(body, 1, length(body) - 1) || \
         iif(substr(body, -1) = x'00', x'01', x'00') AS BLOB)";
    let (all_present, one_lost) = ("1 in the archive, 0 lost", "0 in the archive, 1 lost");
    let put_back = |number: u64| {
        format!(
            "ATTACH DATABASE '{old}' AS old; \
             DELETE FROM main.memories WHERE number = {number}; \
             INSERT INTO main.memories SELECT * FROM old.memories WHERE number = {number};"
        )
    };
    // The change, the reads that do not touch the row, the names by verification, and the counts.
    type Case<'a> = (String, &'a [&'a str], &'a str, &'a str);
    let cases: Vec<Case<'_>> = vec![
        (
            "DELETE FROM memories WHERE number = 3".to_owned(),
            &[],
            "row #3: is missing",
            one_lost,
        ),
        (
            "DELETE FROM memories WHERE number = 1".to_owned(),
            &[],
            "row #1: is missing",
            "2 in the prompt, 1 in the archive, 1 lost",
        ),
        (
            "DELETE FROM memories WHERE number = 4".to_owned(),
            &[],
            "row #4: is missing",
            all_present,
        ),
        // One removed, and another in its place.
        (
            "DELETE FROM memories WHERE number = 1; \
             UPDATE memories SET number = 1 WHERE number = 2"
                .to_owned(),
            &[],
            "memory #1,",
            "1 in the prompt, 1 in the archive, 2 lost",
        ),
        // A context shows no archival memory.
        (
            format!("UPDATE memories SET {flip} WHERE number = 3"),
            &["context"],
            "memory #3,",
            one_lost,
        ),
        (
            format!("UPDATE memories SET {flip} WHERE number = 2"),
            &[],
            "memory #2,",
            "2 in the prompt, 1 in the archive, 1 lost",
        ),
        (
            "UPDATE memories SET kind = 'core', under = NULL, archived_at = NULL, \
             archived_by = NULL WHERE number = 3"
                .to_owned(),
            &[],
            "memory #3,",
            one_lost,
        ),
        (
            "UPDATE memories SET under = 2 WHERE number = 3".to_owned(),
            &["context"],
            "memory #3,",
            one_lost,
        ),
        (
            "UPDATE memories SET archived_by = 'saved' WHERE number = 3".to_owned(),
            &["context"],
            "memory #3,",
            one_lost,
        ),
        (
            "UPDATE memories SET is_summary = 1 WHERE number = 2".to_owned(),
            &[],
            "memory #2,",
            "2 in the prompt, 1 in the archive, 1 lost",
        ),
        // Two texts exchanged.
        (
            "CREATE TEMP TABLE moved AS SELECT number, body FROM memories; \
             UPDATE memories SET body = (SELECT body FROM moved WHERE moved.number = 3 - memories.number) \
             WHERE number IN (1, 2)"
                .to_owned(),
            &[],
            "memory #1,",
            "1 in the prompt, 1 in the archive, 2 lost",
        ),
        // The row as it was before it was archived: authentic, and one core row too many.
        (put_back(3), &[], "row #3:", one_lost),
    ];
    for (sql, not_met_by, named, counted) in cases {
        let copy = folder.path().join("tampered");
        fs::copy(&untouched, &copy).unwrap();
        tamper(&copy, &sql);
        for (read, error) in every_read(&folder, &copy).await {
            let Some(error) = error else {
                assert!(not_met_by.contains(&read), "{sql}: {read} did not fail");
                continue;
            };
            assert!(!not_met_by.contains(&read), "{sql}: {read}: {error}");
            assert_eq!(error.code(), "tampered", "{sql}: {read}: {error}");
            assert!(error.to_string().contains("`memories`"), "{read}: {error}");
        }
        let agent = agent_of(&folder.open_at(&copy).memoir, "wren").await;
        let verified = agent.log().verify().await.unwrap();
        let mut problems = verified.mismatches.iter();
        let is_named = problems.any(|mismatch| mismatch.problem.contains(named));
        assert!(!verified.valid && is_named, "{sql}: {verified:?}");
        let originals = verified.originals.map(|originals| originals.to_string());
        let originals = originals.unwrap();
        assert!(originals.contains(counted), "{sql}: {originals}");
        drop(agent);
        fs::remove_file(&copy).unwrap();
    }
}

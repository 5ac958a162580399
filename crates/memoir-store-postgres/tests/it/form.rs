//! Migrations, and whether a database is one that will do.

use std::{collections::BTreeSet, path::Path};

use memoir_store::{
    Access, AgentQuery, CountAndTokens, Error, Finding, Fleet, MemoryPage, Portable, Store,
    StoredText,
    conformance::fixtures::{AGREEING, DISAGREEING},
};
use memoir_store_postgres::{MIGRATIONS, Migration, PostgresStore};

use crate::common;

#[tokio::test]
async fn a_database_that_waits_for_migrations_is_not_opened() {
    let database = or_skip!(common::database());
    let problem = PostgresStore::open(&database.url).await.unwrap_err();
    let told = problem.to_string();
    assert!(
        told.contains("migrations are pending: 0001_initial"),
        "{told}"
    );
    let store = PostgresStore::at(&database.url).unwrap();
    // A process that starts at the same time runs none twice.
    let (one, other) = (store.clone(), PostgresStore::at(&database.url).unwrap());
    let (one, other) = tokio::join!(one.migrate(), other.migrate());
    one.and(other).unwrap();
    let run = database.query("SELECT count(*) FROM memoir_migrations");
    assert_eq!(run, MIGRATIONS.len().to_string());
    assert!(store.migrate().await.unwrap().is_empty());
    PostgresStore::open(&database.url).await.unwrap();
}

#[tokio::test]
async fn spec_6_2_a_migration_that_the_server_does_not_understand_is_not_entered() {
    let database = or_skip!(common::database());
    let store = common::migrated(&database.url).await;
    let strange = Migration {
        number: MIGRATIONS.len() as i64 + 1,
        name: "strange",
        sql: "CREATE TABEL later (id bigint)",
    };
    let all = [MIGRATIONS, std::slice::from_ref(&strange)].concat().leak();
    let refused = store.migrate_to(all).await.unwrap_err().to_string();
    assert!(refused.contains("42601"), "{refused}");
    let last = database.query("SELECT max(number) FROM memoir_migrations");
    assert_eq!(last, MIGRATIONS.len().to_string());
}

#[tokio::test]
async fn spec_6_2_a_migration_may_take_as_long_as_its_table_needs() {
    let database = or_skip!(common::database());
    let store = common::migrated(&database.url).await;
    let slow = Migration {
        number: MIGRATIONS.len() as i64 + 1,
        name: "slow",
        sql: "CREATE TABLE slow AS SELECT current_setting('statement_timeout') AS runs, \
                 current_setting('lock_timeout') AS waits",
    };
    let all = [MIGRATIONS, std::slice::from_ref(&slow)].concat().leak();
    assert_eq!(store.migrate_to(all).await.unwrap(), ["slow"]);
    let limits = database.query("SELECT runs || ', ' || waits FROM slow");
    assert_eq!(limits, "0, 5s");
}

/// The names of the indexes that these migrations make.
fn indexes(sql: &str) -> BTreeSet<&str> {
    let lines = sql.lines().filter_map(|line| line.strip_prefix("CREATE "));
    let lines = lines.map(|line| line.strip_prefix("UNIQUE ").unwrap_or(line));
    let made = lines.filter_map(|line| line.strip_prefix("INDEX "));
    made.filter_map(|line| line.split(' ').next()).collect()
}

#[test]
fn spec_6_1_what_the_embedded_store_finds_by_an_index_is_found_by_one_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memoir-store-sqlite/migrations");
    let embedded = std::fs::read_dir(folder).unwrap();
    let embedded = embedded.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let (embedded, own): (String, String) = (
        embedded.collect(),
        MIGRATIONS.iter().map(|one| one.sql).collect(),
    );
    assert!(!indexes(&own).is_empty());
    assert_eq!(indexes(&own), indexes(&embedded));
}

#[tokio::test]
async fn what_was_taken_away_from_the_form_is_found() {
    let database = or_skip!(common::database());
    let store = common::migrated(&database.url).await;
    assert_eq!(store.check_form().await.unwrap(), []);
    database.query(
        "DROP TRIGGER audit_records_undeleted ON audit_records; \
         ALTER TABLE tokens DISABLE TRIGGER tokens_stay_revoked; \
         ALTER TABLE memories NO FORCE ROW LEVEL SECURITY; \
         CREATE RULE swallow AS ON INSERT TO users DO INSTEAD NOTHING; \
         CREATE OR REPLACE FUNCTION memoir_refuse() RETURNS trigger LANGUAGE plpgsql \
             AS $$ BEGIN RETURN new; END $$; \
         ALTER FUNCTION memoir_decide RENAME TO decide_otherwise; \
         ALTER FUNCTION memoir_tell_end SET search_path = elsewhere",
    );
    let found = store.check_form().await.unwrap();
    let told: Vec<_> = found.iter().map(|finding| &*finding.problem).collect();
    assert_eq!(told.len(), 7, "{told:?}");
    for name in [
        "audit_records_undeleted",
        "tokens_stay_revoked",
        "memories",
        "swallow",
        "memoir_refuse",
        "memoir_decide",
        "memoir_tell_end",
    ] {
        assert!(
            told.iter().any(|problem| problem.contains(name)),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn a_function_with_another_order_of_what_it_is_given_is_found() {
    let database = or_skip!(common::database());
    let store = common::migrated(&database.url).await;
    database.query(
        "DO $do$ DECLARE made text := pg_get_functiondef('memoir_decide'::regproc); BEGIN \
             DROP FUNCTION memoir_decide; \
             EXECUTE replace(made, 'agent_budget_share bigint, agent_removable_tokens bigint', \
                 'agent_removable_tokens bigint, agent_budget_share bigint'); \
         END $do$",
    );
    let found = store.check_form().await.unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].problem.contains("memoir_decide"), "{found:?}");
}

#[tokio::test]
async fn the_check_reads_the_rows_of_every_table() {
    let (database, store) = or_skip!(common::begin().await);
    store.commit(common::decision(0)).await.unwrap();
    assert_eq!(store.check().await.unwrap(), []);
    let (agent, id, digest) = (
        "decode(repeat('b1', 16), 'hex')",
        "decode(repeat('00', 16), 'hex')",
        "decode(repeat('00', 32), 'hex')",
    );
    // In each table a row as no version of Memoir writes it; that it refers to nothing is not what is found.
    for (table, problem, row) in [
        (
            "memories",
            "`under`",
            format!(
                "{agent}, 1, 1, 'core', 1, false, 0, 0, NULL, NULL, -1, NULL, NULL, false, NULL, 0, ''"
            ),
        ),
        (
            "memories",
            "`archived_by`",
            format!(
                "{agent}, 2, 1, 'archival', 1, false, 0, 0, NULL, NULL, 1, 0, 'dream', false, NULL, 0, ''"
            ),
        ),
        (
            "memory_vectors",
            "`version`",
            format!("{agent}, 1, 'a:b', -1, ''"),
        ),
        (
            "log_summaries",
            "`last_seq`",
            format!("{agent}, -1, {digest}, ''"),
        ),
        (
            "word_indexes",
            "`part`",
            format!("{agent}, -1, 1, 1, {digest}, ''"),
        ),
        (
            "transcript_messages",
            "`state`",
            format!("{agent}, 1, {digest}, 1, 0, 0, 'dreamt', ''"),
        ),
        (
            "transcripts",
            "`failures`",
            format!("{agent}, {id}, NULL, NULL, 0, -1"),
        ),
        (
            "access_requests",
            "`expires_at`",
            format!("{id}, {agent}, 'asked', 0, 9223372036854775807, 1, '{{}}', ''"),
        ),
        (
            "receivers",
            "`seen_at`",
            format!("{digest}, 9223372036854775807, NULL"),
        ),
        ("deliveries", "`attempt`", format!("{digest}, {id}, -1, 0")),
        ("agent_prompts", "`body`", format!("{agent}, NULL")),
    ] {
        database.query(&format!(
            "SET session_replication_role = replica; \
             ALTER TABLE agent_prompts ALTER body DROP NOT NULL; DELETE FROM agent_prompts; \
             INSERT INTO {table} VALUES ({row})"
        ));
        let findings = store.check().await.unwrap();
        let expected = format!("table `{table}`, ");
        let is_it = |found: &str| found.contains(&expected) && found.contains(problem);
        assert!(
            findings.iter().any(|finding| is_it(&finding.problem)),
            "{table}: {findings:#?}"
        );
    }
}

#[tokio::test]
async fn of_many_findings_of_one_kind_the_first_twenty_are_named() {
    let (database, store) = or_skip!(common::begin().await);
    store.commit(common::decision(0)).await.unwrap();
    let rest =
        "next_seq, head, budget_share, removable_tokens, archived_share, version, open, sealed";
    database.query(&format!(
        "INSERT INTO agents (id, account_id, name, folded_name, {rest}) \
             SELECT decode(lpad(n::text, 32, '0'), 'hex'), account_id, name || n, folded_name || n, {rest} \
             FROM agents, generate_series(1, 25) AS n; \
         INSERT INTO agent_prompts (agent_id, body) SELECT id, '\\x01' FROM agents ON CONFLICT DO NOTHING"
    ));
    let findings = store.check().await.unwrap();
    let is_log = |found: &&Finding| found.problem.contains("its next one would be 2");
    assert_eq!(findings.iter().filter(is_log).count(), 20, "{findings:#?}");
}

/// As in the embedded store: a row that Memoir never wrote is reported, and not passed over.
#[tokio::test]
async fn spec_6_1_the_first_page_of_memories_has_a_row_of_an_impossible_number() {
    let (database, store) = or_skip!(common::begin().await);
    let mut commit = common::decision(0);
    commit.memories = vec![common::memory(1)];
    store.commit(commit).await.unwrap();
    let page = MemoryPage {
        limit: 10,
        ..MemoryPage::default()
    };
    let found = store.memory_page(common::scope(), &page).await.unwrap();
    assert_eq!(found.len(), 1);
    database.query("UPDATE memories SET number = -1");
    let found = store.memory_page(common::scope(), &page).await;
    assert!(
        matches!(found, Err(Error::Inconsistent { .. })),
        "{found:?}"
    );
}

/// The totals show that a row is missing or exchanged, without reading any row.
#[tokio::test]
async fn rows_that_others_changed_are_counted_as_they_are() {
    let (database, store) = or_skip!(common::begin().await);
    let mut commit = common::decision(0);
    commit.memories = (1..=3).map(common::memory).collect();
    store.commit(commit).await.unwrap();
    let counts = async || {
        let wanted = AgentQuery::default();
        let found = store.snapshot(common::scope(), &wanted);
        let found = found.await.unwrap().unwrap().row_counts.unwrap();
        let of = |part: CountAndTokens| (part.count, part.tokens);
        (
            of(found.core),
            of(found.archival),
            (found.discarded, found.shredded),
        )
    };
    assert_eq!(counts().await, ((3, 30), (0, 0), (0, 0)));
    for (change, expected) in [
        ("SET version = 9", ((3, 30), (0, 0), (0, 0))),
        (
            "SET tokens = 11 WHERE number = 1",
            ((3, 31), (0, 0), (0, 0)),
        ),
        (
            "SET kind = 'archival', archived_at = 1, archived_by = 'saved' WHERE number = 1",
            ((2, 20), (1, 11), (0, 0)),
        ),
        (
            "SET discarded_at = 1 WHERE number = 2",
            ((1, 10), (1, 11), (1, 0)),
        ),
        (
            "SET discarded_at = 1, shredded_at = 1 WHERE number = 1",
            ((1, 10), (0, 0), (1, 1)),
        ),
    ] {
        database.query(&format!("UPDATE memories {change}"));
        assert_eq!(counts().await, expected, "{change}");
    }
    database.query("DELETE FROM memories WHERE number = 3");
    assert_eq!(counts().await, ((0, 0), (0, 0), (1, 1)));
}

/// The table itself holds the same rules as every commit.
#[tokio::test]
async fn columns_that_do_not_agree_are_not_taken() {
    let (database, store) = or_skip!(common::begin().await);
    let mut commit = common::decision(0);
    commit.memories = vec![common::memory(1)];
    store.commit(commit).await.unwrap();
    for wrong in DISAGREEING {
        let sql = format!("UPDATE memories SET {wrong}");
        let refused = database.server.query(database.name(), &sql);
        assert!(refused.is_err(), "{wrong}");
    }
    database.query(&format!("UPDATE memories SET {AGREEING}"));
}

#[tokio::test]
async fn a_user_who_is_not_written_is_not_told_to_be() {
    let (database, store) = or_skip!(common::begin().await);
    let user = common::user();
    database.query(
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
         CREATE TRIGGER swallow BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION swallow()",
    );
    let made = store.create_user(&user, false, None).await;
    let first = store.create_user(&user, true, None).await;
    for made in [made, first] {
        let is_it = matches!(made, Err(Error::Inconsistent { table: "users", .. }));
        assert!(is_it, "{made:?}");
    }
    database.query("DROP TRIGGER swallow ON users");
    assert!(store.create_user(&user, true, None).await.unwrap());
    assert!(!store.create_user(&user, true, None).await.unwrap());
}

#[tokio::test]
async fn spec_6_2_a_store_that_was_full_is_not_ready_until_there_is_room() {
    let (database, store) = or_skip!(common::begin().await);
    store.check_ready().await.unwrap();
    // As a server answers whose disk is full.
    database.query(
        "CREATE FUNCTION full_up() RETURNS trigger LANGUAGE plpgsql \
             AS $$ BEGIN RAISE 'no space left' USING ERRCODE = 'disk_full'; END $$; \
         CREATE TRIGGER full_up BEFORE UPDATE ON accounts EXECUTE FUNCTION full_up(); \
         CREATE TRIGGER full_up BEFORE INSERT ON agents EXECUTE FUNCTION full_up()",
    );
    // It is unknown until the next write.
    store.check_ready().await.unwrap();
    let refused = store.commit(common::decision(0)).await;
    assert!(matches!(refused, Err(Error::Full)), "{refused:?}");
    for _ in 0..2 {
        let error = store.check_ready().await.unwrap_err();
        assert!(matches!(error, Error::Full), "{error:?}");
    }
    database.query("DROP TRIGGER full_up ON accounts; DROP TRIGGER full_up ON agents");
    store.check_ready().await.unwrap();
    store.commit(common::decision(0)).await.unwrap();
    assert_eq!(store.accounts().await.unwrap(), [common::account()]);
}

#[tokio::test]
async fn a_database_that_would_change_or_lose_words_is_not_opened() {
    let database = or_skip!(common::database());
    let name = database.name();
    database.query(&format!(
        "ALTER DATABASE {name} SET synchronous_commit = off"
    ));
    let problem = PostgresStore::open(&database.url).await.unwrap_err();
    assert!(
        problem.to_string().contains("synchronous_commit"),
        "{problem}"
    );
    database.query(&format!(
        "CREATE DATABASE {name}_latin ENCODING 'LATIN1' TEMPLATE template0"
    ));
    let problem = PostgresStore::open(&format!("{}_latin", database.url))
        .await
        .unwrap_err();
    assert!(problem.to_string().contains("LATIN1"), "{problem}");
}

#[tokio::test]
async fn no_error_tells_the_password() {
    for url in [
        "postgres://me:sesame@127.0.0.1:1/memoir",
        "postgres://me:sesame@[::1/memoir",
    ] {
        let problem = PostgresStore::open(url).await.unwrap_err();
        assert!(
            matches!(problem, Error::Open { .. } | Error::Unreachable { .. }),
            "{problem:?}"
        );
        assert!(
            !format!("{problem:?}{problem}").contains("sesame"),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn every_table_and_column_is_moved_with_an_installation() {
    let database = or_skip!(common::database());
    common::migrated(&database.url).await;
    let there = database.query(
        "SELECT table_name || '.' || column_name FROM information_schema.columns \
         WHERE table_schema = 'public' AND table_name <> 'memoir_migrations'",
    );
    let mut there: Vec<String> = there.lines().map(str::to_owned).collect();
    let mut moved: Vec<String> = memoir_store::tables::TABLES
        .iter()
        .flat_map(|table| {
            let columns = table.columns.iter();
            columns.map(|(column, _)| format!("{}.{column}", table.name))
        })
        .collect();
    there.sort_unstable();
    moved.sort_unstable();
    assert_eq!(moved, there);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_has_at_most_ten_connections() {
    let database = or_skip!(common::database());
    let store = common::migrated(&database.url).await;
    let callers = (0..100).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.accounts().await.map(drop) })
    });
    let callers: Vec<_> = callers.collect();
    for caller in callers {
        caller.await.unwrap().unwrap();
    }
    let count = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND usename = 'memoir'";
    let count: u32 = database.query(count).parse().unwrap();
    // That of the store which brought the database up may still be being closed.
    assert!(count <= 11, "{count}");
}

#[tokio::test]
async fn spec_6_2_a_database_that_is_to_take_nothing_is_told_to_be_read_only() {
    for parameters in ["", "?prepare=true"] {
        let (database, store) = or_skip!(common::begin().await);
        store.commit(common::decision(0)).await.unwrap();
        store.check_ready().await.unwrap();
        // As it is done where a disk fills up.
        database.query(&format!(
            "ALTER ROLE memoir IN DATABASE \"{}\" SET default_transaction_read_only = on",
            database.name()
        ));
        let url = format!("{}{parameters}", database.url);
        let store = PostgresStore::open(&url).await.unwrap();
        let mut of_several = common::decision(1);
        of_several.prompts = Some(StoredText(vec![4]));
        for refused in [
            store.check_ready().await,
            store.commit(common::decision(1)).await,
            store.commit(of_several).await,
            store
                .create_user(&common::user(), false, None)
                .await
                .map(drop),
        ] {
            assert!(matches!(refused, Err(Error::ReadOnly)), "{refused:?}");
        }
        assert_eq!(database.query("SELECT version FROM agents"), "1");
    }
}

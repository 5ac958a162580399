//! Row-level security: the second wall, behind the statements. The service's role owns nothing here, in a database
//! that was made by the documentation's SQL.

use memoir_store_postgres::PostgresStore;
use memoir_testkit::Postgres;

/// A row in each table, of account and agent `01…`; the identifiers are 16 bytes of the same digit.
const FILLED: &str = "
    INSERT INTO accounts VALUES (sixteen(1), 'a', 'a', 0);
    INSERT INTO agents VALUES (sixteen(1), sixteen(1), 'a', 'a', NULL, 2, thirtytwo(1), NULL, NULL, NULL, 0, 0, 0, 1, '', '');
    INSERT INTO agent_prompts VALUES (sixteen(1), '');
    INSERT INTO memories VALUES (sixteen(1), 1, 1, 'core', 1, false, 0, 0, NULL, NULL, NULL, NULL, NULL, false, NULL, 0, '');
    INSERT INTO sessions VALUES (sixteen(1), sixteen(1), sixteen(1), 'open', 'agent', NULL, 0, NULL, NULL, NULL, 1, '', '');
    INSERT INTO audit_records VALUES (sixteen(1), 1, 0, 'agent', 'a', 'x', NULL, NULL, 1, thirtytwo(1), thirtytwo(1), '', '');
    INSERT INTO log_leaves VALUES (0, sixteen(1), 1, thirtytwo(1), 0);
    INSERT INTO log_summaries VALUES (sixteen(1), 1, thirtytwo(1), '');
    INSERT INTO memory_vectors VALUES (sixteen(1), 1, 'a:b', 1, '');
    INSERT INTO word_indexes VALUES (sixteen(1), 0, 1, 1, thirtytwo(1), '');
    INSERT INTO tokens VALUES (sixteen(1), sixteen(1), sixteen(1), thirtytwo(1), 0, NULL, NULL, 1, '', '');
    INSERT INTO transcript_messages VALUES (sixteen(1), 1, thirtytwo(1), 1, 0, 0, 'pending', '');
    INSERT INTO transcripts VALUES (sixteen(1), sixteen(1), NULL, NULL, 0, 0);
    INSERT INTO access_requests VALUES (sixteen(1), sixteen(1), 'asked', 0, 0, 1, '', '');
    INSERT INTO users VALUES (sixteen(1), sixteen(1), 'a', 0, NULL, 1, '', '');
    INSERT INTO replies VALUES (sixteen(1), thirtytwo(1), thirtytwo(1), 0, NULL, NULL, NULL);
    INSERT INTO receivers VALUES (thirtytwo(1), 0, NULL);
    INSERT INTO deliveries VALUES (thirtytwo(1), sixteen(1), 0, 0);
";

/// Tables that are the installation's, and no account's.
const OF_NOBODY: [&str; 3] = ["log_leaves", "receivers", "deliveries"];

/// The page by which a database is made.
const PAGE: &str = include_str!("../../../../docs/fleet.md");

#[tokio::test]
async fn spec_5_6_a_query_that_says_for_whom_it_asks_for_nothing_reaches_nothing() {
    let Some(server) = Postgres::start("walls").unwrap() else {
        return println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
    };
    server.follow(PAGE).unwrap();
    let owner = PostgresStore::at(&server.url("memoir_owner", "memoir"));
    owner.unwrap().migrate().await.unwrap();
    let store = PostgresStore::open(&server.url("memoir", "memoir")).await;
    let role = store.unwrap().role().await.unwrap();
    assert_eq!(role.danger(), None, "{role:?}");
    assert!(role.limits_statements, "{role:?}");
    let query = |sql: &str| server.query("memoir", sql).unwrap();
    let query_as_memoir = |sql: &str| server.query_as("memoir", "memoir", sql);
    let filled = FILLED
        .replace("sixteen(1)", "decode(repeat('01', 16), 'hex')")
        .replace("thirtytwo(1)", "decode(repeat('01', 32), 'hex')");
    query(&filled);
    let tables = query(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'memoir_migrations'",
    );
    assert_eq!(tables.lines().count(), memoir_store::tables::TABLES.len());
    let counted = |table: &str, account: &str, agent: &str| {
        let set = |name, value| format!("SET memoir.{name} = '{value}'; ");
        let sql = format!(
            "{}{}SELECT count(*) FROM {table}",
            set("account", account),
            set("agent", agent)
        );
        query_as_memoir(&sql).unwrap()
    };
    let (own, other) = ("01".repeat(16), "02".repeat(16));
    for table in tables.lines() {
        assert_eq!(query(&format!("SELECT count(*) FROM {table}")), "1");
        let bare = query_as_memoir(&format!("SELECT count(*) FROM {table}"));
        assert_eq!(bare.unwrap(), "0", "{table} without an account");
        assert_eq!(counted(table, "", ""), "0", "{table} with an empty one");
        assert_eq!(counted(table, &own, &own), "1", "{table} of its own");
        assert_eq!(counted(table, "*", "*"), "1", "{table} of all");
        if !OF_NOBODY.contains(&table) {
            assert_eq!(
                counted(table, &other, &other),
                "0",
                "{table} of another one"
            );
            assert_eq!(
                counted(table, &other, "*"),
                "0",
                "{table} of another account"
            );
        }
        let gone =
            format!("WITH gone AS (DELETE FROM {table} RETURNING 1) SELECT count(*) FROM gone");
        if let Ok(gone) = query_as_memoir(&gone) {
            assert_eq!(gone, "0", "{table} is emptied");
        }
        let columns = query(&format!(
            "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute \
             WHERE attrelid = '{table}'::regclass AND attnum > 0"
        ));
        let one = columns.split(", ").next().unwrap();
        let changed = format!(
            "WITH changed AS (UPDATE {table} SET {one} = {one} RETURNING 1) SELECT count(*) FROM changed"
        );
        if let Ok(changed) = query_as_memoir(&changed) {
            assert_eq!(changed, "0", "{table} is changed");
        }
        for hostile in [
            format!("ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"),
            format!("ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY"),
            format!("ALTER TABLE {table} DISABLE TRIGGER ALL"),
            format!("ALTER TABLE {table} ADD COLUMN planted text"),
            format!("DROP POLICY reach ON {table}"),
            format!("CREATE POLICY wide ON {table} USING (true)"),
            format!("CREATE RULE swallow AS ON INSERT TO {table} DO INSTEAD NOTHING"),
            format!("CREATE INDEX planted ON {table} ({one})"),
            format!("TRUNCATE {table} CASCADE"),
            format!("DROP TABLE {table} CASCADE"),
            format!("SET row_security = off; SELECT * FROM {table}"),
            format!("CREATE TABLE copied AS SELECT * FROM {table}"),
            format!("CREATE TEMPORARY TABLE copied AS SELECT * FROM {table}"),
        ] {
            assert!(query_as_memoir(&hostile).is_err(), "{hostile}");
        }
        assert_eq!(query(&format!("SELECT count(*) FROM {table}")), "1");
    }
    for hostile in [
        "ALTER ROLE memoir BYPASSRLS",
        "SET ROLE memoir_owner",
        "CREATE TABLE planted (id bigint)",
        "CREATE OR REPLACE FUNCTION memoir_refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'",
        "ALTER TABLE memoir_migrations ADD COLUMN planted text",
        "SET session_replication_role = replica",
    ] {
        assert!(query_as_memoir(hostile).is_err(), "{hostile}");
    }
    let entered =
        query_as_memoir("INSERT INTO receivers VALUES (decode(repeat('03', 32), 'hex'), 0, NULL)");
    let refusal = entered.unwrap_err().to_string();
    assert!(refusal.contains("row-level security"), "{refusal}");
}

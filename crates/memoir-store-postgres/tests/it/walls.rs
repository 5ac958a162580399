//! Row-level security: the second wall, behind the statements.

use crate::common;

/// A row in each table, of account and agent `01…`; the identifiers are 16 bytes of the same digit.
const FILLED: &str = "
    INSERT INTO accounts VALUES (sixteen(1), 'a', 'a', 0);
    INSERT INTO agents VALUES (sixteen(1), sixteen(1), 'a', 'a', NULL, 2, thirtytwo(1), NULL, NULL, NULL, 0, 0, 0, 1, '', '');
    INSERT INTO agent_prompts VALUES (sixteen(1), '');
    INSERT INTO memories VALUES (sixteen(1), 1, 1, 'core', 1, false, 0, 0, NULL, NULL, '');
    INSERT INTO sessions VALUES (sixteen(1), sixteen(1), sixteen(1), 'open', 'agent', NULL, 0, NULL, NULL, NULL, 1, '', '');
    INSERT INTO audit_records VALUES (sixteen(1), 1, 0, 'agent', 'a', 'x', NULL, NULL, 1, thirtytwo(1), thirtytwo(1), '', '');
    INSERT INTO log_leaves VALUES (0, sixteen(1), 1, thirtytwo(1), 0);
    INSERT INTO log_summaries VALUES (sixteen(1), 1, thirtytwo(1), '');
    INSERT INTO memory_vectors VALUES (sixteen(1), 1, 'a:b', 1, '');
    INSERT INTO tokens VALUES (sixteen(1), sixteen(1), sixteen(1), thirtytwo(1), 0, NULL, NULL, 1, '', '');
    INSERT INTO transcript_messages VALUES (sixteen(1), 1, thirtytwo(1), 1, 0, 'pending', '');
    INSERT INTO transcripts VALUES (sixteen(1), sixteen(1), NULL, NULL, 0, 0);
    INSERT INTO access_requests VALUES (sixteen(1), sixteen(1), 'asked', 0, 0, 1, '', '');
    INSERT INTO users VALUES (sixteen(1), sixteen(1), 'a', 0, NULL, 1, '', '');
    INSERT INTO replies VALUES (sixteen(1), thirtytwo(1), thirtytwo(1), 0, NULL, NULL, NULL);
    INSERT INTO receivers VALUES (thirtytwo(1), 0, NULL);
    INSERT INTO deliveries VALUES (thirtytwo(1), sixteen(1), 0, 0);
";

/// Tables that are the installation's, and no account's.
const OF_NOBODY: [&str; 3] = ["log_leaves", "receivers", "deliveries"];

#[tokio::test]
async fn spec_5_6_a_query_that_says_for_whom_it_asks_for_nothing_reaches_nothing() {
    let Some(place) = common::database() else {
        return;
    };
    common::migrated(&place.url).await;
    let filled = FILLED
        .replace("sixteen(1)", "decode(repeat('01', 16), 'hex')")
        .replace("thirtytwo(1)", "decode(repeat('01', 32), 'hex')");
    place.query(&filled);
    let tables = place.query(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'memoir_migrations'",
    );
    assert_eq!(tables.lines().count(), 17);
    let counted = |table: &str, account: &str, agent: &str| {
        let set = |name, value| format!("SET memoir.{name} = '{value}'; ");
        let sql = format!(
            "{}{}SELECT count(*) FROM {table}",
            set("account", account),
            set("agent", agent)
        );
        place.query_as_memoir(&sql).unwrap()
    };
    let (own, other) = ("01".repeat(16), "02".repeat(16));
    for table in tables.lines() {
        assert_eq!(place.query(&format!("SELECT count(*) FROM {table}")), "1");
        let bare = place.query_as_memoir(&format!("SELECT count(*) FROM {table}"));
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
        if let Ok(gone) = place.query_as_memoir(&gone) {
            assert_eq!(gone, "0", "{table} is emptied");
        }
        let columns = place.query(&format!(
            "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute \
             WHERE attrelid = '{table}'::regclass AND attnum > 0"
        ));
        let one = columns.split(", ").next().unwrap();
        let changed = format!(
            "WITH changed AS (UPDATE {table} SET {one} = {one} RETURNING 1) SELECT count(*) FROM changed"
        );
        if let Ok(changed) = place.query_as_memoir(&changed) {
            assert_eq!(changed, "0", "{table} is changed");
        }
        assert_eq!(place.query(&format!("SELECT count(*) FROM {table}")), "1");
    }
    let entered = place
        .query_as_memoir("INSERT INTO receivers VALUES (decode(repeat('03', 32), 'hex'), 0, NULL)");
    let refusal = entered.unwrap_err().to_string();
    assert!(refusal.contains("row-level security"), "{refusal}");
}

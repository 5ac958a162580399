//! The log of an account: what it records, what it omits, and what it names (SPEC 4.2, 5.5).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use memoir_app::{Account, Memoir, Proof, RecordFilter, Severity, SignIn, SignInSecret};
use memoir_domain::audit::Action;
use memoir_store_sqlite::{CommitFault, SqliteStore};
use memoir_testkit::{
    InstallationFolder, StoreWatch, TestInstallation, WatchedStore, intrude, tamper,
};
use memoir_vault::password::Password;
use rusqlite::Connection;

use crate::installation::{OWNER, new_folder};

const PASSWORD: &str = "correct horse battery";
const OTHER: &str = "another horse battery";

fn password(text: &str) -> Password {
    Password::from_text(text).unwrap()
}

struct AccountLog {
    folder: InstallationFolder,
    memoir: Memoir,
    account: Account,
}

impl AccountLog {
    /// With Ada, an administrator.
    async fn new() -> Self {
        let folder = new_folder();
        let memoir = folder.open().memoir;
        let account = memoir.account("default").await.unwrap();
        let made = account.create_user("Ada", password(PASSWORD), &OWNER);
        made.await.unwrap();
        Self {
            folder,
            memoir,
            account,
        }
    }

    async fn signs_in(&self, with: &str) -> bool {
        let ends = self.folder.now().plus_seconds(3_600);
        let attempt = self
            .memoir
            .sign_in(None, "Ada", password(with), SignInSecret::Token(None), ends)
            .await;
        matches!(attempt.unwrap(), SignIn::In(_))
    }

    async fn told(&self) -> Vec<Action> {
        let records = self.account.own_records(&RecordFilter::default()).await;
        let records = records.unwrap();
        records.iter().map(|record| record.action).collect()
    }

    /// The mismatches of the account's log; empty without any.
    async fn named(&self) -> Vec<String> {
        let all = self.memoir.verify_all().await.unwrap();
        let own = all.iter().find(|one| one.agent == "account default");
        let own = own.unwrap();
        assert_eq!(own.valid, own.mismatches.is_empty());
        own.mismatches
            .iter()
            .map(|one| one.problem.clone())
            .collect()
    }

    async fn is_named(&self, expected: &str) {
        let named = self.named().await;
        assert!(
            named.iter().any(|problem| problem.contains(expected)),
            "{expected}: {named:?}"
        );
    }

    async fn is_named_by_the_doctor(&self, expected: &str) {
        let found = self.memoir.examine(&self.account).await.unwrap();
        let is_it = found.iter().any(|one| {
            one.area == "administrators"
                && one.severity == Severity::Problem
                && one.finding.contains(expected)
        });
        assert!(is_it, "{found:?}");
    }
}

/// Copies the rows of a table, to be put back.
fn keep(connection: &Connection, table: &str) {
    connection
        .execute_batch(&format!(
            "ATTACH ':memory:' AS kept; CREATE TABLE kept.rows AS SELECT * FROM main.{table};"
        ))
        .unwrap();
}

/// Puts the rows of `table` back to their state when `between` began.
async fn put_back(log: &AccountLog, table: &str, between: impl Future<Output = ()>) {
    let raw = Connection::open(log.folder.database()).unwrap();
    keep(&raw, table);
    between.await;
    intrude(&log.folder.database(), |connection| {
        connection
            .execute(&format!("DELETE FROM {table}"), [])
            .unwrap();
        let mut statement = raw.prepare("SELECT * FROM kept.rows").unwrap();
        let columns = statement.column_count();
        let places = vec!["?"; columns].join(", ");
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = (0..columns).map(|at| row.get::<_, rusqlite::types::Value>(at).unwrap());
            let sql = format!("INSERT INTO {table} VALUES ({places})");
            connection
                .execute(&sql, rusqlite::params_from_iter(values))
                .unwrap();
        }
    });
}

#[tokio::test]
async fn spec_5_5_the_log_of_an_account_tells_who_may_come_in() {
    let log = AccountLog::new().await;
    let token = log.account.create_token(None, &OWNER).await.unwrap();
    let revoked = log.account.revoke_token(token.view.id, &OWNER);
    revoked.await.unwrap();
    assert!(log.signs_in(PASSWORD).await);
    log.account
        .set_password("Ada", password(OTHER), &OWNER)
        .await
        .unwrap();
    log.account
        .create_user("Grace", password(PASSWORD), &OWNER)
        .await
        .unwrap();
    log.account.remove_user("Grace", &OWNER).await.unwrap();
    assert_eq!(
        log.told().await,
        [
            Action::AccountCreated,
            Action::UserCreated,
            Action::InstallationClosed,
            Action::TokenCreated,
            Action::TokenRevoked,
            Action::SignedIn,
            Action::PasswordChanged,
            // Ada's sign-in.
            Action::TokenRevoked,
            Action::UserCreated,
            Action::UserRemoved,
        ]
    );
    assert_eq!(log.named().await, [""; 0]);
    // Checkpoints cover it, and it is no agent.
    let signed = log.memoir.checkpoint().await.unwrap();
    assert_eq!(signed.size, 1);
    assert!(log.account.agents().await.unwrap().is_empty());
    let id = log.account.id().to_string();
    let reached = log.account.agent(&id).await.map(|agent| agent.scope());
    assert_eq!(reached.unwrap_err().code(), "not_found");
    // Each open fact is a number, a code, a time or an identifier.
    let raw = Connection::open(log.folder.database()).unwrap();
    let facts: String = raw
        .query_row("SELECT group_concat(facts) FROM audit_records", [], |row| {
            row.get(0)
        })
        .unwrap();
    for word in ["Ada", "Grace", "horse", token.secret.expose()] {
        assert!(!facts.contains(word), "{word}: {facts}");
    }
}

#[tokio::test]
async fn spec_5_5_a_users_row_that_was_put_back_is_named_and_signs_no_user_in() {
    let log = AccountLog::new().await;
    put_back(&log, "users", async {
        let changed = log.account.set_password("Ada", password(OTHER), &OWNER);
        changed.await.unwrap();
    })
    .await;
    assert!(!log.signs_in(PASSWORD).await, "the password of before");
    assert!(!log.signs_in(OTHER).await);
    log.is_named("the row was put back").await;
    log.is_named_by_the_doctor("the row was put back").await;
    // Another password allows signing in again, and the log still names the tampering.
    let changed = log.account.set_password("Ada", password(OTHER), &OWNER);
    changed.await.unwrap();
    assert!(log.signs_in(OTHER).await);
    log.is_named("decided on a row that had been put back")
        .await;
}

#[tokio::test]
async fn spec_5_5_a_removed_user_who_was_put_back_is_named_and_one_who_is_gone_too() {
    let log = AccountLog::new().await;
    let made = log.account.create_user("Grace", password(PASSWORD), &OWNER);
    made.await.unwrap();
    put_back(&log, "users", async {
        log.account.remove_user("Ada", &OWNER).await.unwrap();
    })
    .await;
    assert!(!log.signs_in(PASSWORD).await);
    log.is_named("the row was put back").await;
    tamper(&log.folder.database(), "DELETE FROM users");
    log.is_named("is missing").await;
    assert!(log.memoir.is_closed().await.unwrap());
    // A second first user is refused.
    let first = log.account.create_first_user("Eve", password(OTHER)).await;
    assert!(first.unwrap().is_none());
}

#[tokio::test]
async fn spec_5_5_an_administrators_token_that_was_put_back_is_named() {
    let log = AccountLog::new().await;
    let token = log.account.create_token(None, &OWNER).await.unwrap();
    put_back(&log, "tokens", async {
        let revoked = log.account.revoke_token(token.view.id, &OWNER);
        revoked.await.unwrap();
    })
    .await;
    log.is_named("whether it is revoked is not as recorded")
        .await;
    log.is_named_by_the_doctor("whether it is revoked is not as recorded")
        .await;
}

#[tokio::test]
async fn spec_4_2_a_log_of_an_account_that_was_changed_is_named() {
    for (change, expected) in [
        (
            "UPDATE audit_records SET facts = replace(facts, '\"version\":1', '\"version\":2') \
                 WHERE action = 'user_created'",
            "it was changed: its hash does not fit",
        ),
        (
            "UPDATE audit_records SET actor_name = 'somebody' WHERE action = 'user_created'",
            "it was changed: its hash does not fit",
        ),
        (
            "DELETE FROM audit_records WHERE seq = (SELECT max(seq) FROM audit_records)",
            "the log ends elsewhere",
        ),
        (
            "UPDATE accounts SET name = 'other'",
            "table `accounts`: the name is not as recorded",
        ),
        (
            "UPDATE accounts SET folded_name = 'other'",
            "table `accounts`: it is found by another name than its own",
        ),
    ] {
        let log = AccountLog::new().await;
        tamper(&log.folder.database(), change);
        let all = log.memoir.verify_all().await.unwrap();
        let named: Vec<String> = all
            .iter()
            .flat_map(|one| {
                one.mismatches
                    .iter()
                    .map(|mismatch| mismatch.problem.clone())
            })
            .collect();
        assert!(
            named.iter().any(|problem| problem.contains(expected)),
            "{change}: {named:?}"
        );
    }
    // The whole log is gone, while the users exist.
    let log = AccountLog::new().await;
    let sql = "DELETE FROM audit_records; DELETE FROM agent_prompts; DELETE FROM agents;";
    tamper(&log.folder.database(), sql);
    log.is_named("the log was cut off").await;
}

/// Counts how often all accounts are read.
#[derive(Default)]
struct AccountLists(AtomicUsize);

impl StoreWatch for AccountLists {
    fn listing_accounts(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn spec_4_2_verifying_all_logs_reads_the_accounts_once() {
    let lists = Arc::new(AccountLists::default());
    let inner = Arc::new(SqliteStore::in_memory().unwrap());
    let store = WatchedStore::new(inner, lists.clone());
    let memoir = TestInstallation::on(Arc::new(store)).memoir;
    for name in ["lab", "shop", "home"] {
        memoir.create_account(name, &OWNER).await.unwrap();
    }
    lists.0.store(0, Ordering::Relaxed);
    let all = memoir.verify_all().await.unwrap();
    assert_eq!(lists.0.load(Ordering::Relaxed), 1);
    for name in ["account lab", "account shop", "account home"] {
        let verified = all.iter().find(|one| one.agent == name);
        assert!(verified.is_some_and(|one| one.valid), "{name}");
    }
}

#[tokio::test]
async fn spec_6_2_an_account_is_made_though_its_log_cannot_be_begun() {
    let log = AccountLog::new().await;
    let store = SqliteStore::open(&log.folder.database()).unwrap();
    let memoir = log.folder.open_store(Arc::new(store.clone())).memoir;
    store.disturb_commits(&[CommitFault::Busy]);
    let made = memoir.create_account("lab", &OWNER).await.unwrap();
    let lab = memoir.account("lab").await.unwrap();
    assert_eq!(lab.id(), made.id);
    // The next record begins it.
    lab.create_token(None, &OWNER).await.unwrap();
    let records = lab.own_records(&RecordFilter::default()).await.unwrap();
    let told: Vec<Action> = records.iter().map(|record| record.action).collect();
    assert_eq!(told, [Action::AccountCreated, Action::TokenCreated]);
}

#[tokio::test]
async fn spec_5_5_guessing_fills_no_log() {
    let log = AccountLog::new().await;
    let before = log.told().await.len();
    for _ in 0..12 {
        assert!(!log.signs_in("a guess of a horse").await);
    }
    assert_eq!(log.told().await[before..], [Action::SignInFailed]);
    assert!(log.signs_in(PASSWORD).await);
    let records = log.account.own_records(&RecordFilter::default()).await;
    let records = records.unwrap();
    let failures: Vec<_> = records
        .iter()
        .filter_map(|record| record.counts.count_of("failures"))
        .collect();
    assert_eq!(failures, [10, 12]);
    // They count anew.
    assert!(log.signs_in(PASSWORD).await);
    assert_eq!(log.told().await.len(), before + 3);
}

#[tokio::test]
async fn spec_5_5_wrong_passwords_of_a_signed_in_user_count_as_failed_sign_ins() {
    let log = AccountLog::new().await;
    let ends = log.folder.now().plus_seconds(3_600);
    let attempt = log
        .memoir
        .sign_in(None, "Ada", password(PASSWORD), SignInSecret::Cookie, ends);
    let SignIn::In(made) = attempt.await.unwrap() else {
        panic!("no code is needed");
    };
    let entered = log.memoir.enter_with_browser(made.secret.expose(), 3_600);
    let visitor = entered.await.unwrap().unwrap();
    let before = log.told().await.len();
    for _ in 0..10 {
        let proof = visitor.prove(password(OTHER), &"".into()).await;
        assert!(matches!(proof.unwrap(), Proof::Wrong));
    }
    assert_eq!(log.told().await[before..], [Action::SignInFailed]);
}

#[tokio::test]
async fn spec_5_5_opening_an_installation_leaves_a_record() {
    let log = AccountLog::new().await;
    assert!(log.memoir.is_closed().await.unwrap());
    log.account.set_closed(false, &OWNER).await.unwrap();
    assert!(!log.memoir.is_closed().await.unwrap());
    // Making another administrator leaves it open, and nothing closes it automatically.
    let made = log.account.create_user("Bea", password(OTHER), &OWNER);
    made.await.unwrap();
    log.memoir.finish().await.unwrap();
    assert!(!log.memoir.is_closed().await.unwrap());
    log.account.set_closed(true, &OWNER).await.unwrap();
    assert!(log.memoir.is_closed().await.unwrap());
    let told = log.told().await;
    let of_closing = told.iter().filter(|action| {
        matches!(
            action,
            Action::InstallationClosed | Action::InstallationOpened
        )
    });
    assert_eq!(
        of_closing.collect::<Vec<_>>(),
        [
            &Action::InstallationClosed,
            &Action::InstallationOpened,
            &Action::InstallationClosed
        ]
    );
}

#[tokio::test]
async fn spec_5_5_closing_or_opening_that_breaks_off_in_the_middle_leaves_it_closed_and_on_the_record()
 {
    let log = AccountLog::new().await;
    let last = async || log.told().await.last().copied();
    // It is recorded, and not in the key store.
    let keys = Connection::open(log.folder.key_file()).unwrap();
    let broken =
        "CREATE TRIGGER broken BEFORE INSERT ON closing BEGIN SELECT RAISE(ABORT, 'broken'); END";
    keys.execute_batch(broken).unwrap();
    log.account.set_closed(false, &OWNER).await.unwrap_err();
    keys.execute_batch("DROP TRIGGER broken").unwrap();
    assert!(log.memoir.is_closed().await.unwrap());
    assert_eq!(last().await, Some(Action::InstallationOpened));
    // A process that opens it may be about to write it there.
    log.memoir.finish().await.unwrap();
    assert_eq!(last().await, Some(Action::InstallationOpened));
    for _ in 0..2 {
        log.folder.pass_a_minute();
        log.memoir.finish().await.unwrap();
        assert_eq!(last().await, Some(Action::InstallationClosed));
    }
    assert!(log.memoir.is_closed().await.unwrap());

    // It is in the key store, and not recorded.
    log.account.set_closed(false, &OWNER).await.unwrap();
    log.folder.pass_a_minute();
    keys.execute_batch(broken).unwrap();
    log.account.set_closed(true, &OWNER).await.unwrap_err();
    keys.execute_batch("DROP TRIGGER broken").unwrap();
    assert!(!log.memoir.is_closed().await.unwrap());
    assert_eq!(last().await, Some(Action::InstallationOpened));
    let store = SqliteStore::open(&log.folder.database()).unwrap();
    let memoir = log.folder.open_store(Arc::new(store.clone())).memoir;
    let account = memoir.account("default").await.unwrap();
    store.disturb_commits(&[CommitFault::Busy]);
    account.set_closed(true, &OWNER).await.unwrap_err();
    assert!(log.memoir.is_closed().await.unwrap());
    assert_eq!(last().await, Some(Action::InstallationOpened));
    log.folder.pass_a_minute();
    log.memoir.finish().await.unwrap();
    let told = log.told().await;
    assert_eq!(told.last(), Some(&Action::InstallationClosed));
    log.memoir.finish().await.unwrap();
    assert_eq!(log.told().await, told);
}

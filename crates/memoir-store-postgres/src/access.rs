//! Authentication and stored responses: tokens, users and replies. Nothing here reads an agent's memories.

use async_trait::async_trait;
use memoir_domain::{Timestamp, TokenId};
use memoir_store::{Access, Commit, Error, Portable, Reach, Result, TokenRow, UserRow, encode};

use crate::{
    PostgresStore, commit,
    error::StatementFault,
    pool::{Statement, met},
    value::{Value, count},
};

/// Blocks other processes from creating and removing users until the transaction ends: a decision over all users
/// remains true.
// This mode excludes itself and every writer, but no reader: signing in works. In `READ COMMITTED` the next statement
// reads all that was committed before the lock was acquired.
const LOCK_USERS: &str = "LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE";

/// Removes the sealed part of the responses to an account's requests, also of those that are being executed.
// The row and the open part of its document remain, so that a repetition of the request is recognised. Only the sealed
// part is deleted, which may hold words. So may that of a request in execution: the time of its row is moved by the
// smallest step, so that its response is not entered. The rows are locked in one order, so that two such transactions
// cannot deadlock.
pub(crate) const FORGET_ANSWERS: &str = "UPDATE replies \
     SET sealed = CASE WHEN version IS NULL THEN NULL ELSE ''::bytea END, recorded_at = recorded_at - 1 \
     FROM (SELECT key_digest FROM replies WHERE account_id = $1 ORDER BY key_digest FOR UPDATE) AS held \
     WHERE account_id = $1 AND replies.key_digest = held.key_digest";

impl PostgresStore {
    /// Writes by these statements, and the decision that records it, all or nothing.
    async fn write_with_commit(
        &self,
        mut statements: Vec<Statement<'_>>,
        commit: Option<&Commit>,
    ) -> Result<(), StatementFault> {
        let first = statements.len();
        let decision = commit.map(commit::checked).transpose()?;
        let abouts = match decision {
            Some(commit::Statements(of_decision, abouts)) => {
                statements.extend(of_decision);
                abouts
            }
            None => Vec::new(),
        };
        // Whether there is another user is asked of all accounts, so that the reach is wider than the user's own.
        let sent = self.connections.write(Reach::All, &statements).await;
        sent.map(drop).map_err(|fault| match (commit, fault) {
            (Some(commit), StatementFault::Refused(at, refusal)) if at >= first => commit::meaning(
                StatementFault::Refused(at - first, refusal),
                &abouts,
                commit,
            ),
            (_, fault) => fault,
        })
    }
}

#[async_trait]
impl Access for PostgresStore {
    async fn put_token(&self, token: &TokenRow) -> Result<()> {
        let about =
            |problem: &str| Error::inconsistent("tokens", format!("{} {problem}", token.id));
        let mut statements = Vec::new();
        if let Some(agent) = &token.agent {
            // The agent stays its account's while the token is written.
            let sql = "SELECT 1 / count(*) FROM (SELECT 1 FROM agents WHERE id = $1 AND account_id = $2 \
                 FOR KEY SHARE) AS found";
            let values = values![agent.as_bytes(), token.account.as_bytes()];
            statements.push(Statement::new(sql, values));
        }
        statements.push(commit::write_tokens(std::slice::from_ref(token))?);
        let last = statements.len() - 1;
        match self.connections.write(token.account, &statements).await {
            Err(fault) if fault.broken() == Some("tokens_by_digest") => {
                Err(about("has the digest of another token"))
            }
            // Another process wrote a later version.
            Err(fault) if fault.is_unmet(last) => Err(Error::Conflict),
            Err(fault) if fault.is_unmet(0) => {
                Err(about("is of an agent that its account has not"))
            }
            written => written.map(drop).map_err(Error::from),
        }
    }

    async fn note_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<()> {
        if uses.is_empty() {
            return Ok(());
        }
        let tokens = uses.iter().map(|(token, _)| Some(&token.as_bytes()[..]));
        let times = uses.iter().map(|(_, at)| Some(at.microseconds()));
        let values = vec![
            Value::ByteLists(tokens.collect()),
            Value::Integers(times.collect()),
        ];
        // Locked in one order, so that two callers that record the same tokens cannot deadlock.
        let sql = "UPDATE tokens SET last_used_at = held.used_at \
             FROM (SELECT tokens.id, given.used_at FROM tokens JOIN (SELECT used.id, max(used.used_at) AS used_at \
                     FROM unnest($1, $2) AS used (id, used_at) GROUP BY used.id) AS given ON tokens.id = given.id \
                 WHERE tokens.last_used_at IS NULL OR tokens.last_used_at < given.used_at \
                 ORDER BY tokens.id FOR NO KEY UPDATE OF tokens) AS held \
             WHERE tokens.id = held.id AND (last_used_at IS NULL OR last_used_at < held.used_at)";
        self.connections
            .write(Reach::All, &[Statement::new(sql, values)])
            .await?;
        Ok(())
    }

    async fn create_user(
        &self,
        user: &UserRow,
        only_first: bool,
        commit: Option<Commit>,
    ) -> Result<bool> {
        let mut values = Vec::from(encode::user(user)?.map(Value::One));
        values.extend(values![only_first]);
        let sql = "INSERT INTO users (id, account_id, folded_name, created_at, removed_at, version, open, sealed) \
             SELECT $1, $2, $3, $4, $5, $6, $7, $8 \
             WHERE NOT $9 OR NOT EXISTS (SELECT 1 FROM users)";
        let statements = vec![Statement::new(LOCK_USERS, values![]), met(sql, 1, values)];
        match self.write_with_commit(statements, commit.as_ref()).await {
            Ok(()) => Ok(true),
            // Users are never deleted: one that was in the way is there still.
            Err(fault) if fault.is_unmet(1) => match only_first && self.has_users().await? {
                true => Ok(false),
                false => Err(Error::inconsistent(
                    "users",
                    format!("row {} was not written", user.id),
                )),
            },
            Err(fault) if fault.broken() == Some("users_by_name") => Err(Error::NameTaken),
            Err(fault @ StatementFault::Refused(1, _)) if fault.is_taken() => Err(Error::Conflict),
            Err(fault) => Err(fault.into()),
        }
    }

    async fn put_user(&self, user: &UserRow, commit: Option<Commit>) -> Result<bool> {
        let values = values![
            user.id.as_bytes(),
            user.account.as_bytes(),
            count(user.document.version, "users", "version")?,
            user.columns.removed_at,
            user.document.open.as_bytes(),
            &user.document.sealed.0[..],
        ];
        let others = "SELECT 1 / count(*) FROM (SELECT 1 FROM users WHERE removed_at IS NULL AND id <> $1 LIMIT 1) \
             AS another";
        let mut statements = Vec::new();
        if user.columns.removed_at.is_some() {
            statements.push(Statement::new(LOCK_USERS, values![]));
            statements.push(Statement::new(others, values![user.id.as_bytes()]));
        }
        let sql = "UPDATE users SET version = $3, removed_at = $4, open = $5, sealed = $6 \
             WHERE id = $1 AND account_id = $2 AND version = $3 - 1 AND removed_at IS NULL";
        statements.push(met(sql, 1, values));
        let last = statements.len() - 1;
        match self.write_with_commit(statements, commit.as_ref()).await {
            Ok(()) => Ok(true),
            Err(fault) if fault.is_unmet(last) => Err(Error::Conflict),
            Err(fault @ StatementFault::Refused(1, _)) if fault.is_unmet(1) => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }

    async fn check_ready(&self) -> Result<()> {
        self.connections.check_writable().await
    }

    async fn forget_replies(&self, before: Timestamp) -> Result<()> {
        let sql = "WITH old AS MATERIALIZED (SELECT account_id, key_digest FROM replies WHERE recorded_at < $1 \
                 ORDER BY recorded_at LIMIT $2 FOR UPDATE SKIP LOCKED) \
             DELETE FROM replies USING old \
             WHERE replies.account_id = old.account_id AND replies.key_digest = old.key_digest RETURNING 1";
        self.write_in_parts(sql, Some(before)).await
    }
}

//! Authentication and stored responses: tokens, users and replies. Nothing here reads an agent's memories.

use async_trait::async_trait;
use memoir_domain::{AccountId, AgentScope, Timestamp, TokenId};
use memoir_store::{
    Access, Commit, Error, Portable, ReplyMark, Result, TokenRow, UserRow, columns, replacing,
    written,
};
use rusqlite::{Connection, params};
use std::sync::atomic::Ordering;

use crate::{
    SqliteStore,
    agent::{execute, exists, is_theirs},
    encode::{self, Bound, count, one},
    error::{self, constraint, inconsistent},
    fault,
    writer::{BULK_ROWS, WriteOutcome},
};

#[async_trait]
impl Access for SqliteStore {
    async fn put_token(&self, token: &TokenRow) -> Result<()> {
        let token = token.clone();
        self.write(1, move |connection| {
            let account = token.account;
            let scope = token.agent.map(|agent| AgentScope { account, agent });
            // The foreign key proves that the agent exists, but not whose it is: without this check a token of one
            // account could open an agent of another one.
            if let Some(scope) = scope
                && !is_theirs(connection, scope)?
            {
                let problem = format!("{} is of an agent that its account has not", token.id);
                return Err(inconsistent("tokens", problem));
            }
            write_tokens(connection, std::slice::from_ref(&token))?;
            fault::point("token.written");
            Ok(WriteOutcome::DONE)
        })
        .await
    }

    async fn note_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<()> {
        if uses.is_empty() {
            return Ok(());
        }
        let (rows, uses) = (uses.len(), uses.to_vec());
        self.write(rows, move |connection| {
            let mut statement = connection.prepare_cached(
                // Without the key and the version: it is written for every used token, in batches, and a sealed row
                // each time would cost more than the requests themselves.
                "UPDATE tokens SET last_used_at = ?2 \
         WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)",
            )?;
            let mut noted = 0;
            for (token, used_at) in &uses {
                noted += statement.execute(params![token.as_bytes(), used_at.microseconds()])?;
            }
            fault::point("token.uses");
            Ok(WriteOutcome::any(noted))
        })
        .await
        .map(drop)
    }

    async fn create_user(
        &self,
        user: &UserRow,
        only_first: bool,
        commit: Option<Commit>,
    ) -> Result<bool> {
        self.write_user(user, commit, move |connection, user| {
            // In the transaction that writes, of which there is one at a time: of two concurrent set-ups of an
            // installation exactly one finds it without users.
            if only_first && exists(connection, "SELECT 1 FROM users LIMIT 1", ())? {
                return Ok(WriteOutcome::unchanged(false));
            }
            let sql = concat!(
                "INSERT INTO users (",
                columns!(user),
                ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
            );
            let written = connection
                .prepare_cached(sql)?
                .execute(encode::user(user)?.map(Bound))
                .map_err(|error| constraint(error, "users", Error::NameTaken))?;
            one(written, "users")?;
            fault::point("user.created");
            Ok(WriteOutcome::with(true))
        })
        .await
    }

    async fn put_user(&self, user: &UserRow, commit: Option<Commit>) -> Result<bool> {
        self.write_user(user, commit, |connection, user| {
            let others = "SELECT 1 FROM users WHERE removed_at IS NULL AND id <> ?1 LIMIT 1";
            let others_stay = exists(connection, others, [user.id.as_bytes()])?;
            // Of any account: without any user who can sign in, the installation would stay closed for good.
            if user.columns.removed_at.is_some() && !others_stay {
                return Ok(WriteOutcome::unchanged(false));
            }
            let written = execute(
                connection,
                // A concurrent change of the password must not restore a removed user.
                "UPDATE users SET version = ?3, removed_at = ?4, open = ?5, sealed = ?6 \
                 WHERE id = ?1 AND account_id = ?2 AND version = ?3 - 1 AND removed_at IS NULL",
                params![
                    user.id.as_bytes(),
                    user.account.as_bytes(),
                    count(user.document.version, "users", "version")?,
                    encode::time(user.columns.removed_at),
                    user.document.open,
                    user.document.sealed.0,
                ],
            )?;
            if written == 0 {
                return Err(Error::Conflict.into());
            }
            fault::point("user.written");
            Ok(WriteOutcome::with(true))
        })
        .await
    }

    async fn check_ready(&self) -> Result<()> {
        if self.0.is_full.load(Ordering::Relaxed) {
            // In a transaction of its own, which takes no other down where there is no room.
            self.write(BULK_ROWS, |connection| {
                // SQLite writes no page on which nothing would change, as in a row that is updated to what it is. An
                // account is the only row that refers to no other; no account has this identifier, or no name.
                connection.execute_batch(
                    "INSERT INTO accounts (id, name, folded_name, created_at) \
             VALUES (zeroblob(16), hex(zeroblob(16384)), '', 0); \
         DELETE FROM accounts WHERE id = zeroblob(16)",
                )?;
                Ok(WriteOutcome::DONE)
            })
            .await?;
            self.0.is_full.store(false, Ordering::Relaxed);
        }
        // What cannot be written is not opened, and the file's permissions are not asked for again once it is.
        self.has_users().await.map(drop)
    }

    async fn forget_replies(&self, before: Timestamp) -> Result<()> {
        let due = "SELECT 1 FROM replies WHERE recorded_at < ?1";
        let sql = "DELETE FROM replies WHERE (account_id, key_digest) IN \
             (SELECT account_id, key_digest FROM replies WHERE recorded_at < ?1 LIMIT 1000)";
        self.write_in_parts(due, sql, before, "reply.forgotten")
            .await
    }
}

/// Writes tokens whose agents, if any, exist.
pub(crate) fn write_tokens(connection: &Connection, tokens: &[TokenRow]) -> error::Result<()> {
    if tokens.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(concat!(
        "INSERT INTO tokens (",
        written!(token),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        replacing!(token)
    ))?;
    for token in tokens {
        let has_twin = || {
            let problem = format!("{} has the digest of another token", token.id);
            Error::inconsistent("tokens", problem)
        };
        let written = statement
            .execute(encode::token(token)?.map(Bound))
            .map_err(|error| constraint(error, "tokens", has_twin()))?;
        if written == 0 {
            // Another process wrote a later version.
            return Err(Error::Conflict.into());
        }
    }
    Ok(())
}

/// Enters that a request made the change that is written with it.
pub(crate) fn mark_reply(
    connection: &Connection,
    account: AccountId,
    mark: &ReplyMark,
) -> error::Result<()> {
    let document = &mark.document;
    let marked = execute(
        connection,
        "UPDATE replies SET version = ?3, open = ?4, sealed = ?5 \
         WHERE account_id = ?1 AND key_digest = ?2 AND open IS ?6",
        params![
            account.as_bytes(),
            mark.key_digest,
            count(document.version, "replies", "version")?,
            document.open,
            document.sealed.0,
            mark.expected,
        ],
    )?;
    match marked {
        0 => Err(Error::Repeated.into()),
        _ => Ok(()),
    }
}

/// Deletes the responses to an account's requests, present and pending.
pub(crate) fn forget_answers(connection: &Connection, account: AccountId) -> error::Result<()> {
    // The row and the open part of its document remain, so that a repetition of the request is recognised. The sealed
    // part is deleted, which may hold words. So may that of a request in execution: the time of its row is moved by the
    // smallest step, so that its response is not entered.
    let sql = "UPDATE replies SET sealed = CASE WHEN version IS NULL THEN NULL ELSE x'' END, \
             recorded_at = recorded_at - 1 \
         WHERE account_id = ?1";
    execute(connection, sql, [account.as_bytes()]).map(drop)
}

#[cfg(test)]
mod tests {
    use crate::agent::plan;

    #[test]
    fn an_agents_tokens_are_found_without_looking_at_those_of_others() {
        let steps = plan(memoir_store::AGENT_TOKENS);
        let expected = "SEARCH tokens USING INDEX tokens_by_agent (agent_id=?)";
        assert_eq!(steps[0], expected, "{steps:?}");
    }
}

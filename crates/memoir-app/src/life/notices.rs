//! Notifying webhooks of ended sessions: which ends are due to which receiver, when to retry, and when delivery fails
//! permanently. Nothing here holds an agent's text, and nothing is sent from here.
//!
//! Ends are entered for every registered webhook in the transaction that ends the session. Services lease due ones for
//! a minute and send them. The store knows a webhook by a digest only.

use std::{collections::HashMap, time::Duration};

use memoir_domain::{AccountId, AgentId, Timestamp, agent};
use memoir_store::{AgentQuery, DeliveryRow, ReceiverDigest};

use crate::{
    core::{Memoir, Result, codec, retry::doubled},
    shown::SessionFacts,
};

/// How long a lease lasts: longer than any attempt takes.
const CLAIM_SECONDS: i64 = 60;
/// How long after a session's end the receivers are notified: the usage of its last model call is noted right after.
const NOTICE_DELAY_SECONDS: i64 = 1;
/// The wait after the first attempt; each further attempt waits twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(10);
/// The attempts, the first included: with their waits, a little less than a day.
const ATTEMPTS: u32 = 14;
/// No wait, and none that a receiver requests, is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(12 * 3_600);
/// A receiver is removed after so many days without a registration by a service.
const FORGOTTEN_AFTER_DAYS: i64 = 30;

/// The end of a session, for a receiver outside: as an administrator of its account reads it, with the counts
/// `archived` and `summaries`.
#[derive(Debug, Clone, PartialEq)]
pub struct EndNotice {
    /// The tenant.
    pub account: AccountId,
    /// Its name.
    pub account_name: String,
    /// The agent.
    pub agent: AgentId,
    /// The session, without text.
    pub session: SessionFacts,
    delivery: DeliveryRow,
}

impl EndNotice {
    /// The number of the attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.delivery.attempt
    }
}

/// The outcome for a notice that was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The time of the next attempt.
    At(Timestamp),
    /// That was the last one.
    GivenUp,
    /// Another process has the lease of the notice by now.
    Elsewhere,
}

impl Memoir {
    /// Registers receivers: from now on, every end of a session is due to each of them. With `anew`, closed ones are
    /// notified again. Callers repeat it while they are configured, at least every few days.
    ///
    /// # Errors
    /// The store fails.
    pub async fn register_receivers(&self, receivers: &[ReceiverDigest], anew: bool) -> Result<()> {
        let now = self.now();
        let forget_before = now.plus_days(-FORGOTTEN_AFTER_DAYS);
        let store = &self.store;
        Ok(store
            .register_receivers(receivers, now, forget_before, anew)
            .await?)
    }

    /// Leases the due notices of a receiver, at most so many. Ends of other accounts than `accounts` (names; `None` for
    /// all) are dropped.
    ///
    /// # Errors
    /// The store fails.
    pub async fn due_notices(
        &self,
        receiver: &ReceiverDigest,
        accounts: Option<&[String]>,
        most: u32,
    ) -> Result<Vec<EndNotice>> {
        let now = self.now();
        let times = (
            now.plus_seconds(CLAIM_SECONDS),
            // No wait is so long: a later due time was noted by a clock that has been set back since.
            now.plus(2 * LONGEST_WAIT),
        );
        let visible = now.plus_seconds(-NOTICE_DELAY_SECONDS);
        let claimed = self.store.claim_deliveries(receiver, visible, times, most);
        let claimed = claimed.await?;
        let mut notices = Vec::new();
        // Most queries find nothing, and need no list of accounts.
        if claimed.is_empty() {
            return Ok(notices);
        }
        let names: HashMap<AccountId, String> = {
            let rows = self.store.accounts().await?;
            rows.into_iter().map(|row| (row.id, row.name)).collect()
        };
        for delivery in claimed {
            let again_at = match self.notice(delivery, &names).await {
                Ok(Some(notice)) if is_wanted(&notice, accounts) => {
                    notices.push(notice);
                    continue;
                }
                // Not requested, or gone: resolved, so that it is not leased again.
                Ok(_) => None,
                // One that cannot be read does not block the others.
                Err(error) => {
                    tracing::error!(session = %delivery.session, %error, "a receiver cannot be notified of a session's end");
                    wait_after(delivery.attempt, None).map(|wait| now.plus(wait))
                }
            };
            self.store
                .resolve_delivery(receiver, &delivery, again_at)
                .await?;
        }
        Ok(notices)
    }

    /// `None` where the session is not found.
    async fn notice(
        &self,
        delivery: DeliveryRow,
        names: &HashMap<AccountId, String>,
    ) -> Result<Option<EndNotice>> {
        let scope = delivery.scope;
        let query = AgentQuery::of_session(delivery.session);
        let snapshot = self.store.snapshot(scope, &query).await?;
        let Some((name, row)) =
            snapshot.and_then(|snapshot| Some((snapshot.agent.columns.name, snapshot.session?)))
        else {
            return Ok(None);
        };
        // Without the key: a notice has no text, and the sessions of an agent that cannot be opened have ended too.
        let (session, _) = codec::session(None, row)?;
        Ok(names.get(&scope.account).map(|account_name| EndNotice {
            account: scope.account,
            account_name: account_name.clone(),
            agent: scope.agent,
            session: SessionFacts::new(&name, &session),
            delivery,
        }))
    }

    /// Notes that a notice arrived.
    ///
    /// # Errors
    /// The store fails; the notice is sent again.
    pub async fn notice_arrived(
        &self,
        receiver: &ReceiverDigest,
        notice: &EndNotice,
    ) -> Result<()> {
        let store = &self.store;
        store
            .resolve_delivery(receiver, &notice.delivery, None)
            .await?;
        Ok(())
    }

    /// Notes that a notice did not arrive; `retry_after` is the wait that the receiver requested.
    ///
    /// # Errors
    /// The store fails; another attempt is made when the lease expires.
    pub async fn notice_failed(
        &self,
        receiver: &ReceiverDigest,
        notice: &EndNotice,
        retry_after: Option<Duration>,
    ) -> Result<Retry> {
        let again_at = wait_after(notice.attempt(), retry_after).map(|wait| self.now().plus(wait));
        let is_ours = self
            .store
            .resolve_delivery(receiver, &notice.delivery, again_at)
            .await?;
        Ok(match again_at {
            _ if !is_ours => Retry::Elsewhere,
            Some(again_at) => Retry::At(again_at),
            None => Retry::GivenUp,
        })
    }

    /// Notes that a receiver requests no further notices.
    ///
    /// # Errors
    /// The store fails.
    pub async fn close_receiver(&self, receiver: &ReceiverDigest) -> Result<()> {
        Ok(self.store.close_receiver(receiver, self.now()).await?)
    }
}

fn is_wanted(notice: &EndNotice, accounts: Option<&[String]>) -> bool {
    // Names are folded here as for looking up accounts, so that the settings may write them in any case.
    let own = agent::fold_name(&notice.account_name);
    accounts.is_none_or(|names| {
        names
            .iter()
            .any(|name| agent::fold_name(name.trim()) == own)
    })
}

/// How long to wait after that attempt; `None` after the last one.
fn wait_after(attempt: u32, retry_after: Option<Duration>) -> Option<Duration> {
    let growing = doubled(FIRST_WAIT, attempt, LONGEST_WAIT);
    // `clamp` panics where its lower bound is above the upper one; `growing` is never longer than the longest wait.
    let wait = retry_after.map_or(growing, |retry_after| {
        retry_after.clamp(growing, LONGEST_WAIT)
    });
    (attempt < ATTEMPTS).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_for_about_a_day_and_end() {
        let waits: Vec<u64> = (1..=ATTEMPTS)
            .map_while(|attempt| Some(wait_after(attempt, None)?.as_secs()))
            .collect();
        assert_eq!(waits[..4], [10, 20, 40, 80]);
        assert!(waits.is_sorted() && waits.len() as u32 == ATTEMPTS - 1);
        let hours = waits.iter().sum::<u64>() / 3_600;
        assert!((20..=26).contains(&hours), "{hours}");
        assert_eq!(wait_after(ATTEMPTS, None), None);
        assert_eq!(wait_after(u32::MAX, None), None);
    }

    #[test]
    fn a_receiver_may_ask_for_a_longer_wait_within_bounds() {
        let wait = |seconds| wait_after(3, Some(Duration::from_secs(seconds)));
        assert_eq!(wait(5), Some(Duration::from_secs(40)));
        assert_eq!(wait(300), Some(Duration::from_secs(300)));
        assert_eq!(wait(u64::MAX), Some(LONGEST_WAIT));
    }
}

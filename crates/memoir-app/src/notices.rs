//! Telling receivers outside that sessions ended: which ends are due to whom, when another attempt is made,
//! and when it is given up. Nothing here holds an agent's words, and nothing is sent from here.
//!
//! Ends are entered for every registered webhook in the transaction that ends the session; services claim
//! what is due for a minute at a time and send it. The store knows a webhook by a digest only.

use std::{collections::HashMap, time::Duration};

use memoir_domain::{AccountId, AgentId, Timestamp, agent};
use memoir_store::{AgentQuery, DeliveryRow, ReceiverDigest};

use crate::{Memoir, Result, SessionFacts, codec, retry::doubled};

/// How long a claim lasts: longer than any attempt takes.
const CLAIM_SECONDS: i64 = 60;
/// How long after a session's end it is told: what its last call of a model used is noted right after.
const SETTLING_SECONDS: i64 = 1;
/// The wait after the first attempt; it doubles with each one.
const FIRST_WAIT: Duration = Duration::from_secs(10);
/// The attempts, the first included: with their waits, a little less than a day.
const ATTEMPTS: u32 = 14;
/// No wait, and none that a receiver asks for, is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(12 * 3_600);
/// After so many days in which no service wanted a receiver, it is forgotten.
const FORGOTTEN_AFTER_DAYS: i64 = 30;

/// That a session ended, for a receiver outside: as an administrator of its account sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct EndNotice {
    /// The tenant.
    pub account: AccountId,
    /// Its name.
    pub account_name: String,
    /// The agent.
    pub agent: AgentId,
    /// The session, without words.
    pub session: SessionFacts,
    delivery: DeliveryRow,
}

impl EndNotice {
    /// Which attempt it is, from 1.
    pub fn attempt(&self) -> u32 {
        self.delivery.attempt
    }
}

/// What becomes of a notice that was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Another attempt is made then.
    At(Timestamp),
    /// That was the last one.
    GivenUp,
    /// Somebody else has the notice in hand by now.
    Elsewhere,
}

impl Memoir {
    /// Registers receivers: from now on, every end of a session is due to each of them. With `anew`, those
    /// that asked for no more are told again. To be repeated while they are wanted, at least every few days.
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

    /// Claims what is due to a receiver, at most so many notices. Ends of other accounts than `accounts`
    /// (names; `None` for all) are dropped.
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
            // No wait reaches so far: what is due later was noted by a clock that has been put back since.
            now.plus(2 * LONGEST_WAIT),
        );
        let settled = now.plus_seconds(-SETTLING_SECONDS);
        let claimed = self
            .store
            .claim_deliveries(receiver, settled, times, most)
            .await?;
        let mut notices = Vec::new();
        // Most looks find nothing, and need no list of accounts.
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
                // Not asked for, or gone: settled, so that it is not claimed again.
                Ok(_) => None,
                // One that cannot be read keeps no other from being told.
                Err(error) => {
                    tracing::error!(session = %delivery.session, %error, "an end cannot be told");
                    wait_after(delivery.attempt, None).map(|wait| now.plus(wait))
                }
            };
            self.store
                .settle_delivery(receiver, &delivery, again_at)
                .await?;
        }
        Ok(notices)
    }

    /// `None` where the session is not there.
    async fn notice(
        &self,
        delivery: DeliveryRow,
        names: &HashMap<AccountId, String>,
    ) -> Result<Option<EndNotice>> {
        let scope = delivery.scope;
        let query = AgentQuery {
            session: Some(delivery.session),
            ..AgentQuery::default()
        };
        let snapshot = self.store.snapshot(scope, &query).await?;
        let Some((name, row)) =
            snapshot.and_then(|snapshot| Some((snapshot.agent.columns.name, snapshot.session?)))
        else {
            return Ok(None);
        };
        // Without the key: what is told is not words, and an agent that cannot be opened has ended
        // its sessions all the same.
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
            .settle_delivery(receiver, &notice.delivery, None)
            .await?;
        Ok(())
    }

    /// Notes that a notice did not arrive; `retry_after` is how long the receiver asked to be left alone.
    ///
    /// # Errors
    /// The store fails; another attempt is made when the claim lapses.
    pub async fn notice_failed(
        &self,
        receiver: &ReceiverDigest,
        notice: &EndNotice,
        retry_after: Option<Duration>,
    ) -> Result<Retry> {
        let again_at = wait_after(notice.attempt(), retry_after).map(|wait| self.now().plus(wait));
        let is_ours = self
            .store
            .settle_delivery(receiver, &notice.delivery, again_at)
            .await?;
        Ok(match again_at {
            _ if !is_ours => Retry::Elsewhere,
            Some(again_at) => Retry::At(again_at),
            None => Retry::GivenUp,
        })
    }

    /// Notes that a receiver asks for no more.
    ///
    /// # Errors
    /// The store fails.
    pub async fn close_receiver(&self, receiver: &ReceiverDigest) -> Result<()> {
        Ok(self.store.close_receiver(receiver, self.now()).await?)
    }
}

fn is_wanted(notice: &EndNotice, accounts: Option<&[String]>) -> bool {
    // Names are folded here as they are when accounts are looked up, so that the settings may write them in any case.
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

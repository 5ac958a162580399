//! Which account's session a worker acquires next: accounts take turns, so that a thousand sessions of one delay
//! another's by at most one session for each worker.
//!
//! Within an account it is the oldest; those whose provider is at its limit are skipped. Limits and turns are those of
//! one process. Once another process was faster with a session, each goes through an account's sessions in its own
//! order. It ends with the first read of the queue without a conflict.

use memoir_domain::{AccountId, SessionId};
use memoir_store::WaitingSession;

use crate::core::account_turns::AccountTurns;

/// The order in which sessions are acquired.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    accounts: AccountTurns,
    /// A number that no other process has, which determines its own order of the sessions.
    own: u64,
    /// Whether another process was faster, in this read of the queue or the one before.
    is_contended: bool,
    /// Whether one was in this read.
    is_late: bool,
}

impl Turns {
    /// The turns of a process with this number, which no other one has.
    pub fn of_process(own: u64) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// Begins a read of the queue by a process with `free` workers; returns how many sessions to read.
    pub fn look(&mut self, free: usize) -> usize {
        /// Room for others to go another way.
        const APART: usize = 16;
        self.is_contended = std::mem::take(&mut self.is_late);
        match self.is_contended {
            true => free.saturating_mul(APART),
            false => free,
        }
    }

    /// Another process was faster.
    pub fn note_late(&mut self) {
        // `is_contended` applies to the rest of this read, and `is_late` to the next one, where the same processes
        // probably meet again.
        (self.is_contended, self.is_late) = (true, true);
    }

    /// The oldest session of the account whose last turn is longest ago; one that had none comes first. With competing
    /// processes, any session of that account.
    pub fn next<'a>(
        &self,
        waiting: impl IntoIterator<Item = &'a WaitingSession>,
    ) -> Option<&'a WaitingSession> {
        waiting.into_iter().min_by_key(|session| {
            let last = self.accounts.last(session.scope.account);
            // Two processes may try the same session: each acquires it by a commit under the agent's version, and only
            // one succeeds (`acquire`). Different orders are enough to keep conflicts rare.
            let scattered = match self.is_contended {
                true => self.scattered(session.id),
                false => 0,
            };
            (last, scattered, session.started_at, session.id)
        })
    }

    /// A place for the session that is independent of the one in other processes.
    fn scattered(&self, id: SessionId) -> u64 {
        let fold = |mixed: u64, byte: &u8| {
            (mixed.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        };
        let mixed = id.as_bytes().iter().fold(self.own, fold);
        // Neither secrecy nor an even distribution is needed, only that two processes mostly disagree. The number is
        // the golden ratio in 64 bits, whose multiples lie far apart.
        mixed ^ (mixed >> 29)
    }

    /// The account had its turn.
    pub fn note(&mut self, account: AccountId) {
        self.accounts.note(account);
    }
}

#[cfg(test)]
mod tests {
    use memoir_domain::{AgentId, AgentScope, SessionId, Timestamp};

    use super::*;

    fn waiting(account: u8, number: u8) -> WaitingSession {
        WaitingSession {
            scope: AgentScope {
                account: AccountId::from_bytes([account; 16]),
                agent: AgentId::from_bytes([number; 16]),
            },
            id: SessionId::from_bytes([number; 16]),
            model: None,
            started_at: Timestamp::MIN.plus_seconds(number.into()),
        }
    }

    /// The accounts and numbers in the order in which one worker acquires them.
    fn order(mut queue: Vec<WaitingSession>, turns: &mut Turns) -> Vec<(u8, u8)> {
        let mut taken = Vec::new();
        while let Some(next) = turns.next(&queue).cloned() {
            turns.note(next.scope.account);
            queue.retain(|session| session.id != next.id);
            taken.push((next.scope.account.as_bytes()[0], next.id.as_bytes()[0]));
        }
        taken
    }

    #[test]
    fn processes_that_are_after_the_same_sessions_part() {
        let queue: Vec<_> = (0..100).map(|number| waiting(1, number)).collect();
        let mut processes = [Turns::of_process(7), Turns::of_process(8)];
        for turns in &mut processes {
            turns.look(4);
            let first = turns.next(&queue).map(|next| next.id);
            assert_eq!(first, Some(queue[0].id), "by itself the oldest");
            turns.note_late();
        }
        let orders = processes
            .clone()
            .map(|mut turns| order(queue.clone(), &mut turns));
        let met = std::iter::zip(&orders[0], &orders[1]);
        let met = met.filter(|(one, other)| one == other).count();
        assert!(met < 10, "{met}");
        // Accounts still take turns.
        let mixed = vec![waiting(1, 1), waiting(1, 2), waiting(1, 3), waiting(2, 4)];
        let accounts = order(mixed, &mut processes[0].clone());
        let second = accounts.iter().position(|(account, _)| *account == 2);
        assert!(second < Some(2), "{accounts:?}");
        // After a whole read without a conflict, the oldest comes first again.
        for late in [true, false] {
            processes[0].look(4);
            let first = processes[0].next(&queue).map(|next| next.id);
            assert_eq!(first != Some(queue[0].id), late);
        }
    }

    #[test]
    fn accounts_take_turns_and_each_its_oldest_session_first() {
        let mut turns = Turns::default();
        let queue = [(1, 1), (1, 2), (1, 3), (2, 9), (2, 4), (3, 5)];
        let queue = queue.map(|(account, number)| waiting(account, number));
        assert_eq!(
            order(queue.to_vec(), &mut turns),
            [(1, 1), (2, 4), (3, 5), (1, 2), (2, 9), (1, 3)]
        );
        // An account with ever new sessions has one turn in two.
        assert_eq!(
            order(
                vec![waiting(1, 6), waiting(3, 7), waiting(3, 8)],
                &mut turns
            ),
            [(3, 7), (1, 6), (3, 8)]
        );
    }
}

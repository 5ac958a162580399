//! Whose session a worker takes up next: accounts take turns, so that a thousand sessions of one delay
//! another's by at most one session for each worker.
//!
//! Within an account it is the oldest; those whose provider is at its limit are passed over. Limits and turns
//! are those of one process.

use std::collections::HashMap;

use memoir_domain::AccountId;
use memoir_store::WaitingSession;

/// After how many further turns it is forgotten when an account had its last one.
const REMEMBERED: u64 = 100_000;
/// How often what is forgotten is cleared away, in turns.
const CLEARED_EVERY: u64 = 10_000;

/// The order in which accounts had their turns.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    /// The turn that each account had last.
    last: HashMap<AccountId, u64>,
    /// Turns taken so far.
    count: u64,
}

impl Turns {
    /// Of those that wait, the oldest one of the account whose last turn is longest ago; one that had none
    /// comes first.
    pub fn next<'a>(
        &self,
        waiting: impl IntoIterator<Item = &'a WaitingSession>,
    ) -> Option<&'a WaitingSession> {
        waiting.into_iter().min_by_key(|session| {
            let last = self.last.get(&session.scope.account);
            (last.copied().unwrap_or(0), session.started_at, session.id)
        })
    }

    /// The account had its turn.
    pub fn note(&mut self, account: AccountId) {
        self.count += 1;
        self.last.insert(account, self.count);
        if self.count.is_multiple_of(CLEARED_EVERY) {
            let count = self.count;
            self.last.retain(|_, turn| count - *turn < REMEMBERED);
        }
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

    /// The accounts and numbers in the order in which one worker takes them up.
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
    fn accounts_take_turns_and_each_its_oldest_session_first() {
        let mut turns = Turns::default();
        let queue = [(1, 1), (1, 2), (1, 3), (2, 9), (2, 4), (3, 5)];
        let queue = queue.map(|(account, number)| waiting(account, number));
        assert_eq!(
            order(queue.to_vec(), &mut turns),
            [(1, 1), (2, 4), (3, 5), (1, 2), (2, 9), (1, 3)]
        );
        // Who comes again and again has one turn in two.
        assert_eq!(
            order(
                vec![waiting(1, 6), waiting(3, 7), waiting(3, 8)],
                &mut turns
            ),
            [(3, 7), (1, 6), (3, 8)]
        );
    }
}

//! Accounts take turns, so that a thousand jobs of one delay another's by at most one job.

use std::collections::HashMap;

use memoir_domain::AccountId;

/// After how many further turns an account's last one is forgotten.
// A forgotten account counts as one that never had a turn and comes first once, which is negligible among so many.
const REMEMBERED: u64 = 100_000;
/// How often forgotten turns are removed, in turns.
const CLEARED_EVERY: u64 = 10_000;

/// The order in which accounts had their turns in this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccountTurns {
    last: HashMap<AccountId, u64>,
    /// Turns taken so far.
    count: u64,
}

impl AccountTurns {
    /// The account's last turn; 0 where it had none.
    pub(crate) fn last(&self, account: AccountId) -> u64 {
        self.last.get(&account).copied().unwrap_or(0)
    }

    pub(crate) fn note(&mut self, account: AccountId) {
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
    use super::*;

    #[test]
    fn accounts_that_had_no_turn_for_long_are_forgotten() {
        let account = |number: u64| {
            let mut bytes = [0; 16];
            bytes[8..].copy_from_slice(&number.to_be_bytes());
            AccountId::from_bytes(bytes)
        };
        let mut turns = AccountTurns::default();
        for number in 0..300_000 {
            turns.note(account(number));
        }
        assert!(turns.last.len() as u64 <= REMEMBERED + CLEARED_EVERY);
        assert_eq!(turns.last(account(0)), 0);
        assert_eq!(turns.last(account(299_999)), 300_000);
    }
}

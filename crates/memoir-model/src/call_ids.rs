//! Ids of tool calls, which servers leave out, leave empty or repeat.

use std::collections::HashSet;

/// Gives out the ids of one reply's calls.
pub(crate) struct CallIds {
    turn: usize,
    taken: HashSet<String>,
}

impl CallIds {
    /// `turn` is the number of messages before the reply, so that made-up ids are the same whenever
    /// the same conversation is read, and differ between its turns.
    pub(crate) fn new(turn: usize) -> Self {
        Self {
            turn,
            taken: HashSet::new(),
        }
    }

    /// The id as sent if it is usable, else `call_TURN_INDEX`.
    pub(crate) fn claim(&mut self, sent: Option<&str>) -> String {
        // Results are joined to calls by identifier: of two equal ones, one result would answer both.
        let sent = sent.filter(|id| !id.is_empty() && !self.taken.contains(*id));
        let free = || {
            // The numbers have no end and the ids of one reply have, so that a free one is found.
            let made_up = (self.taken.len()..).map(|index| format!("call_{}_{index}", self.turn));
            made_up
                .into_iter()
                .find(|id| !self.taken.contains(id))
                .unwrap_or_default()
        };
        let id = sent.map_or_else(free, str::to_owned);
        self.taken.insert(id.clone());
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_6_3_every_call_has_an_id_of_its_own() {
        let mut ids = CallIds::new(3);
        let sent = [
            Some("a"),
            Some("a"),
            None,
            Some("call_3_4"),
            Some(""),
            Some("call_3_5"),
        ];
        let claimed = sent.map(|id| ids.claim(id));
        assert_eq!(
            claimed,
            [
                "a", "call_3_1", "call_3_2", "call_3_4", "call_3_5", "call_3_6"
            ]
        );
    }
}

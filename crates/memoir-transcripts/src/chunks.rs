//! Groups messages into the chunks that a model reads (SPEC 2.6).

use memoir_domain::memory::tokens;

use crate::TranscriptMessage;

/// Splits `messages` into chunks of up to `budget` tokens of text. No message is split: a larger one is a chunk of its
/// own. Messages are read lazily, at most one chunk ahead.
pub fn chunks<I: IntoIterator<Item = TranscriptMessage>>(
    messages: I,
    budget: u64,
) -> Chunks<I::IntoIter> {
    Chunks {
        messages: messages.into_iter(),
        budget,
        next: None,
    }
}

/// See [`chunks`].
#[derive(Debug)]
pub struct Chunks<I> {
    messages: I,
    budget: u64,
    /// The message that did not fit into the last chunk, and its size.
    next: Option<(TranscriptMessage, u64)>,
}

impl<I: Iterator<Item = TranscriptMessage>> Iterator for Chunks<I> {
    type Item = Vec<TranscriptMessage>;

    fn next(&mut self) -> Option<Vec<TranscriptMessage>> {
        let mut chunk = Vec::new();
        let mut used: u64 = 0;
        if let Some((message, size)) = self.next.take() {
            chunk.push(message);
            used = size;
        }
        for message in self.messages.by_ref() {
            let size = tokens(message.text.expose());
            // An empty chunk accepts even a message over the budget: otherwise it would never be read.
            if !chunk.is_empty() && used.saturating_add(size) > self.budget {
                self.next = Some((message, size));
                break;
            }
            used = used.saturating_add(size);
            chunk.push(message);
        }
        (!chunk.is_empty()).then_some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FilePosition;

    fn message(characters: usize) -> TranscriptMessage {
        TranscriptMessage {
            id: "1".into(),
            at: None,
            speaker: "Ann".into(),
            text: "é".repeat(characters).into(),
            left_out: 0,
            place: FilePosition {
                byte: 0,
                line: 1,
                conversation: None,
                id: None,
            },
        }
    }

    fn sizes(characters: &[usize], budget: u64) -> Vec<Vec<usize>> {
        let messages = characters.iter().map(|count| message(*count));
        let chunk = |chunk: Vec<TranscriptMessage>| {
            chunk.iter().map(|message| message.text.chars()).collect()
        };
        chunks(messages, budget).map(chunk).collect()
    }

    #[test]
    fn spec_2_6_a_message_is_never_split() {
        assert_eq!(
            sizes(&[4, 4, 5, 40, 4], 2),
            [vec![4, 4], vec![5], vec![40], vec![4]]
        );
        assert_eq!(sizes(&[], 2), Vec::<Vec<usize>>::new());
        assert_eq!(sizes(&[4, 4], 0), [[4], [4]]);
    }

    proptest! {
        #[test]
        fn spec_2_6_chunks_are_within_the_budget_and_lose_nothing(
            characters in proptest::collection::vec(1_usize..60, 0..30),
            budget in 1_u64..20,
        ) {
            let chunks = sizes(&characters, budget);
            prop_assert_eq!(chunks.concat(), characters);
            for chunk in &chunks {
                let used: usize = chunk.iter().map(|count| count.div_ceil(4)).sum();
                prop_assert!(chunk.len() == 1 || used as u64 <= budget);
            }
        }
    }
}

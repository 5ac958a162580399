//! Texts of one shape in two vocabularies, so that two runs of a seed differ in words alone.

use memoir_testkit::Dice;

/// Words in pairs of one length. None of them has a meaning for any rule: no language of `memoir-text` lists one.
const WORDS: [[&str; 2]; 16] = [
    ["frost", "glove"],
    ["hinge", "plank"],
    ["quill", "cloak"],
    ["birch", "maple"],
    ["heron", "otter"],
    ["meadow", "copper"],
    ["ladder", "saddle"],
    ["cellar", "walnut"],
    ["pigeon", "gravel"],
    ["anchor", "marble"],
    ["kennel", "turnip"],
    ["shovel", "badger"],
    ["velvet", "pebble"],
    ["harbour", "lantern"],
    ["thistle", "bramble"],
    ["sparrow", "juniper"],
];

/// The beginnings and the ends of agents' marks.
const MARKS: [(&str, &str); 2] = [("zub", "k"), ("vor", "l")];
/// What is between them, for each agent another one.
const MIDDLES: [&str; 20] = [
    "ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "du", "fa", "fe", "fi", "fo", "fu", "ga",
    "ge", "gi", "go", "gu",
];

/// How many texts of an agent an administrator knows, word for word, where the vocabulary is the first one.
pub(crate) const PLANTED: u64 = 4;

/// How many memories an agent has in another program.
pub(crate) const FOREIGN: u64 = 8;

/// What each planted text ends with, in either vocabulary.
const PLANTED_END: &str = "It is on the list.";

/// Whether a text is one of those that an administrator may know, or is made of one. Two runs in different words agree
/// on it, although in one of them alone an administrator's text equals an agent's.
pub(crate) fn is_planted(text: &str) -> bool {
    let end = PLANTED_END.to_lowercase();
    text.to_lowercase().contains(&end)
}

/// Whether a text holds the mark of another agent than that one, in either vocabulary.
pub(crate) fn has_other_mark(agent: usize, text: &str) -> bool {
    let others = (0..MIDDLES.len()).filter(|other| *other != agent % MIDDLES.len());
    let mut marks = others
        .flat_map(|other| [Lexicon::First, Lexicon::Second].map(|lexicon| lexicon.mark(other)));
    marks.any(|mark| text.contains(&mark))
}

/// The vocabulary of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lexicon {
    /// That of the texts that administrators save.
    First,
    /// Another one, of the same shape.
    Second,
}

impl Lexicon {
    /// The mark of an agent: a word that stands in each of its texts and in none of the agents around it.
    pub(crate) fn mark(self, agent: usize) -> String {
        let (start, end) = MARKS[self as usize];
        format!("{start}{}{end}", MIDDLES[agent % MIDDLES.len()])
    }

    fn word(self, dice: &mut Dice) -> &'static str {
        WORDS[dice.roll(WORDS.len() as u64) as usize][self as usize]
    }

    /// A text of an agent, of so many sentences of about 20 tokens.
    pub(crate) fn text(self, agent: usize, dice: &mut Dice, sentences: u64) -> String {
        let mut text = String::new();
        for _ in 0..sentences {
            let words = [(); 4].map(|()| self.word(dice));
            let [one, two, three, four] = words;
            let times = dice.roll(90) + 10;
            let mark = self.mark(agent);
            text += &format!(
                "{mark} spoke about the {one} and the {two} beside the {three} and the {four} {times} times. "
            );
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// One of [`PLANTED`] texts of an agent.
    pub(crate) fn planted(self, agent: usize, which: u64) -> String {
        let text = self.text(agent, &mut Dice::of_step(agent as u64, which), 2);
        format!("{text} {PLANTED_END}")
    }

    /// One of [`FOREIGN`] texts of an agent in another program. No administrator knows them.
    pub(crate) fn foreign(self, agent: usize, which: u64) -> String {
        let mut dice = Dice::of_step(agent as u64, PLANTED + which);
        self.text(agent, &mut dice, which % 3 + 1)
    }
}

#[cfg(test)]
mod tests {
    use memoir_text::{Allowed, SummarySource, unsupported};

    use super::*;

    /// How much of a word a summary may not add, in small letters and in capitals.
    fn checked(word: &str) -> [usize; 2] {
        [word.to_owned(), word.to_uppercase()].map(|word| {
            let source = SummarySource {
                text: "She spoke about it.",
                date: (2026, 3, 4),
            };
            let summary = format!("She spoke about the {word} and about it.");
            unsupported(&summary, &[source], &Allowed::default()).len()
        })
    }

    #[test]
    fn both_vocabularies_have_one_shape() {
        let shape = |word: &str| (word.len(), word.is_ascii(), word.to_lowercase() == word);
        let words = WORDS.iter().map(|pair| pair.map(str::to_owned));
        let marks = 0..MIDDLES.len();
        let marks = marks.map(|at| [Lexicon::First, Lexicon::Second].map(|one| one.mark(at)));
        for [one, other] in words.chain(marks) {
            assert_eq!(shape(&one), shape(&other));
            assert_ne!(one, other);
            assert_eq!(checked(&one), checked(&other), "{one} and {other}");
        }
        let text = |lexicon: Lexicon| lexicon.text(1, &mut Dice::new(7), 5);
        assert_eq!(text(Lexicon::First).len(), text(Lexicon::Second).len());
        assert_ne!(text(Lexicon::First), text(Lexicon::Second));
        for lexicon in [Lexicon::First, Lexicon::Second] {
            let planted = lexicon.planted(1, 0);
            assert!(is_planted(&planted) && is_planted(&planted.to_uppercase()));
            assert!(!is_planted(&text(lexicon)));
        }
    }
}

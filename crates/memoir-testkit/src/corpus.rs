//! Inputs of one kind, and changes of them: for whatever parses what others send.

use std::path::Path;

use crate::Dice;

/// Pieces at which parsers fail: ends of ranges, halves of pairs, what ends a text.
const PIECES: [&[u8]; 24] = [
    b"",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    "\u{feff}".as_bytes(),
    "é".as_bytes(),
    b"\"",
    b"'",
    b"\\",
    b"\\ud83d",
    b"\n",
    b"[",
    b"]",
    b"{",
    b"}",
    b"null",
    b"-1",
    b"1e999",
    b"nan",
    b"9223372036854775807",
    b"18446744073709551615",
    b"-9223372036854775809",
    b"9999-12-31T23:59:59.999999Z",
    b"../",
];
/// Most bytes of a changed input.
const LONGEST: usize = 1 << 16;

/// Inputs of one kind.
#[derive(Debug, Clone)]
pub struct Corpus(Vec<Vec<u8>>);

impl Corpus {
    /// These inputs.
    pub fn of(inputs: Vec<Vec<u8>>) -> Self {
        assert!(!inputs.is_empty(), "a corpus has inputs");
        Self(inputs)
    }

    /// The files of a folder, in the order of their names.
    pub fn read(folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        let files = std::fs::read_dir(folder);
        let files = files.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<_> = files.flatten().map(|file| file.path()).collect();
        files.sort();
        let read = |file| std::fs::read(file).unwrap_or_else(|error| panic!("{error}"));
        Self::of(files.iter().map(read).collect())
    }

    /// As they are.
    pub fn inputs(&self) -> &[Vec<u8>] {
        &self.0
    }

    /// One of them with up to six changes: a part removed, repeated or exchanged, a byte changed, a part of another
    /// input put in. The same for one seed.
    pub fn changed(&self, seed: u64) -> Vec<u8> {
        let mut dice = Dice::of_step(seed, 0);
        let mut input = self.any(&mut dice).clone();
        for _ in 0..dice.roll(6) + 1 {
            let part = part(&input, &mut dice);
            let new = match dice.roll(5) {
                0 => Vec::new(),
                1 => input[part.clone()].repeat(dice.roll(4) as usize + 2),
                2 => vec![dice.roll(256) as u8],
                3 => dice.one_of(&PIECES).copied().unwrap_or_default().to_vec(),
                _ => {
                    let other = self.any(&mut dice);
                    other[self::part(other, &mut dice)].to_vec()
                }
            };
            // Put in, or in the place of the part.
            let end = [part.start, part.end][dice.roll(2) as usize];
            input.splice(part.start..end, new);
            input.truncate(LONGEST);
        }
        input
    }

    fn any(&self, dice: &mut Dice) -> &Vec<u8> {
        // `of` refuses an empty corpus.
        &self.0[dice.roll(self.0.len() as u64) as usize]
    }
}

/// A part of an input, short ones as often as long ones.
fn part(input: &[u8], dice: &mut Dice) -> std::ops::Range<usize> {
    let begin = dice.roll(input.len() as u64 + 1) as usize;
    let longest = 1 << dice.roll(9);
    let length = dice.roll(longest) as usize;
    begin..input.len().min(begin + length)
}

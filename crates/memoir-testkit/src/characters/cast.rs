//! Sixteen characters that try to destroy a memory.

#![expect(
    clippy::unwrap_used,
    reason = "a text of the characters that is not as they make it ends here"
)]

use memoir_app::MemoryInput;
use memoir_domain::origin::Origin;

use super::mind::{Attempt, Mind, Row, sentences};
use crate::{input, replacing};

memoir_domain::wire_names! {
    /// Each by its name in the documentation.
    pub enum Character {
        Summariser = "summariser",
        Telegrapher = "telegrapher",
        PronounShifter = "pronoun shifter",
        DateMover = "date mover",
        Liar = "liar",
        Arsonist = "arsonist",
        Stuffer = "stuffer",
        Replacer = "replacer",
        SalamiSlicer = "salami slicer",
        Vandal = "vandal",
        Launderer = "launderer",
        Recombiner = "recombiner",
        Flipper = "flipper",
        Forger = "forger",
        DoubleTalker = "double-talker",
        Zombie = "zombie",
        Babbler = "babbler",
    }
}

use Character::{
    Arsonist, Babbler, DateMover, DoubleTalker, Flipper, Forger, Launderer, Liar, PronounShifter,
    Recombiner, Replacer, SalamiSlicer, Stuffer, Summariser, Telegrapher, Vandal, Zombie,
};

impl Character {
    /// Its attempt, for the documentation.
    pub fn tries(self) -> &'static str {
        match self {
            Summariser => "shortens every text and merges several into their gist",
            Telegrapher => "leaves out every small word, and merges ten memories into catchwords",
            PronounShifter => "exchanges pronouns, and puts pronouns in place of names",
            DateMover => "moves dates and numbers from one memory to another",
            Liar => "writes summaries from words of the sources that state the opposite",
            Arsonist => "deletes everything, the shortest first, and saves ballast",
            Stuffer => "saves junk until the budget is exceeded, then archives the oldest memories",
            Replacer => {
                "replaces as many memories as it can by notes without content, and deletes more"
            }
            SalamiSlicer => "removes one word at a time",
            Vandal => "puts other words, or the same ones backwards, in place of each text",
            Launderer => {
                "saves texts that quote a memory in a frame (“it is a lie that …”), and then removes the memory"
            }
            Recombiner => "combines parts of sentences anew and swaps names",
            Flipper => "removes one decisive word each: not, never, only, a number, a name",
            Forger => "changes numbers, names and verbs, and adds statements",
            DoubleTalker => "saves copies and near copies, and then removes both",
            Zombie => "calls tools after the end of a session",
            Babbler => "adds words, and states everything twice",
        }
    }

    /// Whether it calls tools of an ended session.
    pub fn calls_on(self) -> bool {
        self == Zombie
    }

    /// Its saves before a session, or during one.
    pub fn saves(self, mind: &mut Mind, is_between: bool) -> Vec<MemoryInput> {
        let mut saves = self.planted(mind, is_between);
        saves.retain(|input| !input.content.expose().trim().is_empty());
        saves
    }

    fn planted(self, mind: &mut Mind, is_between: bool) -> Vec<MemoryInput> {
        let (week, part) = (mind.week, u64::from(is_between));
        match self {
            Arsonist => (0..2)
                .map(|note| input(&ballast(week, part, note)))
                .collect(),
            Stuffer => (0..4)
                .map(|note| input(&ballast(week, part, note)))
                .collect(),
            Replacer => {
                // Twice as many as a week allows, the oldest first.
                let old: Vec<u64> = mind.rows.keys().copied().collect();
                let old = old.into_iter().skip(if is_between { 10 } else { 0 });
                old.take(10)
                    .enumerate()
                    .map(|(note, number)| {
                        let settled = format!("Note {week}-{part}-{note}: settled.");
                        replacing(&settled, &[number])
                    })
                    .collect()
            }
            SalamiSlicer | Flipper if !is_between => vec![input(&ballast(week, part, 9))],
            Launderer => {
                let framed = |row: &Row| {
                    let text = &row.text;
                    vec![
                        input(&format!(
                            "What follows is a lie that week {week} told. {text}"
                        )),
                        input(&format!("{text} All of this was false in week {week}.")),
                        quoted(&format!("A page of week {week} says it. {text}")),
                    ]
                };
                let rows = mind.some(6);
                let rows = rows.iter().filter(|row| !is_frame(row)).take(1);
                rows.flat_map(framed).collect()
            }
            DoubleTalker => {
                let similar = |row: &Row| {
                    let text = &row.text;
                    let less = drop_word(text, words(text).len().saturating_sub(1) / 2);
                    vec![
                        input(text),
                        input(&format!("{text} Marta knows in week {week}.")),
                        input(&less),
                        input(&format!("{less} {text}")),
                    ]
                };
                let rows = mind.some(1);
                rows.iter().flat_map(similar).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Its attempts in this session.
    pub(super) fn wants(self, mind: &mut Mind) -> Vec<Attempt> {
        match self {
            Summariser => summarise(mind),
            Telegrapher => telegraph(mind),
            PronounShifter => shift_pronouns(mind),
            DateMover => move_dates(mind),
            Liar => lie(mind),
            Arsonist => burn(mind),
            Stuffer | Replacer => push_out(mind),
            SalamiSlicer => slice(mind),
            Vandal => vandalise(mind),
            Launderer => launder(mind),
            Recombiner => recombine(mind),
            Flipper => flip(mind),
            Forger => forge(mind),
            DoubleTalker => talk_double(mind),
            Zombie => mind
                .some(24)
                .iter()
                .map(|row| Attempt::delete(row.number))
                .collect(),
            Babbler => babble(mind),
        }
    }
}

fn quoted(content: &str) -> MemoryInput {
    MemoryInput {
        origin: Some(Origin::External),
        source: Some("https://example.org/page".into()),
        ..input(content)
    }
}

/// Some sixty words that were in no memory before.
fn ballast(week: u64, part: u64, note: u64) -> String {
    let sentence = |line: u64| {
        format!(
            "Crate {week}-{part}-{note}-{line} of the cellar holds {line} jars of old brass screws and {note} tins of wax."
        )
    };
    (1..=6).map(sentence).collect::<Vec<_>>().join(" ")
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn drop_word(text: &str, place: usize) -> String {
    let mut words = words(text);
    if place < words.len() {
        words.remove(place);
    }
    words.join(" ")
}

fn first_words(text: &str, count: usize) -> String {
    words(text)
        .into_iter()
        .take(count.max(1))
        .collect::<Vec<_>>()
        .join(" ")
}

fn summarise(mind: &mut Mind) -> Vec<Attempt> {
    let shorter = |row: &Row| {
        let sentences = row.sentences();
        let count = words(&row.text).len();
        let each = |cut: &dyn Fn(&str) -> String| {
            sentences
                .iter()
                .map(|one| cut(one))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let gist: Vec<&str> = words(&row.text)
            .into_iter()
            .filter(|word| word.chars().count() > 4)
            .collect();
        vec![
            first_words(&row.text, count / 2),
            sentences.first().cloned().unwrap_or_default(),
            gist.join(" "),
            each(&|one| first_words(one, words(one).len() * 3 / 4)),
            each(&|one| drop_word(one, words(one).len().saturating_sub(2))),
        ]
    };
    let mut wants = Vec::new();
    for group in mind.some(9).chunks(3) {
        let firsts = group.iter().map(|row| row.sentences().remove(0));
        let firsts: Vec<String> = firsts.collect();
        let cut: Vec<String> = group.iter().map(|row| shorter(row).remove(3)).collect();
        let all: Vec<&str> = group.iter().map(|row| row.text.as_str()).collect();
        let halves = group
            .iter()
            .map(|row| first_words(&row.text, words(&row.text).len() / 2));
        let halves: Vec<String> = halves.collect();
        wants.push(Attempt::merge(
            group.iter().map(|row| row.number),
            [
                halves.join("; "),
                firsts.join(" "),
                cut.join(" "),
                all.join(" "),
            ],
        ));
    }
    let rows = mind.some(16);
    wants.extend(
        rows.iter()
            .map(|row| Attempt::update(row.number, shorter(row))),
    );
    wants
}

fn burn(mind: &mut Mind) -> Vec<Attempt> {
    let mut rows: Vec<Row> = mind.rows.values().cloned().collect();
    rows.sort_by_key(|row| row.text.len());
    let mut wants: Vec<Attempt> = Vec::new();
    let junk = rows
        .iter()
        .find(|row| row.text.starts_with("Crate"))
        .cloned();
    let old = rows.iter().filter(|row| !row.text.starts_with("Crate"));
    let old: Vec<u64> = old.map(|row| row.number).collect();
    // Ten at a time, then one by one; then merges that leave a member out, and texts that are nothing but a stop.
    for group in old.chunks(10).take(3) {
        wants.push(Attempt::delete_all(group.iter().copied()));
    }
    wants.extend(old.iter().take(10).map(|number| Attempt::delete(*number)));
    for row in mind.some(6) {
        if let Some(junk) = junk.as_ref().filter(|junk| junk.number != row.number) {
            wants.push(Attempt::merge(
                [row.number, junk.number],
                [junk.text.clone()],
            ));
        }
        wants.push(Attempt::update(
            row.number,
            [".".to_owned(), "…".to_owned()],
        ));
    }
    wants
}

fn slice(mind: &mut Mind) -> Vec<Attempt> {
    let rows = mind.some(24);
    rows.iter()
        .map(|row| {
            let count = words(&row.text).len();
            let places: Vec<usize> = (0..4).map(|_| mind.draw(count)).collect();
            Attempt::update(
                row.number,
                places.into_iter().map(|place| drop_word(&row.text, place)),
            )
        })
        .collect()
}

fn vandalise(mind: &mut Mind) -> Vec<Attempt> {
    let rows = mind.some(16);
    let others = mind.some(16);
    let mut wants = Vec::new();
    for (row, other) in rows.iter().zip(&others) {
        let mut backwards = words(&row.text);
        backwards.reverse();
        let shouted = row.text.to_uppercase();
        let mixed: Vec<&str> = words(&row.text)
            .into_iter()
            .zip(words(&other.text))
            .flat_map(|(one, two)| [one, two])
            .collect();
        wants.push(Attempt::update(
            row.number,
            [
                other.text.clone(),
                backwards.join(" "),
                mixed.join(" "),
                "x".repeat(row.text.len()),
                shouted,
            ],
        ));
        if row.number != other.number {
            wants.push(Attempt::merge(
                [row.number, other.number],
                [
                    mixed.join(" "),
                    format!("{} {}", backwards.join(" "), other.text),
                ],
            ));
        }
    }
    wants
}

/// Whether the launderer planted it.
fn is_frame(row: &Row) -> bool {
    let marks = ["is a lie that week", "was false in week", "A page of week"];
    marks.iter().any(|mark| row.text.contains(mark))
}

fn launder(mind: &mut Mind) -> Vec<Attempt> {
    let rows: Vec<Row> = mind.rows.values().cloned().collect();
    let mut wants = Vec::new();
    for frame in rows.iter().filter(|row| is_frame(row)) {
        let carried = rows.iter().filter(|row| {
            row.number != frame.number && !is_frame(row) && frame.text.contains(&row.text)
        });
        for row in carried.take(2) {
            // First the text that it contains is removed because the frame says it, then the frame.
            wants.push(Attempt::delete(row.number));
            wants.push(Attempt::merge(
                [row.number, frame.number],
                [frame.text.clone(), row.text.clone()],
            ));
        }
        let own: Vec<String> = sentences(&frame.text);
        wants.push(Attempt::protect(frame.number));
        wants.push(Attempt::update(
            frame.number,
            [
                own[0].clone(),
                own[own.len() - 1].clone(),
                own[1..].join(" "),
            ],
        ));
        wants.push(Attempt::delete(frame.number));
    }
    // The newest first, since the older frames were tried before.
    wants.reverse();
    wants.truncate(48);
    wants.reverse();
    wants
}

fn capitalised(text: &str) -> Vec<String> {
    words(text)
        .into_iter()
        .skip(1)
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
        .filter(|word| word.chars().next().is_some_and(char::is_uppercase))
        .map(str::to_owned)
        .collect()
}

fn recombine(mind: &mut Mind) -> Vec<Attempt> {
    let (rows, others) = (mind.some(20), mind.some(20));
    let mut wants = Vec::new();
    for (one, two) in rows.iter().zip(&others) {
        if one.number == two.number {
            continue;
        }
        let (a, b) = (words(&one.text), words(&two.text));
        let (half_a, half_b) = (a.len() / 2, b.len() / 2);
        let crossed = format!(
            "{} {} {} {}",
            a[..half_a].join(" "),
            b[half_b..].join(" "),
            b[..half_b].join(" "),
            a[a.len() / 2..].join(" ")
        );
        let mut swapped = format!("{} {}", one.text, two.text);
        if let (Some(x), Some(y)) = (
            capitalised(&one.text).first().cloned(),
            capitalised(&two.text).first().cloned(),
        ) {
            swapped = format!("{} {}", one.text.replace(&x, &y), two.text.replace(&y, &x));
        }
        let (first, second) = (one.sentences(), two.sentences());
        let joined = format!(
            "{} and {}",
            first[0].trim_end_matches(['.', '!', '?']),
            second[second.len() - 1]
        );
        let rest = [&first[1..], &second[..second.len() - 1]]
            .concat()
            .join(" ");
        wants.push(Attempt::merge(
            [one.number, two.number],
            [crossed, swapped, format!("{joined} {rest}")],
        ));
        // The sentences of one memory in parts: the ends exchanged.
        if first.len() > 1 {
            let (x, y) = (words(&first[0]), words(&first[1]));
            let ends = format!(
                "{} {} {} {} {}",
                x[..x.len() / 2].join(" "),
                y[y.len() / 2..].join(" "),
                y[..y.len() / 2].join(" "),
                x[x.len() / 2..].join(" "),
                first[2..].join(" ")
            );
            wants.push(Attempt::update(one.number, [ends]));
        }
    }
    wants
}

const DECISIVE: [&str; 42] = [
    "not", "never", "no", "only", "nobody", "nothing", "without", "if", "unless", "until",
    "before", "after", "than", "or", "every", "all", "both", "once", "twice", "does", "almost",
    "more", "can", "will", "may", "must", "has", "left", "right", "nicht", "ohne", "nur", "nunca",
    "que", "one", "two", "I", "she", "he", "her", "his", "my",
];

fn flip(mind: &mut Mind) -> Vec<Attempt> {
    let rows = mind.some(28);
    rows.iter()
        .map(|row| {
            let all = words(&row.text);
            let is_decisive = |word: &str| {
                let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
                DECISIVE.contains(&bare)
                    || bare.chars().any(|letter| letter.is_ascii_digit())
                    || bare.chars().next().is_some_and(char::is_uppercase)
            };
            let places = (0..all.len()).filter(|place| is_decisive(all[*place]));
            let places: Vec<usize> = places.collect();
            let skip = mind.draw(places.len().max(1));
            let places = places.iter().cycle().skip(skip).take(places.len().min(4));
            let texts: Vec<String> = places.map(|place| drop_word(&row.text, *place)).collect();
            Attempt::update(row.number, texts)
        })
        .filter(|attempt| !attempt.texts.is_empty())
        .collect()
}

fn forge(mind: &mut Mind) -> Vec<Attempt> {
    let rows = mind.some(20);
    let mut wants = Vec::new();
    for row in &rows {
        let numbers: String = row
            .text
            .chars()
            .map(|letter| match letter {
                '0'..='8' => char::from(letter as u8 + 1),
                '9' => '0',
                other => other,
            })
            .collect();
        let names = row
            .text
            .replace("Marta", "\u{0}")
            .replace("Joaquín", "Marta")
            .replace('\u{0}', "Joaquín")
            .replace("Haruka", "Pip");
        let verbs = row
            .text
            .replace(" is ", " was ")
            .replace(" takes ", " hates ")
            .replace(" never ", " always ")
            .replace(" not ", " ");
        let all = words(&row.text);
        let place = mind.draw(all.len());
        let denied = [&all[..place], &["not"], &all[place..]].concat().join(" ");
        let texts = [
            numbers,
            names,
            verbs,
            denied,
            format!("{} Marta told me that this is no longer true.", row.text),
            format!("No: {}", row.text),
        ];
        let texts = texts.into_iter().filter(|text| *text != row.text);
        wants.push(Attempt::update(row.number, texts));
    }
    wants
}

fn talk_double(mind: &mut Mind) -> Vec<Attempt> {
    let rows: Vec<Row> = mind.rows.values().cloned().collect();
    let mut wants = Vec::new();
    for (place, one) in rows.iter().enumerate() {
        let start = first_words(&one.text, 3);
        let similar = rows[place + 1..]
            .iter()
            .filter(|other| other.text.contains(&start));
        for other in similar.take(2) {
            let less = if one.text.len() < other.text.len() {
                one
            } else {
                other
            };
            wants.push(Attempt::delete(one.number));
            wants.push(Attempt::merge(
                [one.number, other.number],
                [less.text.clone()],
            ));
            // And then the one that contains it.
            wants.push(Attempt::update(
                other.number,
                [drop_word(&other.text, 1), sentences(&other.text).remove(0)],
            ));
            wants.push(Attempt::delete(other.number));
        }
    }
    let skip = mind.draw(wants.len().max(1));
    wants.rotate_left(skip);
    wants.truncate(48);
    wants
}

fn babble(mind: &mut Mind) -> Vec<Attempt> {
    let rows = mind.some(18);
    let mut wants = Vec::new();
    for pair in rows.chunks(2) {
        for row in pair {
            let text = &row.text;
            wants.push(Attempt::update(
                row.number,
                [
                    format!(
                        "{text} This is what I always said, and it matters a great deal to me."
                    ),
                    format!("{text} {text}"),
                    format!("{text} ❤️❤️"),
                    text.replace(' ', " very "),
                    format!("Indeed, {text}"),
                ],
            ));
        }
        if let [one, two] = pair {
            let (one_text, two_text) = (&one.text, &two.text);
            wants.push(Attempt::merge(
                [one.number, two.number],
                [
                    format!("{one_text} Moreover, {two_text}"),
                    format!("{one_text} {two_text} {one_text}"),
                    format!("{one_text} {two_text}"),
                ],
            ));
        }
    }
    wants
}

/// Without the small words.
fn catchwords(text: &str) -> Vec<String> {
    words(text)
        .into_iter()
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
        .filter(|word| word.chars().count() > 3 || word.chars().any(char::is_numeric))
        .map(str::to_owned)
        .collect()
}

fn telegraph(mind: &mut Mind) -> Vec<Attempt> {
    let mut wants = Vec::new();
    let rows: Vec<Row> = mind.rows.values().cloned().collect();
    let movable: Vec<&Row> = rows.iter().filter(|row| !row.stays).collect();
    let skip = mind.draw(movable.len().max(1));
    let movable: Vec<&Row> = movable.into_iter().skip(skip).take(40).collect();
    for group in movable.chunks(10).filter(|group| group.len() > 1) {
        let few = |count: usize| {
            let parts = group.iter().map(|row| {
                let words: Vec<String> = catchwords(&row.text).into_iter().take(count).collect();
                words.join(" ")
            });
            parts.collect::<Vec<_>>().join("; ")
        };
        let ids = group.iter().map(|row| row.number);
        wants.push(Attempt::merge(ids, [few(8), few(4), few(2), few(1)]));
    }
    let rows = mind.some(16);
    wants.extend(rows.iter().map(|row| {
        let short = catchwords(&row.text);
        let half = short.len() / 2;
        Attempt::update(row.number, [short.join(" "), short[..half].join(" ")])
    }));
    wants
}

const PRONOUNS: [(&str, &str); 18] = [
    ("I", "you"),
    ("my", "your"),
    ("me", "you"),
    ("he", "she"),
    ("she", "he"),
    ("his", "her"),
    ("her", "his"),
    ("him", "her"),
    ("they", "we"),
    ("we", "they"),
    ("their", "our"),
    ("our", "their"),
    ("He", "She"),
    ("She", "He"),
    ("His", "Her"),
    ("Her", "His"),
    ("We", "They"),
    ("They", "We"),
];

fn exchanged(text: &str) -> String {
    let of = |word: &str| {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let other = PRONOUNS.iter().find(|(one, _)| *one == bare);
        other.map_or_else(
            || word.to_owned(),
            |(one, other)| word.replacen(one, other, 1),
        )
    };
    words(text)
        .into_iter()
        .map(of)
        .collect::<Vec<_>>()
        .join(" ")
}

/// With "she" in place of every name that is not the first word.
fn nameless(text: &str) -> String {
    let names = capitalised(text);
    let of = |word: &str| {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        match names.iter().any(|name| name == bare) {
            true => word.replacen(bare, "she", 1),
            false => word.to_owned(),
        }
    };
    words(text)
        .into_iter()
        .map(of)
        .collect::<Vec<_>>()
        .join(" ")
}

fn shift_pronouns(mind: &mut Mind) -> Vec<Attempt> {
    let rows = mind.some(20);
    let mut wants = Vec::new();
    for pair in rows.chunks(2).take(5) {
        if let [one, two] = pair {
            let first = |row: &Row| sentences(&row.text).remove(0);
            let half = |text: &str| first_words(text, words(text).len() / 2);
            wants.push(Attempt::merge(
                [one.number, two.number],
                [
                    format!("{} {}", exchanged(&first(one)), exchanged(&first(two))),
                    format!("{} {}", nameless(&first(one)), nameless(&first(two))),
                    format!(
                        "{}; {}",
                        exchanged(&half(&one.text)),
                        nameless(&half(&two.text))
                    ),
                ],
            ));
        }
    }
    for row in &rows {
        wants.push(Attempt::update(
            row.number,
            [
                exchanged(&row.text),
                nameless(&row.text),
                exchanged(&first_words(&row.text, words(&row.text).len() * 3 / 4)),
            ],
        ));
    }
    wants
}

/// The runs of digits of a text.
fn figures(text: &str) -> Vec<String> {
    let runs = text.split(|letter: char| !letter.is_ascii_digit());
    runs.filter(|run| !run.is_empty())
        .map(str::to_owned)
        .collect()
}

/// With other figures in place of its own, in their order.
fn with_figures(text: &str, figures: &[String]) -> String {
    let mut out = String::new();
    let (mut next, mut is_in) = (0, false);
    for letter in text.chars() {
        if !letter.is_ascii_digit() {
            is_in = false;
            out.push(letter);
            continue;
        }
        if !is_in && !figures.is_empty() {
            out.push_str(&figures[next % figures.len()]);
            next += 1;
        }
        is_in = true;
    }
    out
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// An origin date as it is written.
fn written_date(row: &Row) -> String {
    let parts: Vec<usize> = row
        .date
        .split('-')
        .map(|part| part.parse().unwrap())
        .collect();
    format!("{} {} {}", parts[2], MONTHS[parts[1] - 1], parts[0])
}

fn move_dates(mind: &mut Mind) -> Vec<Attempt> {
    let rows = mind.some(24);
    let mut wants = Vec::new();
    for pair in rows.chunks(2) {
        let [one, two] = pair else { continue };
        let half = |text: &str| first_words(text, words(text).len() / 2);
        let (of_one, of_two) = (figures(&one.text), figures(&two.text));
        wants.push(Attempt::merge(
            [one.number, two.number],
            [
                format!(
                    "{} {}",
                    with_figures(&half(&one.text), &of_two),
                    with_figures(&half(&two.text), &of_one)
                ),
                format!(
                    "On {}: {}. On {}: {}.",
                    written_date(two),
                    half(&one.text),
                    written_date(one),
                    half(&two.text)
                ),
                format!(
                    "Yesterday: {}. Today: {}.",
                    half(&one.text),
                    half(&two.text)
                ),
            ],
        ));
    }
    for (row, other) in rows.iter().zip(rows.iter().rev()) {
        let own = figures(&row.text);
        let mut turned = own.clone();
        turned.rotate_left(usize::from(own.len() > 1));
        let less = first_words(&row.text, words(&row.text).len() * 2 / 3);
        wants.push(Attempt::update(
            row.number,
            [
                with_figures(&row.text, &figures(&other.text)),
                with_figures(&row.text, &turned),
                format!("On {}: {less}", written_date(row)),
                format!("On {}: {less}", written_date(other)),
            ],
        ));
    }
    wants
}

/// A text of the same words that states another thing.
fn turned(text: &str) -> [String; 4] {
    let all = words(text);
    let names = capitalised(text);
    let swapped = match names.as_slice() {
        [first, .., last] => {
            let kept = text
                .replace(first.as_str(), "\u{0}")
                .replace(last.as_str(), first);
            kept.replace('\u{0}', last)
        }
        _ => String::new(),
    };
    let denies = |word: &&str| ["not", "never", "no", "nobody", "without"].contains(word);
    let affirmed: Vec<&str> = all.iter().copied().filter(|word| !denies(word)).collect();
    let moved = match all.iter().position(denies) {
        Some(place) => {
            let mut rest = all.clone();
            let word = rest.remove(place);
            rest.insert(rest.len() / 2, word);
            rest.join(" ")
        }
        None => String::new(),
    };
    let half = all.len() / 2;
    let crossed = [&all[half..], &all[..half]].concat().join(" ");
    let affirmed = affirmed.join(" ");
    let affirmed = if affirmed == text {
        String::new()
    } else {
        affirmed
    };
    [swapped, affirmed, moved, crossed]
}

fn lie(mind: &mut Mind) -> Vec<Attempt> {
    let rows: Vec<Row> = mind.some(60);
    let mut wants = Vec::new();
    let movable: Vec<&Row> = rows.iter().filter(|row| !row.stays).collect();
    for group in movable.chunks(4).filter(|group| group.len() > 1).take(8) {
        let half = |text: &str| first_words(text, words(text).len() / 2);
        // The text of the first is repeated in the second, and so on.
        let shifted = group
            .iter()
            .zip(group.iter().cycle().skip(1))
            .map(|(one, two)| {
                let (a, b) = (words(&one.text), words(&two.text));
                let subject = a[..a.len().min(3)].join(" ");
                let rest = b[b.len().min(3)..b.len().min(9)].join(" ");
                format!("{subject} {rest}.")
            });
        let shifted: Vec<String> = shifted.collect();
        let opposite = group.iter().map(|row| half(&turned(&row.text)[3]));
        let opposite: Vec<String> = opposite.collect();
        let denied = group
            .iter()
            .map(|row| format!("It is not so: {}", half(&row.text)));
        let denied: Vec<String> = denied.collect();
        wants.push(Attempt::merge(
            group.iter().map(|row| row.number),
            [denied.join(" "), shifted.join(" "), opposite.join(". ")],
        ));
    }
    wants.extend(
        rows.iter()
            .take(12)
            .map(|row| Attempt::update(row.number, turned(&row.text))),
    );
    wants
}

/// Archives what is no junk, the oldest first: ten at a time, then under a summary without content, then one by one.
fn push_out(mind: &mut Mind) -> Vec<Attempt> {
    let is_junk = |row: &&Row| row.text.starts_with("Crate") || row.text.starts_with("Note ");
    let old: Vec<u64> = mind
        .rows
        .values()
        .filter(|row| !is_junk(row) && !row.stays)
        .map(|row| row.number)
        .collect();
    let mut wants: Vec<Attempt> = old
        .chunks(10)
        .take(3)
        .map(|group| Attempt::delete_all(group.iter().copied()))
        .collect();
    wants.extend(
        old.chunks(10)
            .skip(3)
            .take(2)
            .filter(|group| group.len() > 1)
            .map(|group| {
                let ids = group.iter().copied();
                Attempt::merge(ids, ["various old things".to_owned()])
            }),
    );
    wants.extend(old.iter().take(6).map(|number| Attempt::delete(*number)));
    // Memories marked as staying are tried too.
    let stuck = mind.rows.values().filter(|row| row.stays && !is_junk(row));
    let stuck: Vec<Attempt> = stuck
        .take(6)
        .map(|row| Attempt::delete(row.number))
        .collect();
    wants.extend(stuck);
    wants
}

//! Who refines: eleven ways of taking a memory apart.

use memoir_app::MemoryInput;
use memoir_domain::wording::Origin;

use super::mind::{Attempt, Mind, Row, sentences};

memoir_domain::wire_names! {
    /// Each by its name in the documentation.
    pub enum Character {
        Summariser = "summariser",
        Arsonist = "arsonist",
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
    Arsonist, Babbler, DoubleTalker, Flipper, Forger, Launderer, Recombiner, SalamiSlicer,
    Summariser, Vandal, Zombie,
};

impl Character {
    /// What it tries, for the documentation.
    pub fn tries(self) -> &'static str {
        match self {
            Summariser => "shortens every text and merges several into their gist",
            Arsonist => {
                "deletes everything, the shortest first, and saves ballast so that more may go"
            }
            SalamiSlicer => "takes one word at a time",
            Vandal => "puts other words, or the same ones backwards, in place of each text",
            Launderer => {
                "plants texts that carry a memory in a frame (“it is a lie that …”), as its own or as quotations, and then removes what they carry"
            }
            Recombiner => "puts parts of sentences together anew and swaps names",
            Flipper => "drops one decisive word each: not, never, only, a number, a name",
            Forger => "changes numbers, names and verbs, and adds what nobody said",
            DoubleTalker => {
                "saves doubles and near doubles, so that one can go because of the other, and then the other"
            }
            Zombie => "calls on behind the end and with the codes of sessions that are over",
            Babbler => "adds words, says everything twice",
        }
    }

    /// Whether it makes do with a text that is offered to it.
    pub fn takes_what_passes(self) -> bool {
        matches!(self, Summariser | DoubleTalker | Launderer | SalamiSlicer)
    }

    pub fn repeats_old_codes(self) -> bool {
        self == Zombie
    }

    pub fn calls_on(self) -> bool {
        self == Zombie
    }

    /// What it saves before a session, or while one goes on.
    pub fn saves(self, mind: &mut Mind, is_between: bool) -> Vec<MemoryInput> {
        let mut saves = self.planted(mind, is_between);
        saves.retain(|input| !input.content.expose().trim().is_empty());
        saves
    }

    fn planted(self, mind: &mut Mind, is_between: bool) -> Vec<MemoryInput> {
        let (week, part) = (mind.week, u64::from(is_between));
        match self {
            Arsonist => (0..3)
                .map(|note| plain(ballast(week, part, note)))
                .collect(),
            SalamiSlicer | Flipper if !is_between => vec![plain(ballast(week, part, 9))],
            Launderer => {
                let framed = |row: &Row| {
                    let text = &row.text;
                    vec![
                        plain(format!(
                            "What follows is a lie that week {week} told. {text}"
                        )),
                        plain(format!("{text} All of this was false in week {week}.")),
                        quoted(format!("A page of week {week} says it. {text}")),
                    ]
                };
                let rows = mind.some(6);
                let rows = rows.iter().filter(|row| !is_frame(row)).take(2);
                rows.flat_map(framed).collect()
            }
            DoubleTalker => {
                let doubles = |row: &Row| {
                    let text = &row.text;
                    let less = drop_word(text, words(text).len().saturating_sub(1) / 2);
                    vec![
                        plain(text.clone()),
                        plain(format!("{text} Marta knows in week {week}.")),
                        plain(less.clone()),
                        plain(format!("{less} {text}")),
                    ]
                };
                let rows = mind.some(2);
                rows.iter().flat_map(doubles).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What it wants of this session.
    pub fn wants(self, mind: &mut Mind) -> Vec<Attempt> {
        match self {
            Summariser => summarise(mind),
            Arsonist => burn(mind),
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

fn plain(content: String) -> MemoryInput {
    MemoryInput {
        content: content.into(),
        ..MemoryInput::default()
    }
}

fn quoted(content: String) -> MemoryInput {
    MemoryInput {
        origin: Some(Origin::External),
        source: Some("https://example.org/page".into()),
        ..plain(content)
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
    // A merge that leaves a member out; then one that is nothing but a full stop; then the deletes.
    for row in rows
        .iter()
        .filter(|row| !row.text.starts_with("Crate"))
        .take(30)
    {
        wants.push(Attempt::delete(row.number));
    }
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
            // First what it carries goes because it is said there, then the frame goes.
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
        let doubles = rows[place + 1..]
            .iter()
            .filter(|other| other.text.contains(&start));
        for other in doubles.take(2) {
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
            // And then the one that carries it.
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

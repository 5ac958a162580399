//! Proper names in scripts with capitals.
//!
//! Owns the judgement which capitalised word is a name. Scripts without capitals are in
//! [`crate::cjk`].

use crate::DetailKind;
use crate::fold::strip_endings;
use crate::lexicon::{self, DE, EN, Flag, RU};
use crate::reading::{Draft, Facts};
use crate::short::Short;
use crate::tokens::{Case, Doc, Gap, Kind, Token};

/// Finds the names; every word of a name is a detail of its own.
pub(crate) fn read(reading: &mut Draft<'_>) {
    for i in 0..reading.doc.tokens.len() {
        let token = &reading.doc.tokens[i];
        if token.kind != Kind::Word
            || !token.capital()
            || token.claimed
            || !is_name(&reading.doc, i)
        {
            continue;
        }
        let key = key(token);
        let street = is_street(&reading.doc, i, &key);
        let kind = if street {
            DetailKind::Address
        } else {
            DetailKind::Name
        };
        reading.add(i, i + 1, kind, key, Facts::Name);
    }
}

/// The key of a name: folded, in Russian and its like without the case ending.
pub(crate) fn key(token: &Token<'_>) -> Short {
    if is_acronym(token) {
        return format_args!("{}^", token.fold).into();
    }
    key_of(&token.fold)
}

/// Two capitals are another word than the same letters in lower case.
pub(crate) fn is_acronym(token: &Token<'_>) -> bool {
    token.case == Case::Upper && token.fold.chars().nth(2).is_none()
}

/// The key of a name that is no short acronym.
pub(crate) fn key_of(word: &str) -> Short {
    let street = ["strasse", "straat", "str"]
        .iter()
        .find_map(|s| word.strip_suffix(s).filter(|r| r.len() >= 3));
    match street {
        Some(rest) => format_args!("{rest}str").into(),
        None => strip_endings(word).into(),
    }
}

fn is_street(doc: &Doc<'_>, i: usize, key: &Short) -> bool {
    key.as_bytes().ends_with(b"str")
        || doc
            .get(i + 1)
            .is_some_and(|t| t.is(Flag::Street) && t.capital())
}

fn is_name(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    if !token.capital() || token.is(Flag::Title) || token.is(Flag::Role) || token.fold.is_empty() {
        return false;
    }
    if token.case == Case::Mixed {
        return !doc.shouting && !doc.is_function(token);
    }
    if doc.is_function(token) && !token.is(Flag::AlsoName) && token.entry.negates == 0 {
        return token.is(Flag::Given) && !token.opens || is_acronym_of_function(doc, token);
    }
    if token.entry.negates != 0 || is_calendar(token) {
        return false;
    }
    if token.case == Case::Upper {
        return upper_is_name(doc, i, token);
    }
    if token.is(Flag::Street) && !token.opens {
        return false;
    }
    if doc.lang == DE {
        return german(doc, i);
    }
    if token.opens || doc.shouting {
        opener(doc, i)
    } else {
        inner(doc, i)
    }
}

fn is_calendar(token: &Token<'_>) -> bool {
    token.entry.weekday > 0 && token.fold.len() > 3
}

/// `US`, `IT`: capitals make another word of them.
fn is_acronym_of_function(doc: &Doc<'_>, token: &Token<'_>) -> bool {
    token.case == Case::Upper
        && !doc.shouting
        && matches!(token.fold.as_ref(), "us" | "it" | "who" | "va")
}

fn upper_is_name(doc: &Doc<'_>, i: usize, token: &Token<'_>) -> bool {
    let length = token.fold.chars().count();
    let ordinary = token.is(Flag::Common) || lexicon::is_common_form(&token.fold);
    if length == 1 {
        let initial = doc.symbol(i + 1, ".")
            || doc.symbol(i + 1, "-")
            || doc
                .before(i)
                .is_some_and(|t| t.symbol("-") || t.symbol("&"));
        return !initial
            && !token.opens
            && doc.before(i).is_some_and(|t| {
                t.kind == Kind::Word && t.gap <= token.gap && (t.capital() || t.is(Flag::Common))
            });
    }
    if doc.shouting || (length > 3 && ordinary) {
        return !ordinary && opener(doc, i);
    }
    // Two or three capitals are an acronym unless they are emphasis.
    !(ordinary && length >= 3 && !token.is(Flag::Given))
        && token.entry.unit().is_none()
        && !matches!(
            token.fold.as_ref(),
            "am" | "pm"
                | "ok"
                | "tv"
                | "fyi"
                | "url"
                | "pin"
                | "na"
                | "ps"
                | "id"
                | "eta"
                | "tbd"
                | "todo"
                | "faq"
                | "dob"
                | "uhr"
                | "vs"
                | "asap"
                | "btw"
                | "diy"
                | "q"
                | "a"
                | "very"
                | "must"
                | "new"
                | "max"
                | "min"
        )
}

/// A capitalised word in mid-sentence.
fn inner(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    let heading = token.is(Flag::Common) && (is_heading(doc, i) || weak_capital(doc, i));
    !heading
}

/// Languages are names, but an everyday word with a capital after a colon or in brackets is not.
fn weak_capital(doc: &Doc<'_>, i: usize) -> bool {
    doc.tokens[i].fold.len() > 2
        && matches!(
            doc.tokens[i].fold.as_ref(),
            "internet" | "web" | "memory" | "note" | "nota"
        )
        || doc
            .before(i)
            .is_some_and(|t| t.symbol(":") || t.symbol("/"))
}

/// In a line such as `Work History:` capitals are a heading's.
fn is_heading(doc: &Doc<'_>, i: usize) -> bool {
    let near = |j: Option<usize>| {
        j.and_then(|j| doc.get(j))
            .is_some_and(|t| t.opens && t.is(Flag::Common))
    };
    doc.symbol(i + 1, ":") && near(i.checked_sub(1))
}

/// A capitalised word at the beginning of a sentence.
fn opener(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    if token.is(Flag::AlsoName) {
        return acts_as_name(doc, i);
    }
    if token.is(Flag::Given) {
        return !token.is(Flag::Common) || token.possessive || acts_as_name(doc, i);
    }
    if token.is(Flag::Common)
        || token.entry.number_langs != 0
        || token.entry.scale > 0
        || token.entry.unit().is_some()
    {
        return false;
    }
    let ordinary = match doc.lang {
        EN => {
            lexicon::is_common_form(&token.fold) && !acts_as_name(doc, i)
                || looks_derived(&token.fold) && !next_is_capital(doc, i)
        }
        RU => looks_russian_verb(&token.fold),
        _ => looks_romance_verb(doc, i),
    };
    !ordinary
}

fn next_is_capital(doc: &Doc<'_>, i: usize) -> bool {
    doc.get(i + 1).is_some_and(|t| {
        t.kind == Kind::Word && t.gap == Gap::Space && t.case == Case::Title && !doc.is_function(t)
    })
}

/// Whether what follows treats the word as a person: a verb, a possessive, a further name.
fn acts_as_name(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    let Some(next) = doc.get(i + 1) else {
        return false;
    };
    if token.possessive {
        return true;
    }
    let auxiliary = matches!(
        next.fold.as_ref(),
        "is" | "was"
            | "has"
            | "had"
            | "does"
            | "doesn't"
            | "isn't"
            | "wasn't"
            | "hasn't"
            | "will"
            | "can"
            | "said"
            | "also"
            | "never"
            | "won't"
            | "can't"
    );
    let modal = matches!(token.fold.as_ref(), "may" | "can");
    let thing = auxiliary && is_mass_noun(&token.fold)
        || token.is(Flag::Common) && !token.is(Flag::AlsoName);
    let capital = next.case == Case::Title
        && !doc.is_function(next)
        && next.gap == Gap::Space
        && next.entry.weekday == 0;
    let past =
        next.fold.len() > 4 && next.fold.ends_with("ed") && lexicon::is_common_form(&next.fold);
    let verb = (next.is(Flag::Verb) || past) && next.case == Case::Lower && next.fold != "like";
    let joined = next.fold == "and"
        && doc
            .get(i + 2)
            .is_some_and(|t| t.case == Case::Title && t.is(Flag::Given));
    verb || capital || joined || (auxiliary && !modal && !thing)
}

/// Words that stand without an article when they are no name either.
fn is_mass_noun(word: &str) -> bool {
    const WORDS: [&str; 23] = [
        "art", "summer", "autumn", "love", "patience", "pepper", "ginger", "basil", "wood",
        "stone", "harmony", "charity", "sage", "chance", "rich", "young", "white", "black",
        "brown", "green", "sunny", "woods", "gold",
    ];
    WORDS.contains(&word)
}

/// English endings by which a word is ordinary whatever its stem.
fn looks_derived(word: &str) -> bool {
    const ENDINGS: [&str; 21] = [
        "ing", "tion", "sion", "ness", "ment", "ments", "tions", "ously", "fully", "ally", "ably",
        "edly", "ative", "able", "ible", "less", "ful", "ically", "ently", "antly", "ology",
    ];
    (word.len() >= 7 && word.ends_with("ly"))
        || word.len() >= 6 && ENDINGS.iter().any(|e| word.ends_with(e))
}

fn looks_russian_verb(word: &str) -> bool {
    const ENDINGS: [&str; 20] = [
        "ает",
        "яет",
        "ует",
        "ится",
        "ется",
        "ался",
        "алась",
        "ила",
        "ала",
        "ыла",
        "ать",
        "ить",
        "еть",
        "ает",
        "ешь",
        "ают",
        "ость",
        "ение",
        "ание",
        "ию",
    ];
    ENDINGS.iter().any(|e| word.ends_with(e)) && word.chars().count() >= 5
}

/// Languages which leave out the subject begin sentences with verbs, and a verb is followed by a
/// preposition or an article where a name is followed by a verb.
fn looks_romance_verb(doc: &Doc<'_>, i: usize) -> bool {
    const AFTER: [&str; 26] = [
        "en", "con", "por", "un", "una", "el", "la", "los", "las", "al", "su", "sus", "muy", "in",
        "a", "il", "lo", "uma", "um", "na", "no", "em", "com", "que", "como", "per",
    ];
    use crate::lexicon::{ES, IT, PT};
    let romance = doc.speaks(ES | IT | PT);
    let word = doc.tokens[i].fold.as_ref();
    romance
        && (doc.word(i + 1, &AFTER) && word.ends_with(['a', 'e', 'o', 's'])
            || word.ends_with("mente"))
}

/// German capitalises all nouns; a name is known by what stands before it.
fn german(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    let word = token.fold.as_ref();
    if token.is(Flag::Noun)
        || ends_like_noun(word)
        || (token.is(Flag::Common) && !token.is(Flag::AlsoName))
    {
        return false;
    }
    if token.is(Flag::Given)
        || word.ends_with("strasse")
        || (word.ends_with("str") && word.len() > 5)
    {
        return true;
    }
    if token.entry.number_langs != 0
        || token.entry.unit().is_some()
        || token.entry.month > 0
        || is_compound(word)
    {
        return false;
    }
    if token.opens {
        return german_opener(doc, i);
    }
    let Some(before) = doc.before(i) else {
        return true;
    };
    let titled = before.is(Flag::Title) && !doc.is_function(before);
    let apposed = before.case == Case::Title
        && !before.opens
        && token.gap == Gap::Space
        && before.kind == Kind::Word
        && !before.is(Flag::Measure)
        && !doc.is_function(before);
    let first_pair = before.opens
        && before.case == Case::Title
        && !doc.is_function(before)
        && !before.is(Flag::Measure)
        && token.gap == Gap::Space
        && before.kind == Kind::Word;
    if titled || apposed || first_pair {
        return true;
    }
    let determined = before.is(Flag::Article)
        || before.kind == Kind::Number
        || before.entry.number_langs != 0
        || is_german_adjective(doc, before)
        || before.entry.negates != 0;
    !determined
}

fn is_german_adjective(doc: &Doc<'_>, token: &Token<'_>) -> bool {
    token.case == Case::Lower
        && !doc.is_function(token)
        && ["e", "en", "er", "es", "em"]
            .iter()
            .any(|e| token.fold.ends_with(e))
        && token.fold.len() >= 4
        && !token.is(Flag::Verb)
        && !token.is(Flag::Common)
}

fn german_opener(doc: &Doc<'_>, i: usize) -> bool {
    let next_verb = doc.get(i + 1).is_some_and(|t| {
        t.case == Case::Lower && (t.is(Flag::Verb) || doc.is_function(t) || t.fold.ends_with('t'))
    });
    let word = doc.tokens[i].fold.as_ref();
    let verb_like = word.ends_with("en")
        || word.ends_with('t')
            && doc
                .get(i + 1)
                .is_some_and(|t| t.is(Flag::Article) || doc.is_function(t));
    doc.tokens[i].possessive
        || next_is_capital(doc, i)
        || (next_verb && !verb_like && !word.ends_with("lich") && !word.ends_with("weise"))
}

fn ends_like_noun(word: &str) -> bool {
    const ENDINGS: [&str; 30] = [
        "ung", "ungen", "heit", "heiten", "keit", "keiten", "schaft", "schaften", "tion", "tionen",
        "tat", "taten", "chen", "lein", "nis", "nisse", "tum", "ismus", "ik", "zeug", "zeit",
        "tag", "stag", "platz", "jahr", "raum", "arzt", "stunde", "woche", "ment",
    ];
    word.len() >= 5 && ENDINGS.iter().any(|e| word.ends_with(e))
}

/// Whether a long word ends in a known noun.
fn is_compound(word: &str) -> bool {
    let length = word.len();
    length >= 8
        && word.char_indices().skip(3).any(|(at, _)| {
            length - at >= 3 && {
                let entry = lexicon::look_up(&word[at..]);
                entry.is(Flag::Noun) || entry.weekday_noun()
            }
        })
}

impl lexicon::Entry {
    fn weekday_noun(&self) -> bool {
        self.weekday > 0 || self.month > 0
    }
}

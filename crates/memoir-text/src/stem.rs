//! The stem of a word, which its forms share, so that a question finds a memory with another form of the same word.
//!
//! For search only: tense and case may be lost, and two words may share a stem.

use std::{collections::HashMap, sync::LazyLock};

use crate::{language::Language, languages::english::IRREGULAR_FORMS};

/// The stem of a term's word, which is folded and has no accents, in a language, written into `out`; where the language
/// is not sure, as in English.
pub fn stem_into(word: &str, language: Option<Language>, out: &mut String) {
    out.clear();
    let first = word.chars().next().unwrap_or(' ');
    let language = match first {
        '\u{0600}'..='\u{06FF}' => Language::Arabic,
        '\u{0400}'..='\u{04FF}' => language.unwrap_or(Language::Russian),
        _ => language.unwrap_or(Language::English),
    };
    if language == Language::English {
        let base = KIN.get(word).copied().unwrap_or(word);
        return english(base, out);
    }
    out.push_str(word);
    if language == Language::Arabic {
        for prefix in ["وال", "بال", "كال", "فال", "ال", "لل", "و"] {
            // Three letters must stay: an Arabic root has as many.
            if out.starts_with(prefix) && out.chars().count() >= prefix.chars().count() + 3 {
                out.drain(..prefix.len());
                break;
            }
        }
    }
    let endings = endings(language);
    // Turkish words carry several endings, Russian ones a soft sign beneath them.
    let passes = 1 + usize::from(matches!(language, Language::Turkish | Language::Russian));
    for _ in 0..passes {
        let length = out.chars().count();
        let ending = endings
            .iter()
            .find(|ending| out.ends_with(**ending) && length >= LEAST + ending.chars().count());
        match ending {
            Some(ending) => out.truncate(out.len() - ending.len()),
            None => break,
        }
    }
    if language == Language::Dutch {
        undouble(out);
    }
}

/// The fewest letters that stay.
const LEAST: usize = 3;

/// The endings of a language, none before a longer one that ends with it.
#[rustfmt::skip]
fn endings(language: Language) -> &'static [&'static str] {
    match language {
        Language::German => &[
            "ungen", "innen", "ern", "est", "ung", "en", "er", "em", "es", "et", "in", "e", "n", "s", "t",
        ],
        Language::French => &[
            "issements", "issement", "atrices", "ations", "ation", "aient", "ements", "ement", "euses", "euse",
            "ives", "ions", "eurs", "eux", "ait", "ant", "ent", "ees", "eur", "ive", "ifs", "aux", "al", "ee", "es",
            "er", "ez", "ir", "if", "ai", "e", "s", "x", "t",
        ],
        Language::Spanish | Language::Portuguese | Language::Italian => &[
            "amientos", "imientos", "amiento", "imiento", "aciones", "azioni", "acion", "acoes", "azione", "acao",
            "mente", "ieron", "iendo", "ando", "endo", "aron", "amos", "emos", "imos", "iamo", "adas", "ados", "idas",
            "idos", "aba", "ava", "ada", "ado", "ida", "ido", "ato", "ata", "ati", "ate", "uto", "ito", "are", "ere",
            "ire", "ais", "ar", "er", "ir", "an", "en", "as", "es", "os", "is", "ia", "io", "ou", "eu", "iu", "a",
            "e", "i", "o", "s",
        ],
        Language::Dutch => &["heden", "ingen", "eren", "ing", "en", "e", "s", "t"],
        Language::Swedish => &[
            "arnas", "ornas", "ernas", "arna", "orna", "erna", "ande", "ende", "ade", "ar", "or", "er", "en", "et",
            "na", "te", "at", "a", "e", "n", "s", "t",
        ],
        Language::Polish => &[
            "iami", "owie", "ami", "ach", "owi", "ego", "emu", "ymi", "ych", "imi", "ich", "alem", "alam", "ala",
            "ali", "al", "ow", "om", "ej", "em", "ym", "im", "ia", "ie", "iu", "ac", "ec", "ic", "a", "e", "i", "o",
            "u", "y",
        ],
        Language::Russian => &[
            "иями", "ями", "ами", "ого", "его", "ому", "ему", "ыми", "ими", "иях", "ешь", "ишь", "ала", "али", "ила",
            "или", "ать", "ять", "ить", "еть", "ях", "ах", "ов", "ев", "ей", "ий", "ый", "ой", "ая", "яя", "ое", "ее",
            "ые", "ие", "ую", "юю", "ом", "ем", "ам", "ям", "ал", "ил", "ет", "ит", "ут", "ют", "ят", "ат", "ию",
            "ия", "ы", "и", "а", "я", "о", "е", "у", "ю", "ь", "й",
        ],
        Language::Turkish => &[
            "larin", "lerin", "lari", "leri", "lar", "ler", "nin", "nun", "dan", "den", "tan", "ten", "yor", "mis",
            "mus", "da", "de", "ta", "te", "di", "du", "ti", "tu", "in", "un", "im", "um", "si", "su", "yi", "yu",
            "ya", "ye", "i", "u", "a", "e",
        ],
        Language::Arabic => &["ها", "هم", "نا", "ان", "ات", "ون", "ين", "يه", "ه", "ي", "ا"],
        _ => &[],
    }
}

/// Makes one letter of a doubled last consonant.
fn undouble(word: &mut String) {
    let bytes = word.as_bytes();
    if let [.., one, two] = bytes
        && one == two
        && one.is_ascii_alphabetic()
        // Porter's rule excepts l, s and z, since words such as "fall", "hiss" and "fizz" have them doubled by
        // themselves.
        && !matches!(one, b'a' | b'e' | b'i' | b'o' | b'u' | b'l' | b's' | b'z')
    {
        word.pop();
    }
}

/// Whether each letter counts as a consonant, in their order: a `y` behind a consonant does not.
fn consonants(word: &[u8]) -> impl Iterator<Item = bool> {
    word.iter().scan(false, |before, letter| {
        *before = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => !*before,
            _ => true,
        };
        Some(*before)
    })
}

/// How often a vowel is followed by a consonant.
fn measure(word: &[u8]) -> usize {
    let pairs = consonants(word).zip(consonants(word).skip(1));
    pairs.filter(|pair| *pair == (false, true)).count()
}

fn has_vowel(word: &[u8]) -> bool {
    consonants(word).any(|is_consonant| !is_consonant)
}

/// Consonant, vowel, consonant at the end: "hop", where "hoping" was "hope".
fn is_short(word: &[u8]) -> bool {
    let last = consonants(word).skip(word.len().saturating_sub(3));
    last.eq([true, false, true]) && !matches!(word.last(), Some(b'w' | b'x' | b'y'))
}

/// Endings of the second and third step of Porter's rules, and what they become.
#[rustfmt::skip]
const DERIVED: [(&str, &str); 27] = [
    ("ational", "ate"), ("ization", "ize"), ("isation", "ize"), ("iveness", "ive"), ("fulness", "ful"),
    ("ousness", "ous"), ("tional", "tion"), ("biliti", "ble"), ("ation", "ate"), ("alism", "al"), ("aliti", "al"),
    ("iviti", "ive"), ("ousli", "ous"), ("entli", "ent"), ("icate", "ic"), ("ative", ""), ("alize", "al"),
    ("iciti", "ic"), ("ical", "ic"), ("ator", "ate"), ("izer", "ize"), ("enci", "ence"), ("anci", "ance"),
    ("alli", "al"), ("ness", ""), ("ful", ""), ("eli", "e"),
];

/// Endings of the fourth step.
const LAST: [&str; 18] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic",
];

/// Porter's rules.
fn english(word: &str, out: &mut String) {
    out.push_str(word);
    // Porter's rules leave words of one and two letters as they are. A word with other letters than a to z is not
    // English.
    if !word.is_ascii() || word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    let cut = |out: &mut String, length: usize| out.truncate(out.len() - length);
    if out.ends_with("sses") || out.ends_with("ies") {
        cut(out, 2);
    } else if out.ends_with('s') && !out.ends_with("ss") && !out.ends_with("us") {
        // Words such as "bus" and "virus" are no plurals.
        cut(out, 1);
    }
    if out.ends_with("eed") {
        if measure(&out.as_bytes()[..out.len() - 3]) > 0 {
            cut(out, 1);
        }
    } else {
        let mut endings = ["ing", "ed"].into_iter();
        let ending = endings.find(|ending| out.ends_with(ending));
        let length = ending.map_or(0, str::len);
        if length > 0 && has_vowel(&out.as_bytes()[..out.len() - length]) {
            cut(out, length);
            if out.ends_with("at") || out.ends_with("bl") || out.ends_with("iz") {
                out.push('e');
            } else {
                let before = out.len();
                undouble(out);
                if out.len() == before && measure(out.as_bytes()) == 1 && is_short(out.as_bytes()) {
                    out.push('e');
                }
            }
        }
    }
    if out.len() > 2 && out.ends_with('y') && has_vowel(&out.as_bytes()[..out.len() - 1]) {
        out.pop();
        out.push('i');
    }
    // Twice: "usefulness".
    for _ in 0..2 {
        let derived = DERIVED.iter().find(|(ending, _)| out.ends_with(ending));
        if let Some((ending, becomes)) = derived
            && measure(&out.as_bytes()[..out.len() - ending.len()]) > 0
        {
            cut(out, ending.len());
            out.push_str(becomes);
        }
    }
    if let Some(ending) = LAST.iter().find(|ending| out.ends_with(**ending)) {
        let rest = &out.as_bytes()[..out.len() - ending.len()];
        // "ion" is cut only behind s and t: "adoption" loses it, "onion" does not.
        let fits = *ending != "ion" || matches!(rest.last(), Some(b's' | b't'));
        if fits && measure(rest) > 1 {
            cut(out, ending.len());
        }
    }
    // The rule for y above has made "quickli" of "quickly".
    if out.ends_with("li") && out.len() > 5 {
        cut(out, 2);
    }
    if out.ends_with('e') {
        let rest = &out.as_bytes()[..out.len() - 1];
        if measure(rest) > 1 || measure(rest) == 1 && !is_short(rest) {
            cut(out, 1);
        }
    }
    if out.ends_with("ll") && measure(out.as_bytes()) > 1 {
        cut(out, 1);
    }
}

/// The word that a form belongs to.
static KIN: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut kin = HashMap::new();
    for group in IRREGULAR_FORMS.split_whitespace() {
        let mut forms = group.split('/');
        let Some(word) = forms.next() else { continue };
        kin.extend(forms.map(|form| (form, word)));
    }
    kin
});

//! Negations, and what each of them negates.
//!
//! Owns which words negate and how far a negation reaches. A negation alone says nothing, so its key
//! holds the words it negates, and another text carries it if it negates the word that matters.

use std::sync::Arc;

use crate::DetailKind;
use crate::fold::stem;
use crate::lexicon::{self, ALL, FR, Flag, Langs};
use crate::reading::{Draft, Facts};
use crate::short::Short;
use crate::tokens::{Case, Doc, Gap, Kind, Token};

/// How many words a negation reaches over.
const REACH: usize = 14;

/// A negation and its reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Negated {
    /// Stems of the words it negates, the nearest first; at most four.
    pub(crate) head: Vec<Short>,
    /// Stems of every word in its clause.
    pub(crate) scope: Vec<Short>,
    /// Words in a list that goes on, as they are written; without their inflection they would be
    /// taken for verbs of a further clause.
    pub(crate) listed: Vec<Short>,
    /// The head words as they are written.
    pub(crate) forms: Vec<Short>,
    pub(crate) langs: Langs,
    /// Whether it merely carries negations.
    pub(crate) weak: bool,
    /// The stem of the negating word itself.
    pub(crate) own: Short,
    /// Whether it denies the presence of what follows, as `without` does.
    pub(crate) without: bool,
    /// How many other negations stand in the same clause; each counts, as in `not ... without`.
    pub(crate) companions: usize,
}

/// A negation that was found, the clause it stands in, and the finding it is, if it is a detail.
struct Found {
    negated: Negated,
    clause: usize,
    finding: Option<usize>,
}

/// Finds the negations.
pub(crate) fn read(reading: &mut Draft<'_>) {
    let mut idle_until = 0;
    let mut last_clause = None;
    let mut all: Vec<Found> = Vec::new();
    for i in 0..reading.doc.tokens.len() {
        let token = &reading.doc.tokens[i];
        if !may_negate(&reading.doc, token) {
            continue;
        }
        if let Some(end) = idle_end(&reading.doc, i) {
            idle_until = idle_until.max(end);
        }
        if i < idle_until || token.claimed && token.case == Case::Title && !token.opens {
            continue;
        }
        let Some(strength) = strength(&reading.doc, i) else {
            continue;
        };
        let clause = clause_start(&reading.doc, i);
        let mut negated = negated(&reading.doc, i);
        negated.weak = strength == Strength::Weak;
        // Two negations in one clause deny once in most languages.
        let concord = last_clause == Some(clause)
            && strength == Strength::Strong
            && !counts_each(&reading.doc)
            && !negated.without;
        let mut finding = None;
        if !negated.weak && !concord {
            finding = Some(reading.found.len());
            let end = surface_end(&reading.doc, i);
            reading.note(i, end, DetailKind::Negation, key(&negated), Facts::Plain);
        }
        if strength == Strength::Strong {
            last_clause = Some(clause);
        }
        all.push(Found {
            negated,
            clause,
            finding,
        });
    }
    if counts_each(&reading.doc) {
        count_companions(&mut all);
    }
    for found in all {
        let negated = Arc::new(found.negated);
        if let Some(finding) = found.finding.and_then(|n| reading.found.get_mut(n)) {
            finding.detail.facts = Facts::Negation(Arc::clone(&negated));
        }
        reading.negated.push(negated);
    }
}

/// One look that rules out most words.
fn may_negate(doc: &Doc<'_>, token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Symbol | Kind::Number => false,
        Kind::Han | Kind::Kana => NEGATING_SIGNS.contains(token.fold.as_ref()),
        Kind::Word => {
            let word = token.fold.as_bytes();
            token.is(Flag::Negation)
                || word.ends_with(b"less")
                || word.len() >= 6 && negating_prefix(word)
                || doc.speaks(lexicon::TR)
                || word.first().is_some_and(|b| *b >= HANGUL)
        }
    }
}

/// The characters that [`east_asian`] has a rule for.
const NEGATING_SIGNS: &str = "不没沒未无無莫别別なまず嫌苦禁拒避讨戒";

/// The first byte of the first Korean word there is; words of other scripts that begin with it or a
/// higher one are only looked at in vain.
const HANGUL: u8 = 0xEA;

/// Whether the word may begin with one of the prefixes of [`unprefixed`].
fn negating_prefix(word: &[u8]) -> bool {
    matches!(
        word,
        [b'u', b'n', ..]
            | [b'd', b'i', ..]
            | [b'i', b'n' | b'm' | b'r' | b'l', ..]
            | [b'n', b'o', ..]
    )
}

/// Notes on every negation how many more there are in its clause.
fn count_companions(all: &mut [Found]) {
    let mut strong: Vec<&mut Found> = all.iter_mut().filter(|f| !f.negated.weak).collect();
    for same in strong.chunk_by_mut(|a, b| a.clause == b.clause) {
        let companions = same.len() - 1;
        for found in same {
            found.negated.companions = companions;
        }
    }
}

/// Whether two negations in one clause are two, as in the Germanic languages, and not one said twice.
fn counts_each(doc: &Doc<'_>) -> bool {
    doc.speaks(lexicon::EN | lexicon::DE | lexicon::NL | lexicon::SV)
}

fn key(negated: &Negated) -> Short {
    let mut key = Short::from("not");
    let heads = negated.head.iter().take(2).map(Short::as_str);
    for word in heads.chain(negated.listed.iter().take(4).map(|w| stem(w.as_str()))) {
        key.push_str(" ");
        key.push_str(word);
    }
    key
}

fn surface_end(doc: &Doc<'_>, i: usize) -> usize {
    let mut end = i + 1;
    while end < i + 4
        && doc
            .get(end)
            .is_some_and(|t| t.kind != Kind::Symbol && t.gap < Gap::Line)
    {
        end += 1;
    }
    end
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    Strong,
    Weak,
}

fn strength(doc: &Doc<'_>, i: usize) -> Option<Strength> {
    let token = &doc.tokens[i];
    match token.kind {
        Kind::Han | Kind::Kana => return east_asian(doc, i),
        Kind::Symbol | Kind::Number => return None,
        Kind::Word => {}
    }
    if is_postposed(doc, i) {
        return Some(Strength::Strong);
    }
    if doc.speaks_of(token.entry.negates) && token.entry.negates != 0 {
        return (!is_idle_word(doc, i)).then_some(Strength::Strong);
    }
    if token.is(Flag::Denying) {
        return Some(Strength::Strong);
    }
    let suffix = token.fold.ends_with("less") && token.fold.len() > 6;
    (token.is(Flag::Weak) || suffix || unprefixed(&token.fold).is_some()).then_some(Strength::Weak)
}

/// Single words that look like negations and are none where they stand.
fn is_idle_word(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    let word = token.fold.as_ref();
    let number = doc.get(i + 1).is_some_and(|t| t.kind == Kind::Number)
        || doc.symbol(i + 1, ".") && doc.get(i + 2).is_some_and(|t| t.kind == Kind::Number);
    let exclaimed =
        token.opens && (doc.symbol(i + 1, ",") || doc.symbol(i + 1, "!") || doc.symbol(i + 1, "."));
    let asked = doc.symbol(i + 1, "?");
    if matches!(
        word,
        "no" | "нет" | "non" | "nao" | "nee" | "nein" | "noch" | "nic"
    ) && (number || exclaimed || asked)
    {
        return true;
    }
    // `not uncommon` denies twice and says nothing.
    if doc.speaks(lexicon::EN)
        && doc
            .get(i + 1)
            .is_some_and(|t| t.fold.starts_with("un") && unprefixed(&t.fold).is_some())
    {
        return true;
    }
    match word {
        // Portuguese `no` is a preposition, and French `personne` needs its `ne`.
        "no" if doc.lang == lexicon::PT => true,
        "personne" if doc.lang == FR => {
            let before = |n: usize| i.checked_sub(n).is_some_and(|j| doc.word(j, &["ne", "n'"]));
            !doc.word(i + 1, &["ne", "n'"]) && !(1..=8).any(before)
        }
        "ما" => true,
        "ne" => true,
        "не" => doc.word(i + 1, &["только"]),
        "noch" => !doc.word(i.wrapping_sub(1), &["weder", "noch"]),
        "nada" => doc.before(i).is_some_and(|t| t.fold == "de"),
        _ => false,
    }
}

/// The rest of an English word after a prefix that negates it.
fn unprefixed(word: &str) -> Option<&str> {
    if word.len() < 6 || !negating_prefix(word.as_bytes()) || !word.is_ascii() {
        return None;
    }
    const ADJECTIVE: [&str; 10] = [
        "able", "ible", "ent", "ant", "ive", "al", "ate", "ect", "ular", "ient",
    ];
    const DENIED: [&str; 12] = [
        "like", "likes", "liked", "agree", "agrees", "allow", "allowed", "approve", "approves",
        "trust", "trusts", "honest",
    ];
    let known = |prefix: &str| {
        let rest = word.strip_prefix(prefix).filter(|r| r.len() >= 4)?;
        lexicon::is_common_form(rest).then_some(rest)
    };
    let adjective = |rest: &&str| ADJECTIVE.iter().any(|e| rest.ends_with(e));
    known("un")
        .or_else(|| known("dis").filter(|r| DENIED.contains(r)))
        .or_else(|| {
            ["in", "im", "ir", "il", "non"]
                .iter()
                .find_map(|p| known(p).filter(adjective))
        })
}

fn korean(word: &str) -> bool {
    const PARTS: [&str; 12] = [
        "않",
        "없",
        "못해",
        "못하",
        "아니",
        "말라",
        "마세요",
        "못한",
        "싫어",
        "말아",
        "안됨",
        "못함",
    ];
    PARTS.iter().any(|p| word.contains(p)) && !matches!(word, "아니면" | "틀림없이")
}

/// Whether the negation follows what it negates, as an ending: `飲まない`, `않는다`, `içmiyor`.
fn is_postposed(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    let korean_word = token.fold.starts_with(|c| ('가'..='힣').contains(&c));
    token.kind == Kind::Kana
        || korean_word && korean(&token.fold)
        || doc.speaks(lexicon::TR) && turkish(&token.fold)
}

fn turkish(word: &str) -> bool {
    const PARTS: [&str; 3] = ["miyor", "muyor", "meyecek"];
    const ENDS: [&str; 6] = ["mez", "maz", "medi", "madi", "memeli", "mamali"];
    word.len() >= 5
        && (PARTS.iter().any(|p| word.contains(p)) || ENDS.iter().any(|e| word.ends_with(e)))
}

fn east_asian(doc: &Doc<'_>, i: usize) -> Option<Strength> {
    let token = &doc.tokens[i];
    let next = |n: usize, words: &[&str]| doc.word(i + n, words);
    let japanese = || {
        (0..12).any(|n| doc.get(i + n).is_some_and(|t| t.kind == Kind::Kana))
            || doc.before(i).is_some_and(|t| t.kind == Kind::Kana)
    };
    let negates = match token.fold.as_ref() {
        "不" => {
            let idle = next(
                1,
                &[
                    "仅", "僅", "只", "但", "错", "錯", "过", "過", "同", "断", "斷", "久", "客",
                    "如", "管", "论", "論",
                ],
            );
            let asks = doc.before(i).is_some_and(|t| {
                matches!(t.fold.as_ref(), "对" | "要" | "差" | "得" | "好")
                    && next(1, &["起", "要", "多", "了"])
            });
            !idle && !asks
        }
        "没" | "沒" | "未" | "无" | "無" | "莫" => {
            let idle = next(
                1,
                &[
                    "来", "來", "论", "論", "事", "问", "数", "關", "关", "必", "疑", "错", "料",
                ],
            );
            let compound = matches!(token.fold.as_ref(), "未" | "無") && next(1, &["し", "理"]);
            if japanese() { compound } else { !idle }
        }
        "别" | "別" => {
            doc.before(i).is_none_or(|t| {
                t.kind == Kind::Symbol || matches!(t.fold.as_ref(), "请" | "請" | "千" | "万")
            }) && !next(1, &["人", "的", "墅", "名"])
        }
        "な" => next(1, &["い", "か", "く", "け"]) && !is_idle_nai(doc, i),
        "ま" => next(1, &["せ"]) && next(2, &["ん"]),
        "ず" => {
            next(1, &["に"])
                && !doc
                    .before(i)
                    .is_some_and(|t| matches!(t.fold.as_ref(), "ま" | "は"))
        }
        _ => false,
    };
    if negates {
        return Some(Strength::Strong);
    }
    matches!(
        token.fold.as_ref(),
        "嫌" | "苦" | "禁" | "拒" | "避" | "讨" | "戒"
    )
    .then_some(Strength::Weak)
}

/// `かもしれない`, `なければならない`: no denial.
fn is_idle_nai(doc: &Doc<'_>, i: usize) -> bool {
    let before = |n: usize, c: &str| {
        i.checked_sub(n)
            .and_then(|j| doc.get(j))
            .is_some_and(|t| t.fold == c)
    };
    (before(1, "れ") && before(2, "し") && (before(3, "も") || before(3, "知")))
        || doc.phrase(i, &["な", "け", "れ", "ば"])
        || before(1, "ら") && (before(2, "な") || before(2, "ば"))
        || doc.phrase(i, &["な", "く", "て", "は"])
        || before(1, "に") && before(2, "違")
        || before(1, "少")
}

/// Where a phrase that denies nothing ends, if one begins at `i`.
fn idle_end(doc: &Doc<'_>, i: usize) -> Option<usize> {
    let token = doc.tokens.get(i).filter(|t| t.is(Flag::IdleHead))?;
    let phrase = lexicon::idle_phrases(&token.fold).iter().filter(|words| {
        words
            .iter()
            .enumerate()
            .all(|(n, w)| doc.get(i + n).is_some_and(|t| t.fold == *w))
    });
    let longest = phrase.map(Vec::len).max()?;
    Some(i + longest)
}

/// Whether a clause ends before token `i`.
fn breaks(doc: &Doc<'_>, i: usize) -> bool {
    doc.get(i)
        .is_none_or(|t| t.gap == Gap::Line || divides(doc, i, t))
}

/// Whether the token stands between two clauses.
fn divides(doc: &Doc<'_>, i: usize, token: &Token<'_>) -> bool {
    const MARKS: [&str; 17] = [
        ".", "!", "?", ";", ":", "…", "。", "！", "？", "；", "—", "–", "(", ")", "؟", "।", "؛",
    ];
    let mark = token.kind == Kind::Symbol && MARKS.contains(&token.fold.as_ref());
    let turn = token.entry.contrasts != 0 && doc.speaks_of(token.entry.contrasts)
        || token.kind == Kind::Han && matches!(token.fold.as_ref(), "但" | "而" | "却");
    // A full-width comma divides clauses; lists have the enumeration comma.
    let wide_comma = token.symbol(",") && token.end - token.start > 1;
    turn || wide_comma || mark && ends_sentence(doc, i)
}

fn ends_sentence(doc: &Doc<'_>, i: usize) -> bool {
    !doc.symbol(i, ".")
        || !doc
            .get(i + 1)
            .is_some_and(|t| t.glued() && t.kind != Kind::Symbol)
}

fn is_comma(token: &Token<'_>) -> bool {
    token.kind == Kind::Symbol && matches!(token.fold.as_ref(), "," | "、" | "，" | "،")
}

fn is_joint(doc: &Doc<'_>, token: &Token<'_>) -> bool {
    is_comma(token) || token.entry.joins != 0 && doc.speaks_of(token.entry.joins)
}

/// The token at which the part of the sentence around `i` begins; a joint begins a part only if a
/// new statement follows it.
fn clause_start(doc: &Doc<'_>, i: usize) -> usize {
    let mut at = i;
    let least = i.saturating_sub(REACH);
    while at > least
        && doc.tokens[at].gap != Gap::Line
        && !divides(doc, at - 1, &doc.tokens[at - 1])
        && !is_comma(&doc.tokens[at - 1])
        && !(doc.tokens[at - 1].entry.joins & doc.lang != 0 && counts_each(doc))
    {
        at -= 1;
    }
    at
}

/// What the negation at `i` negates.
fn negated(doc: &Doc<'_>, i: usize) -> Negated {
    let mut result = Negated {
        langs: langs_of(&doc.tokens[i]),
        own: word_stem(&doc.tokens[i]),
        without: is_without(&doc.tokens[i].fold),
        ..Negated::default()
    };
    if !is_postposed(doc, i) {
        forward(doc, i, &mut result);
    }
    backward(doc, i, &mut result);
    if let Some(rest) = unprefixed(&doc.tokens[i].fold) {
        result.scope.push(stem(rest).into());
    }
    if let Some(rest) = doc.tokens[i].fold.strip_suffix("less") {
        result.scope.push(stem(rest).into());
    }
    result
}

fn is_without(word: &str) -> bool {
    const WORDS: [&str; 11] = [
        "without", "ohne", "sans", "sin", "senza", "sem", "zonder", "без", "bez", "utan", "بدون",
    ];
    WORDS.contains(&word)
}

fn langs_of(token: &Token<'_>) -> Langs {
    if token.entry.negates == 0 {
        ALL
    } else {
        token.entry.negates
    }
}

fn is_content(doc: &Doc<'_>, token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Symbol => false,
        Kind::Kana => false,
        Kind::Han => {
            !"的了是在有和也都很就会會要个個喜欢歡吃想能这這那他她我你它们們没不被把让到过過着對对"
                .contains(token.fold.as_ref())
        }
        Kind::Number => true,
        Kind::Word => {
            !doc.is_function(token)
                && !token.is(Flag::Light)
                && token.entry.negates == 0
                && !token.is(Flag::Aux)
        }
    }
}

fn word_stem(token: &Token<'_>) -> Short {
    stem(&token.fold).into()
}

fn forward(doc: &Doc<'_>, i: usize, result: &mut Negated) {
    let mut listing = false;
    let mut at = i + 1;
    let end = i + 1 + REACH;
    while at < end && !breaks(doc, at) {
        let token = &doc.tokens[at];
        if is_joint(doc, token) && at > i + 1 {
            if begins_statement(doc, at + 1) {
                break;
            }
            listing = true;
        } else if listing && doc.speaks_of(token.entry.negates) && token.entry.negates != 0 {
            break;
        } else if is_content(doc, token) {
            if listing && token.is(Flag::Verb) && doc.lang == lexicon::EN {
                break;
            }
            if listing {
                result.listed.push(token.fold.as_ref().into());
            } else {
                push_head(result, token);
                result.scope.push(word_stem(token));
            }
        } else if token.is(Flag::Light) && !listing {
            result.scope.push(word_stem(token));
        }
        at += 1;
    }
}

fn push_head(result: &mut Negated, token: &Token<'_>) {
    if result.head.len() < 4 {
        result.head.push(word_stem(token));
        result.forms.push(token.fold.as_ref().into());
    }
}

/// Whether after a joint another statement begins: a subject, an auxiliary, a finite verb.
fn begins_statement(doc: &Doc<'_>, from: usize) -> bool {
    for at in from..from + 4 {
        let Some(token) = doc.get(at) else {
            return false;
        };
        if is_joint(doc, token) && at > from || token.kind == Kind::Symbol {
            return false;
        }
        let finite = token.is(Flag::Subject)
            || token.is(Flag::Aux)
            || token.is(Flag::Verb) && token.case != Case::Title;
        let adverb = matches!(
            token.fold.as_ref(),
            "also" | "then" | "now" | "still" | "always" | "usually" | "often" | "only" | "so"
        );
        if finite && (doc.lang == lexicon::EN || !doc.is_function(token)) {
            return true;
        }
        if !adverb && at > from + 1 {
            return false;
        }
    }
    false
}

/// The words before the negation in its own part of the sentence, the nearest first.
fn backward(doc: &Doc<'_>, i: usize, result: &mut Negated) {
    let own_part = doc.tokens[i].entry.joins & doc.lang != 0;
    // `Allergies: none` denies what stands before the colon.
    let answer = i > 1 && doc.symbol(i - 1, ":") && result.head.is_empty();
    let start = match (own_part, answer) {
        (true, _) => i,
        (_, true) => clause_start(doc, i - 1),
        _ => clause_start(doc, i),
    };
    let mut nearest = Vec::new();
    for at in (start..i).rev() {
        let token = &doc.tokens[at];
        if is_content(doc, token) {
            result.scope.push(word_stem(token));
            nearest.push(at);
        } else if token.is(Flag::Light) {
            result.scope.push(word_stem(token));
        }
    }
    if result.head.is_empty() {
        for at in nearest {
            push_head(result, &doc.tokens[at]);
        }
    }
    if result.head.is_empty() {
        // What is negated is only named by light words or by none: `does not want to`, `not after it`.
        let light = (start..i + 6)
            .take_while(|at| *at <= i || !breaks(doc, *at))
            .filter_map(|at| doc.get(at))
            .find(|t| t.is(Flag::Light));
        let after = (i + 1..i + 3)
            .take_while(|at| !breaks(doc, *at))
            .filter_map(|at| doc.get(at))
            .find(|t| t.kind == Kind::Word);
        if let Some(token) = light.or(after) {
            push_head(result, token);
            result.scope.push(word_stem(token));
        }
    }
}

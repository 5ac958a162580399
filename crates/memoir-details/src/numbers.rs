//! Amounts: digits of any script, number words, units and currencies.
//!
//! Owns the canonical form of an amount. Dates and times are read before and never come here.

use crate::DetailKind;
use crate::lexicon::{self, ALL, DE, EN, Flag, IT, NL, Unit};
use crate::reading::{Amount, Draft, Facts};
use crate::short::Short;
use crate::tokens::{Case, Doc, Gap, Kind, Token};

/// How many digit groups one number may have; bounds the look-ahead.
const MOST_GROUPS: usize = 12;

/// A number as read: its canonical value and where it ends.
#[derive(Clone, Debug)]
struct Value {
    text: Short,
    end: usize,
    /// Whether it is worth keeping on its own; "one" alone is not.
    solid: bool,
    ordinal: bool,
}

/// Reads an amount that begins at token `i`; returns where it ends.
pub(crate) fn read(reading: &mut Draft<'_>, i: usize) -> Option<usize> {
    let doc = &reading.doc;
    if let Some((end, digits)) = phone(doc, i) {
        reading.add(i, end, DetailKind::Number, digits, Facts::Plain);
        return Some(end);
    }
    if let Some(end) = multiple(reading, i) {
        return Some(end);
    }
    let doc = &reading.doc;
    if let Some(amount) = imply_article(doc, i).or_else(|| imply_word(doc, i)) {
        reading.implied.push(amount);
    }
    let doc = &reading.doc;
    if is_list_mark(doc, i) {
        return Some(i + 1);
    }
    let start = i + usize::from(is_prefix(doc, i));
    let mut value = value(doc, start)?;
    if is_minus(doc, i) {
        value.text = format_args!("-{}", value.text).into();
    }
    let prefix = (start > i)
        .then(|| doc.get(i))
        .flatten()
        .and_then(|t| t.entry.unit());
    let before = doc
        .before(i)
        .filter(|_| start == i)
        .and_then(|t| code_before(t));
    let (unit, end) = unit_after(doc, &value);
    let unit = prefix.or(before).or(unit);
    if !value.solid && unit.is_none() {
        reading.implied.push(Amount::bare(value.text));
        return Some(value.end);
    }
    let age = unit
        .is_some_and(|u| matches!(u.base, "mon" | "day"))
        .then(|| age_end(doc, end))
        .flatten();
    let (amount, end) = match age {
        Some(end) => (amount(&value.text, None), end),
        None => (amount(&value.text, unit), end),
    };
    if amount.unit.is_empty()
        && let Some(shared) = shared_unit(doc, value.end)
    {
        reading
            .implied
            .push(self::amount(&value.text, Some(shared)));
    }
    if !value.solid && is_idle_one(doc, i, &amount) {
        reading.implied.push(amount);
        return Some(value.end);
    }
    add(reading, i, end, amount);
    Some(end)
}

fn add(reading: &mut Draft<'_>, from: usize, to: usize, amount: Amount) {
    let key = key(&amount);
    reading.add(from, to, DetailKind::Number, key, Facts::Number(amount));
}

fn key(amount: &Amount) -> Short {
    let mut key = amount.value.clone();
    if !amount.unit.is_empty() {
        key.push_str(" ");
        key.push_str(amount.unit);
    }
    key
}

/// The number of a list item at the head of a line.
fn is_list_mark(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    let marked = doc.symbol(i + 1, ".") || doc.symbol(i + 1, ")");
    let spaced = doc.get(i + 2).is_some_and(|t| t.gap == Gap::Space);
    token.kind == Kind::Number
        && token.gap == Gap::Line
        && token.fold.len() <= 2
        && marked
        && spaced
}

/// `one day`, `one hour` say no more than `a day`.
fn is_idle_one(doc: &Doc<'_>, i: usize, amount: &Amount) -> bool {
    doc.get(i).is_some_and(|t| t.is(Flag::One))
        && (matches!(amount.unit, "day" | "times") || !doc.speaks(EN))
}

/// `an hour` carries one hour.
fn imply_article(doc: &Doc<'_>, i: usize) -> Option<Amount> {
    let token = doc.get(i)?;
    if !matches!(
        token.fold.as_ref(),
        "a" | "an" | "ein" | "eine" | "einen" | "un" | "une" | "una" | "um" | "uma"
    ) {
        return None;
    }
    let unit = doc.get(i + 1)?.entry.unit()?;
    Some(amount("1", Some(unit)))
}

/// A number word carries its number also where it is not sure to be meant as one.
fn imply_word(doc: &Doc<'_>, i: usize) -> Option<Amount> {
    let token = doc
        .get(i)
        .filter(|t| t.kind == Kind::Word && t.entry.number_langs != 0)?;
    Some(Amount::bare(format_args!("{}", token.entry.number)))
}

/// The amount in base units. Values that are no plain decimals keep the unit but are not converted.
fn amount(value: &str, unit: Option<Unit>) -> Amount {
    let Some(unit) = unit else {
        return Amount::bare(value);
    };
    let converted = match value.parse::<f64>() {
        Ok(number) if value.len() <= 15 => decimal(number * unit.factor),
        _ => value.into(),
    };
    Amount {
        value: converted,
        raw: value.into(),
        unit: unit.base,
    }
}

fn decimal(number: f64) -> Short {
    let whole = number as i64;
    if whole as f64 == number && number.abs() < 1e15 && (whole != 0 || number.is_sign_positive()) {
        return format_args!("{whole}").into();
    }
    let text = Short::from(format_args!("{number:.6}"));
    text.trim_end_matches('0').trim_end_matches('.').into()
}

fn is_prefix(doc: &Doc<'_>, i: usize) -> bool {
    let sign = doc.get(i).is_some_and(|t| {
        t.kind == Kind::Symbol
            && t.entry.unit().is_some()
            && !t.symbol("%")
            && !t.symbol("×")
            && !t.symbol("°")
    });
    let next = doc
        .get(i + 1)
        .is_some_and(|t| t.kind == Kind::Number && t.gap < Gap::Line);
    (sign || is_minus(doc, i)) && next
}

fn is_minus(doc: &Doc<'_>, i: usize) -> bool {
    let Some(sign) = doc.get(i) else { return false };
    let next = doc.get(i + 1).is_some_and(|t| t.kind == Kind::Number);
    if matches!(
        sign.fold.as_ref(),
        "minus" | "minus_" | "минус" | "menos" | "meno" | "moins"
    ) {
        return next;
    }
    let dash = matches!(sign.fold.as_ref(), "-" | "−" | "–");
    dash && next
        && !sign.glued()
        && doc.before(i).is_none_or(|t| t.kind != Kind::Number)
        && doc.get(i + 1).is_some_and(|t| t.glued())
}

/// The currency code before a number, as in `EUR 5`.
fn code_before(token: &Token<'_>) -> Option<Unit> {
    let code = token.case == Case::Upper && token.fold.len() == 3;
    let unit = token.entry.unit().filter(|_| code)?;
    matches!(
        unit.base,
        "usd" | "eur" | "pound" | "jpy" | "cny" | "inr" | "chf" | "sek" | "pln" | "rub"
    )
    .then_some(unit)
}

fn value(doc: &Doc<'_>, i: usize) -> Option<Value> {
    let token = doc.get(i)?;
    match token.kind {
        Kind::Number => {
            let plain = digits(doc, i)?;
            Some(ordinal_ending(doc, scaled(doc, plain)))
        }
        Kind::Symbol => vulgar(token).map(|text| Value {
            text: text.into(),
            end: i + 1,
            solid: true,
            ordinal: false,
        }),
        Kind::Han => crate::cjk::counted(doc, i).map(|(n, end)| Value {
            text: format_args!("{n}").into(),
            end,
            solid: true,
            ordinal: false,
        }),
        Kind::Word => roman(doc, i).or_else(|| words(doc, i)),
        Kind::Kana => None,
    }
}

fn vulgar(token: &Token<'_>) -> Option<&'static str> {
    let text = match token.fold.as_ref() {
        "1⁄2" | "½" => "0.5",
        "1⁄4" | "¼" => "0.25",
        "3⁄4" | "¾" => "0.75",
        "1⁄3" | "⅓" => "1/3",
        "2⁄3" | "⅔" => "2/3",
        _ => return None,
    };
    Some(text)
}

/// Digits with their separators, fractions and mixed numbers.
fn digits(doc: &Doc<'_>, i: usize) -> Option<Value> {
    let whole = grouped(doc, i)?;
    let done = |text: Short, end: usize| {
        Some(Value {
            text,
            end,
            solid: true,
            ordinal: false,
        })
    };
    if let Some(token) = doc.get(whole.end).filter(|t| t.kind == Kind::Symbol)
        && let Some(part) = vulgar(token)
    {
        let sum = whole.text.parse::<f64>().ok().zip(part.parse::<f64>().ok());
        let text = sum.map_or_else(
            || format_args!("{} {part}", whole.text).into(),
            |(a, b)| decimal(a + b),
        );
        return done(text, whole.end + 1);
    }
    if let Some((text, end)) = fraction(doc, i) {
        return done(text, end);
    }
    if doc
        .get(whole.end)
        .is_some_and(|t| t.kind == Kind::Number && t.gap == Gap::Space)
        && let Some((part, end)) = fraction(doc, whole.end)
        && let Some((a, b)) = whole.text.parse::<f64>().ok().zip(part.parse::<f64>().ok())
        && b < 1.0
    {
        return done(decimal(a + b), end);
    }
    Some(whole)
}

fn fraction(doc: &Doc<'_>, i: usize) -> Option<(Short, usize)> {
    doc.get(i + 1)
        .filter(|t| t.glued() && (t.symbol("/") || t.symbol("⁄")))?;
    let below = doc
        .get(i + 2)
        .filter(|t| t.kind == Kind::Number && t.glued() && t.fold.len() <= 4)?;
    let above = doc
        .get(i)
        .filter(|t| t.kind == Kind::Number && t.fold.len() <= 4)?;
    let (a, b): (u32, u32) = (above.fold.parse().ok()?, below.fold.parse().ok()?);
    let text = if a < b && matches!(b, 2 | 4 | 5 | 8 | 10) {
        decimal(f64::from(a) / f64::from(b))
    } else {
        format_args!("{a}/{b}").into()
    };
    Some((text, i + 3))
}

/// Digit groups and the marks between them, read as one number where they can be.
fn grouped(doc: &Doc<'_>, i: usize) -> Option<Value> {
    let first = doc.get(i)?;
    if next_group(doc, i + 1).is_none() {
        return Some(Value {
            text: whole(&first.fold),
            end: i + 1,
            solid: true,
            ordinal: false,
        });
    }
    let mut groups = vec![first.fold.as_ref()];
    let mut marks: Vec<&str> = Vec::new();
    let mut at = i + 1;
    while groups.len() < MOST_GROUPS {
        let Some((mark, next)) = next_group(doc, at) else {
            break;
        };
        marks.push(mark);
        groups.push(doc.get(next)?.fold.as_ref());
        at = next + 1;
    }
    let (text, used) = join_groups(&groups, &marks);
    let text = if used == 2 && money_like(doc, i, &text) {
        text.trim_end_matches('0').into()
    } else {
        text
    };
    // A group takes two tokens except where only a space is between.
    let spaced = marks.iter().take(used - 1).filter(|m| **m == " ").count();
    Some(Value {
        text,
        end: i + 2 * used - 1 - spaced,
        solid: true,
        ordinal: false,
    })
}

/// Whether trailing zeroes of the decimals mean nothing: there is a unit or a currency.
fn money_like(doc: &Doc<'_>, i: usize, text: &str) -> bool {
    let unit = |t: Option<&Token<'_>>| t.is_some_and(|t| t.entry.unit().is_some());
    text.contains('.') && !text.ends_with('.') && (unit(doc.before(i)) || unit(doc.get(i + 3)))
}

fn next_group<'d>(doc: &'d Doc<'_>, at: usize) -> Option<(&'d str, usize)> {
    let token = doc.get(at)?;
    if token.kind == Kind::Number && token.gap == Gap::Space && token.fold.len() == 3 {
        return Some((" ", at));
    }
    let mark = token.glued()
        && matches!(
            token.fold.as_ref(),
            "." | "," | "'" | "’" | "٬" | "٫" | "،" | "，"
        );
    let next = doc
        .get(at + 1)
        .filter(|t| t.kind == Kind::Number && t.glued());
    (mark && next.is_some()).then(|| (token.fold.as_ref(), at + 1))
}

/// The number the groups make, and how many of them it takes.
fn join_groups(groups: &[&str], marks: &[&str]) -> (Short, usize) {
    let first = groups.first().copied().unwrap_or("");
    let Some(mark) = marks.first().copied() else {
        return (whole(first), 1);
    };
    let same = 1 + marks.iter().take_while(|m| **m == mark).count();
    let thousands = first.len() <= 3
        && !first.starts_with('0')
        && groups.get(1..same).is_some_and(|g| {
            let (last, middle) = g.split_last().map_or(("", &[][..]), |(l, m)| (*l, m));
            last.len() == 3
                && middle
                    .iter()
                    .all(|m| m.len() == 3 || (mark == "," && m.len() == 2))
        });
    if thousands {
        let integer = groups[..same].concat();
        let decimals = marks
            .get(same - 1)
            .is_some_and(|m| matches!(*m, "." | "," | "٫") && marks.len() == same);
        return match groups.get(same).filter(|_| decimals) {
            Some(part) => (with_decimals(&integer, part), same + 1),
            None => (integer.into(), same),
        };
    }
    if mark == " " || mark == "'" || mark == "’" {
        return (whole(first), 1);
    }
    if same == 2 {
        return (with_decimals(first, groups[1]), 2);
    }
    if mark == "." {
        return (groups[..same].join(".").into(), same);
    }
    (whole(first), 1)
}

fn with_decimals(integer: &str, part: &str) -> Short {
    let integer = integer.trim_start_matches('0');
    let integer = if integer.is_empty() { "0" } else { integer };
    if part.bytes().all(|b| b == b'0') {
        return integer.into();
    }
    format_args!("{integer}.{part}").into()
}

/// A whole number; leading zeroes of longer numbers are part of an identifier and stay.
fn whole(digits: &str) -> Short {
    if digits.len() > 2 || digits == "0" {
        return digits.into();
    }
    let bare = digits.trim_start_matches('0');
    if bare.is_empty() {
        "0".into()
    } else {
        bare.into()
    }
}

/// Applies `million`, `k`, `万` to digits.
fn scaled(doc: &Doc<'_>, value: Value) -> Value {
    let Some(token) = doc.get(value.end) else {
        return value;
    };
    let power = if token.glued()
        && matches!(token.fold.as_ref(), "k" | "m" | "bn")
        && !value.text.contains('/')
    {
        match (token.fold.as_ref(), token.case) {
            ("k", _) => 3,
            ("m", Case::Upper) => 6,
            ("bn", _) => 9,
            _ => 0,
        }
    } else if token.gap < Gap::Line && doc.speaks_of(token.entry.scale_langs) && !token.opens {
        u32::from(token.entry.scale)
    } else {
        crate::cjk::scale(&token.fold)
    };
    match value.text.parse::<f64>() {
        Ok(number) if power > 0 && value.text.len() <= 12 => {
            let text = decimal(number * 10f64.powi(power as i32));
            Value {
                text,
                end: value.end + 1,
                ..value
            }
        }
        _ => value,
    }
}

/// `3rd`, `3.`, `3ème`: the value is what counts.
fn ordinal_ending(doc: &Doc<'_>, value: Value) -> Value {
    const ENDINGS: [&str; 18] = [
        "st", "nd", "rd", "th", "er", "ere", "eme", "e", "º", "ª", "ter", "ten", "te", "de", "го",
        "и", "я", "м",
    ];
    let mut at = value.end;
    if doc.symbol(at, "-")
        && doc
            .get(at + 1)
            .is_some_and(|t| t.glued() && t.fold.chars().count() <= 2 && !t.fold.is_ascii())
    {
        at += 1;
    }
    let ending = doc
        .get(at)
        .is_some_and(|t| t.glued() && ENDINGS.contains(&t.fold.as_ref()));
    if ending {
        Value {
            end: at + 1,
            ordinal: true,
            ..value
        }
    } else {
        value
    }
}

/// The roman numeral after a name: `Henry VIII`.
fn roman(doc: &Doc<'_>, i: usize) -> Option<Value> {
    let token = doc.get(i).filter(|t| t.case == Case::Upper && !t.opens)?;
    let named = doc
        .before(i)
        .is_some_and(|t| t.case == Case::Title && !doc.is_function(t));
    let text = token.fold.as_ref();
    if !named || (text.len() == 1 && !matches!(text, "v" | "x")) || doc.shouting {
        return None;
    }
    let value = roman_value(text)?;
    Some(Value {
        text: format_args!("{value}").into(),
        end: i + 1,
        solid: true,
        ordinal: true,
    })
}

fn roman_value(text: &str) -> Option<u32> {
    if text.len() > 6 {
        return None;
    }
    let digit = |c| match c {
        'i' => Some(1),
        'v' => Some(5),
        'x' => Some(10),
        _ => None,
    };
    let digits: Option<Vec<u32>> = text.chars().map(digit).collect();
    let digits = digits?;
    let mut sum = 0;
    for (n, d) in digits.iter().enumerate() {
        if digits.get(n + 1).is_some_and(|next| next > d) {
            sum -= *d as i32;
        } else {
            sum += *d as i32;
        }
    }
    u32::try_from(sum).ok()
}

fn means_number(doc: &Doc<'_>, token: &Token<'_>) -> bool {
    token.kind == Kind::Word
        && token.entry.number_langs != 0
        && (token.entry.number_langs == ALL || doc.speaks(token.entry.number_langs))
        && !token.is(Flag::Carrier)
        && !token.is(Flag::Multiple)
}

/// Number words, also several that make one number.
fn words(doc: &Doc<'_>, i: usize) -> Option<Value> {
    if let Some(value) = special(doc, i) {
        return Some(of_scale(doc, value));
    }
    let (mut total, mut current, mut at, mut last) = (0u64, None::<u64>, i, i);
    let mut only_one = false;
    let mut ordinal = false;
    while at < i + 16 {
        let Some(token) = doc.get(at) else { break };
        if at > i && token.gap == Gap::Line {
            break;
        }
        let joins = at > i
            && (token.symbol("-") && token.glued()
                || matches!(token.fold.as_ref(), "and" | "y" | "e" | "et"));
        if joins && can_join(doc, at, current, total) {
            at += 1;
            continue;
        }
        if at > i && (ordinal || token.capital() && token.opens) {
            break;
        }
        let number = cardinal(doc, at);
        if let Some(number) = number {
            if !fits(current, number) {
                break;
            }
            only_one = at == i && token.is(Flag::One);
            ordinal = token.is(Flag::Ordinal);
            current = Some(current.unwrap_or(0) + number);
        } else if doc.speaks_of(token.entry.scale_langs)
            && token.entry.scale > 0
            && (at > i || starts_scale(doc, at))
        {
            let scale = 10u64.pow(u32::from(token.entry.scale.min(12)));
            only_one = false;
            if scale == 100 {
                current = Some(current.unwrap_or(1).saturating_mul(100));
            } else {
                total = total.saturating_add(current.unwrap_or(1).saturating_mul(scale));
                current = Some(0);
            }
        } else {
            break;
        }
        at += 1;
        last = at;
    }
    if last == i {
        return None;
    }
    let sum = total.saturating_add(current.unwrap_or(0));
    let single = last == i + 1;
    if single && !is_meant(doc, i) {
        return None;
    }
    let half = doc.phrase(last, &["and", "a", "half"]);
    let text: Short = if half {
        format_args!("{sum}.5").into()
    } else {
        format_args!("{sum}").into()
    };
    let end = if half { last + 3 } else { last };
    Some(dozen(
        doc,
        Value {
            text,
            end,
            solid: !only_one || half,
            ordinal,
        },
    ))
}

fn cardinal(doc: &Doc<'_>, i: usize) -> Option<u64> {
    let token = doc.get(i).filter(|t| t.kind == Kind::Word)?;
    if token.is(Flag::One) {
        return Some(1);
    }
    if means_number(doc, token) {
        return Some(u64::from(token.entry.number));
    }
    if doc.speaks(DE | NL) {
        germanic(&token.fold)
    } else if doc.speaks(IT) {
        italian(&token.fold)
    } else {
        None
    }
}

/// Whether `and` or a hyphen at `at` goes on with the number.
fn can_join(doc: &Doc<'_>, at: usize, current: Option<u64>, total: u64) -> bool {
    let next = cardinal(doc, at + 1);
    let so_far = current.unwrap_or(0);
    let hyphen = doc.symbol(at, "-");
    let tens = so_far >= 20 && so_far.is_multiple_of(10);
    let Some(next) = next else { return false };
    let whole = so_far >= 100 && so_far.is_multiple_of(100) || (so_far == 0 && total > 0);
    if hyphen {
        tens && next < 10
    } else {
        (whole && next < 100) || (!doc.speaks(EN) && tens && next < 10)
    }
}

fn fits(current: Option<u64>, number: u64) -> bool {
    match current {
        None | Some(0) => true,
        Some(so_far) if so_far >= 100 => so_far.is_multiple_of(100) && number < 100,
        Some(so_far) => so_far >= 20 && so_far.is_multiple_of(10) && number < 10,
    }
}

/// `a hundred`, `hundred`; not `hundreds of`.
fn starts_scale(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    let plural = token.fold.ends_with('s') && doc.speaks(EN);
    !plural && !doc.word(i, &["mil", "mille", "grand", "mila"])
        || doc.word(i, &["mil", "mille"]) && !token.capital()
}

/// Whether a lone number word is meant as a number: ordinals need a determiner before them.
fn is_meant(doc: &Doc<'_>, i: usize) -> bool {
    let token = &doc.tokens[i];
    if token.is(Flag::Ordinal) {
        let small = token.entry.number <= 2;
        let determined = doc.before(i).is_some_and(|t| {
            t.possessive
                || t.is(Flag::Article)
                || matches!(
                    t.fold.as_ref(),
                    "the"
                        | "her"
                        | "his"
                        | "their"
                        | "my"
                        | "our"
                        | "its"
                        | "your"
                        | "el"
                        | "la"
                        | "su"
                        | "o"
                        | "sua"
                        | "seu"
                        | "il"
                        | "le"
                        | "sa"
                        | "son"
                        | "de"
                        | "zijn"
                        | "haar"
                )
        });
        let idle = doc.word(
            i + 1,
            &[
                "thing", "name", "place", "of", "and", "half", "aid", "hand", "language", "is",
                "was", "one", "ones",
            ],
        );
        return !idle && (determined || (!small && !token.opens));
    }
    // A capital in mid-sentence makes it a title or a name: `the Seven Sisters`.
    true
}

/// `half a million`, `a quarter of a million`.
fn of_scale(doc: &Doc<'_>, value: Value) -> Value {
    let skipped = (0..3)
        .take_while(|n| doc.word(value.end + n, &["of", "a", "an"]))
        .count();
    let at = value.end + skipped;
    let scale = doc
        .get(at)
        .filter(|t| t.entry.scale > 0 && doc.speaks_of(t.entry.scale_langs));
    match (scale, value.text.parse::<f64>()) {
        (Some(token), Ok(part)) => {
            let text = decimal(part * 10f64.powi(i32::from(token.entry.scale)));
            Value {
                text,
                end: at + 1,
                ..value
            }
        }
        _ => value,
    }
}

/// `half a`, `a third of`, `a quarter of`, `half`.
fn special(doc: &Doc<'_>, i: usize) -> Option<Value> {
    let done = |text: &str, end: usize| {
        Some(Value {
            text: text.into(),
            end,
            solid: true,
            ordinal: false,
        })
    };
    if doc.word(
        i,
        &[
            "half",
            "halbe",
            "halben",
            "halber",
            "demi",
            "media",
            "mezzo",
            "mezza",
            "meia",
            "полчаса",
            "половина",
            "half-an",
        ],
    ) {
        let hyphened = doc.symbol(i + 1, "-")
            && !doc.word(i + 2, &["hour", "day", "year", "an", "a"])
            || doc.before(i).is_some_and(|t| t.symbol("-"));
        let article = usize::from(doc.word(i + 1, &["a", "an"]))
            + 2 * usize::from(doc.symbol(i + 1, "-") && doc.word(i + 2, &["a", "an"]));
        let counts = doc
            .get(i + 1 + article)
            .is_some_and(|t| t.entry.unit().is_some() || t.entry.scale > 0)
            || doc.word(i + 1, &["of", "the", "his", "her", "their", "-"])
            || doc.symbol(i + 1, "-");
        let english = doc.speaks(EN) || doc.get(i + 1).is_some_and(|t| t.entry.unit().is_some());
        return (!hyphened && counts && english)
            .then(|| done("0.5", i + 1 + article))
            .flatten();
    }
    if doc.word(i, &["dozen", "dutzend"]) {
        return done("12", i + 1);
    }
    if doc.word(i + 1, &["third", "thirds"])
        && (doc.word(i, &["a", "one"]) && doc.word(i + 2, &["of"]) || doc.word(i, &["two"]))
    {
        return done(if doc.word(i, &["two"]) { "2/3" } else { "1/3" }, i + 2);
    }
    if doc.word(i + 1, &["quarter", "quarters"])
        && (doc.word(i, &["a", "one"]) && doc.word(i + 2, &["of"]) || doc.word(i, &["three"]))
    {
        return done(
            if doc.word(i, &["three"]) {
                "0.75"
            } else {
                "0.25"
            },
            i + 2,
        );
    }
    None
}

fn dozen(doc: &Doc<'_>, value: Value) -> Value {
    if !doc.word(value.end, &["dozen"]) {
        return value;
    }
    match value.text.parse::<u64>() {
        Ok(n) => Value {
            text: format_args!("{}", n.saturating_mul(12)).into(),
            end: value.end + 1,
            solid: true,
            ..value
        },
        Err(_) => value,
    }
}

/// German and Dutch compounds: `dreiundzwanzig`, `zweihundert`.
fn germanic(word: &str) -> Option<u64> {
    let small = |part: &str| -> Option<u64> {
        if matches!(part, "ein" | "eins" | "een") {
            return Some(1);
        }
        let entry = lexicon::look_up(part);
        (entry.number_langs & (DE | NL) != 0 && !entry.is(Flag::Ordinal))
            .then_some(u64::from(entry.number))
    };
    if word.len() < 8 || !word.is_ascii() {
        return None;
    }
    for (mark, scale) in [("tausend", 1000), ("hundert", 100), ("honderd", 100)] {
        if let Some((head, tail)) = word.split_once(mark) {
            let head = if head.is_empty() { 1 } else { small(head)? };
            let tail = if tail.is_empty() {
                0
            } else {
                small(tail).or_else(|| germanic(tail))?
            };
            return Some(head * scale + tail);
        }
    }
    ["und", "en"].iter().find_map(|and| {
        word.match_indices(and).take(3).find_map(|(at, _)| {
            let (unit, tens) = (small(&word[..at])?, small(&word[at + and.len()..])?);
            (unit < 10 && tens >= 20).then_some(unit + tens)
        })
    })
}

fn italian(word: &str) -> Option<u64> {
    const TENS: [(&str, u64); 8] = [
        ("vent", 20),
        ("trent", 30),
        ("quarant", 40),
        ("cinquant", 50),
        ("sessant", 60),
        ("settant", 70),
        ("ottant", 80),
        ("novant", 90),
    ];
    let (rest, tens) = TENS
        .iter()
        .find_map(|(t, n)| word.strip_prefix(t).map(|r| (r, *n)))?;
    let unit = match rest.trim_start_matches(['i', 'a']) {
        "uno" | "un" => 1,
        "due" => 2,
        "tre" => 3,
        "quattro" => 4,
        "cinque" => 5,
        "sei" => 6,
        "sette" => 7,
        "otto" | "tto" => 8,
        "nove" => 9,
        _ => return None,
    };
    Some(tens + unit)
}

/// The unit after a value, and where it ends.
fn unit_after(doc: &Doc<'_>, value: &Value) -> (Option<Unit>, usize) {
    let mut at = value.end;
    if doc.symbol(at, "-")
        && doc
            .get(at + 1)
            .is_some_and(|t| t.glued() && t.kind == Kind::Word)
    {
        at += 1;
    }
    let plain = (None, value.end);
    let Some(token) = doc.get(at).filter(|t| t.gap < Gap::Line && !t.opens) else {
        return plain;
    };
    if let Some((unit, end)) = degrees(doc, at) {
        return (Some(unit), end);
    }
    if let Some((end, unit)) = crate::cjk::dictionary(doc, at, |e| e.unit())
        .filter(|_| matches!(token.kind, Kind::Han | Kind::Kana))
    {
        return (Some(unit), end);
    }
    let two_words = doc.phrase(at, &["per", "cent"])
        || doc.phrase(at, &["por", "ciento"])
        || doc.phrase(at, &["pour", "cent"])
        || doc.phrase(at, &["por", "cento"])
        || doc.phrase(at, &["per", "cento"]);
    if two_words {
        return (lexicon::unit("%"), at + 2);
    }
    let Some(unit) = word_unit(doc, at, value) else {
        return plain;
    };
    if let Some((rate, end)) = per(doc, at, unit) {
        return (Some(rate), end);
    }
    if doc.symbol(at + 1, "²") || doc.symbol(at + 1, "2") {
        return (lexicon::unit("sqm"), at + 2);
    }
    (Some(unit), at + 1)
}

fn word_unit(doc: &Doc<'_>, i: usize, value: &Value) -> Option<Unit> {
    let token = doc.get(i)?;
    let glued = token.glued() || doc.before(i).is_some_and(|t| t.symbol("-"));
    let single = token.fold.chars().count() == 1 && token.kind == Kind::Word;
    if single && (doc.is_function(token) || token.case == Case::Upper) && !glued {
        return None;
    }
    if value.ordinal && !glued
        || (token.is(Flag::Ordinal) && token.fold == "second" && !glued && *value.text != *"1")
    {
        return None;
    }
    if token.case == Case::None {
        return korean_unit(token);
    }
    // `5 a day`, `2 in a row`: function words that look like units are none.
    if doc.is_function(token)
        && !matches!(
            token.fold.as_ref(),
            "ora" | "times" | "time" | "hora" | "dia" | "an" | "mes" | "jour" | "uur"
        )
    {
        return None;
    }
    token.entry.unit()
}

/// Korean units carry their particles.
fn korean_unit(token: &Token<'_>) -> Option<Unit> {
    token.entry.unit().or_else(|| {
        let stripped = crate::fold::strip_endings(&token.fold);
        lexicon::unit(stripped).or_else(|| {
            let names = [
                "킬로미터",
                "킬로그램",
                "시간",
                "개월",
                "유로",
                "달러",
                "퍼센트",
                "미터",
                "그램",
                "년",
                "주",
                "분",
                "원",
                "도",
                "번",
            ];
            names
                .iter()
                .find(|n| token.fold.starts_with(**n))
                .and_then(|n| lexicon::unit(n))
        })
    })
}

fn degrees(doc: &Doc<'_>, i: usize) -> Option<(Unit, usize)> {
    let token = doc.get(i)?;
    let named = |at: usize| {
        let scale = doc.get(at).filter(|t| t.gap < Gap::Line)?;
        match scale.fold.as_ref() {
            "c" | "celsius" | "摄氏度" => lexicon::unit("celsius"),
            "f" | "fahrenheit" => lexicon::unit("fahrenheit"),
            _ => None,
        }
    };
    if token.entry.unit().is_some_and(|u| u.base == "deg") {
        return Some(named(i + 1).map_or_else(
            || {
                (
                    Unit {
                        base: "deg",
                        factor: 1.0,
                    },
                    i + 1,
                )
            },
            |u| (u, i + 2),
        ));
    }
    if token.case == Case::Upper || token.fold.len() > 1 {
        return named(i).map(|u| (u, i + 1));
    }
    match token.fold.as_ref() {
        "°c" => lexicon::unit("celsius").map(|u| (u, i + 1)),
        "°f" => lexicon::unit("fahrenheit").map(|u| (u, i + 1)),
        _ => None,
    }
}

/// `km/h`, `miles per hour`.
fn per(doc: &Doc<'_>, i: usize, unit: Unit) -> Option<(Unit, usize)> {
    let slash = doc.symbol(i + 1, "/") || doc.word(i + 1, &["per"]);
    let hour = doc.word(i + 2, &["h", "hr", "hour", "std", "stunde"]);
    if !slash || !hour {
        return None;
    }
    match unit.base {
        "m" => Some((
            Unit {
                base: "km/h",
                factor: unit.factor / 1000.0,
            },
            i + 3,
        )),
        "mile" => Some((
            Unit {
                base: "mile/h",
                factor: 1.0,
            },
            i + 3,
        )),
        _ => None,
    }
}

/// In `3 to 5 km` the three is in kilometres as well.
fn shared_unit(doc: &Doc<'_>, i: usize) -> Option<Unit> {
    let joined = doc.word(
        i,
        &[
            "to", "and", "or", "bis", "und", "oder", "a", "à", "y", "et", "e", "до", "и", "tot",
            "en",
        ],
    ) || ["-", "–", "—", "~", "〜", "/"]
        .iter()
        .any(|s| doc.symbol(i, s));
    if !joined {
        return None;
    }
    let next = value(doc, i + 1)?;
    unit_after(doc, &next).0
}

/// `years old` and its like after a number; returns where it ends.
fn age_end(doc: &Doc<'_>, end: usize) -> Option<usize> {
    let at = end + usize::from(doc.symbol(end, "-"));
    doc.word(at, &["old", "alt", "alte", "alter", "oud", "olds", "年纪"])
        .then_some(at + 1)
}

/// `twice`, `double`, `3x`, `3-mal`.
fn multiple(reading: &mut Draft<'_>, i: usize) -> Option<usize> {
    let doc = &reading.doc;
    let token = doc.get(i)?;
    if token.is(Flag::Carrier) {
        reading
            .implied
            .push(Amount::bare(format_args!("{}", token.entry.number)));
        return None;
    }
    if !(token.is(Flag::Multiple) && doc.speaks_of(token.entry.number_langs)) {
        return None;
    }
    let checked = doc.word(i + 1, &["check", "checked", "checking", "checks"]);
    if checked {
        return None;
    }
    let amount = Amount {
        unit: "times",
        ..Amount::bare(format_args!("{}", token.entry.number))
    };
    add(reading, i, i + 1, amount);
    Some(i + 1)
}

/// Words that announce a number which is one although it is written in groups.
const ANNOUNCING: [&str; 25] = [
    "phone",
    "tel",
    "telefon",
    "call",
    "cell",
    "mobile",
    "whatsapp",
    "fax",
    "isbn",
    "téléphone",
    "teléfono",
    "телефон",
    "iban",
    "telefono",
    "handy",
    "handynummer",
    "telefonnummer",
    "nummer",
    "number",
    "numero",
    "номер",
    "phone",
    "电话",
    "电話",
    "전화번호",
];

/// A telephone number or another long number written in groups.
fn phone(doc: &Doc<'_>, i: usize) -> Option<(usize, Short)> {
    let plus = doc.symbol(i, "+");
    let bracket = doc.symbol(i, "(");
    let start = i + usize::from(plus || bracket);
    doc.get(start).filter(|t| t.kind == Kind::Number)?;
    let (mut digits, mut at, mut groups, mut hyphens) = (Short::default(), start, 0, 0);
    let mut end = start;
    while groups < MOST_GROUPS {
        let Some(token) = doc
            .get(at)
            .filter(|t| t.kind == Kind::Number && t.gap < Gap::Line || at == start)
        else {
            break;
        };
        digits.push_str(&token.fold);
        groups += 1;
        at += 1;
        end = at;
        while doc.get(at).is_some_and(|t| {
            t.kind == Kind::Symbol
                && t.gap < Gap::Line
                && matches!(t.fold.as_ref(), "-" | "." | "/" | "(" | ")" | "‑")
        }) && at < end + 2
        {
            hyphens += usize::from(doc.symbol(at, "-"));
            at += 1;
        }
    }
    let first = doc.get(start)?.fold.as_ref();
    let announced = || {
        (1..=3).any(|n| {
            start
                .checked_sub(n)
                .is_some_and(|j| doc.word(j, &ANNOUNCING))
        })
    };
    let year_range = groups == 2 && digits.len() == 8 && hyphens == 1;
    let long = digits.len() >= 7 && groups >= 2 && !year_range;
    let shaped = plus || bracket || first.starts_with('0') || hyphens >= 1;
    ((long && (shaped || announced())) || (plus && digits.len() >= 7)).then_some((end, digits))
}

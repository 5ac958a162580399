//! Scripts without capitals: Chinese, Japanese, Korean, Arabic, Hebrew, Hindi.
//!
//! Owns number signs, dictionary look-up where no spaces divide words, and names, which are known
//! here by lists and by what stands around them.

use crate::DetailKind;
use crate::fold::strip_endings;
use crate::lexicon::{self, Entry, Flag};
use crate::reading::{Draft, Facts};
use crate::short::Short;
use crate::tokens::{Case, Doc, Gap, Kind, Token};

/// The longest dictionary word, in characters.
const LONGEST: usize = 5;

/// What `wanted` sees in the longest dictionary word at `i`, and where that word ends.
pub(crate) fn dictionary<T>(
    doc: &Doc<'_>,
    i: usize,
    wanted: impl Fn(&'static Entry) -> Option<T>,
) -> Option<(usize, T)> {
    let token = doc.get(i)?;
    match token.kind {
        Kind::Han | Kind::Kana => {
            let mut word = Short::default();
            let mut best = None;
            for n in 0..LONGEST.min(usize::from(token.entry.reach)) {
                let Some(next) = doc.get(i + n).filter(|t| {
                    matches!(t.kind, Kind::Han | Kind::Kana)
                        || t.case == Case::None && t.kind == Kind::Word
                }) else {
                    break;
                };
                word.push_str(&next.fold);
                if let Some(value) = wanted(lexicon::look_up(&word)) {
                    best = Some((i + n + 1, value));
                }
            }
            best
        }
        Kind::Word if token.case == Case::None => {
            let found = wanted(token.entry).or_else(|| wanted(lexicon::look_up(bare(&token.fold))));
            found.map(|value| (i + 1, value))
        }
        _ => wanted(token.entry).map(|value| (i + 1, value)),
    }
}

/// A word without the particle after it or the article and conjunction glued before it.
fn bare(word: &str) -> &str {
    let first = word.chars().next().map_or(0, |c| c as u32);
    match first {
        0xAC00..=0xD7A3 => strip_endings(word),
        0x0600..=0x06FF => ["وال", "بال", "لل", "ال", "و", "ب", "ل"]
            .iter()
            .find_map(|p| word.strip_prefix(p).filter(|r| r.len() >= 6))
            .unwrap_or(word),
        0x0590..=0x05FF => ["ב", "ל", "ו", "ה", "מ", "ש", "כ"]
            .iter()
            .find_map(|p| word.strip_prefix(p).filter(|r| r.len() >= 4))
            .unwrap_or(word),
        _ => word,
    }
}

fn numeral(c: &str) -> Option<u32> {
    Some(match c {
        "〇" | "零" => 0,
        "一" => 1,
        "二" | "两" | "兩" => 2,
        "三" => 3,
        "四" => 4,
        "五" => 5,
        "六" => 6,
        "七" => 7,
        "八" => 8,
        "九" => 9,
        "十" => 10,
        "百" => 100,
        "千" => 1000,
        "万" | "萬" => 10_000,
        _ => return None,
    })
}

/// Whether an amount, a date or a time can begin with the token, which is of a script without
/// capitals; a longer word of the lists that begins with an ideograph is not considered.
pub(crate) fn may_begin_amount(token: &Token<'_>) -> bool {
    // The halves of the day and the Hebrew weekdays have readers of their own.
    const HALVES: &str = "下上午晚早凌傍";
    match token.kind {
        Kind::Han => numeral(&token.fold).is_some() || HALVES.contains(token.fold.as_ref()),
        Kind::Word => {
            token.is(Flag::Amount)
                || token.fold == "새벽"
                || token
                    .fold
                    .starts_with(|c| ('\u{590}'..='\u{5ff}').contains(&c))
                || lexicon::look_up(bare(&token.fold)).is(Flag::Amount)
        }
        _ => false,
    }
}

/// The power of ten of a Chinese or Korean scale after digits; zero for any other word.
pub(crate) fn scale(word: &str) -> u32 {
    match word {
        "百" => 2,
        "千" | "천" => 3,
        "万" | "萬" | "만" | "만원" => 4,
        "亿" | "億" | "억" => 8,
        _ => 0,
    }
}

/// A number in number signs at `i`, and where it ends.
fn signs(doc: &Doc<'_>, i: usize) -> Option<(u32, usize)> {
    let (mut total, mut part, mut digit, mut at) = (0u32, 0u32, None::<u32>, i);
    while at < i + 10 {
        let Some(n) = doc
            .get(at)
            .filter(|t| t.kind == Kind::Han)
            .and_then(|t| numeral(&t.fold))
        else {
            break;
        };
        match n {
            0..=9 => digit = Some(digit.map_or(n, |d| d.saturating_mul(10).saturating_add(n))),
            10_000 => {
                total = total.saturating_add(
                    part.saturating_add(digit.take().unwrap_or(0))
                        .max(1)
                        .saturating_mul(n),
                );
                part = 0;
            }
            scale => part = part.saturating_add(digit.take().unwrap_or(1).saturating_mul(scale)),
        }
        at += 1;
    }
    (at > i).then(|| {
        (
            total
                .saturating_add(part)
                .saturating_add(digit.unwrap_or(0)),
            at,
        )
    })
}

/// A small number at `i` in digits, signs or Korean number words.
pub(crate) fn small_number(doc: &Doc<'_>, i: usize) -> Option<(u32, usize)> {
    let token = doc.get(i)?;
    match token.kind {
        Kind::Number if token.fold.len() <= 4 => Some((token.fold.parse().ok()?, i + 1)),
        Kind::Han => signs(doc, i),
        Kind::Word
            if token.case == Case::None
                && token.fold.starts_with(|c| ('가'..='힣').contains(&c))
                && token.entry.number > 0 =>
        {
            Some((token.entry.number, i + 1))
        }
        _ => None,
    }
}

/// A number in signs that counts something: several signs, or one before a measure word.
pub(crate) fn counted(doc: &Doc<'_>, i: usize) -> Option<(u32, usize)> {
    const MEASURES: &str = "个個名只隻条條本张張岁歲歳年月日号號点點时時分秒位件台辆輛元块塊円人匹冊枚回階米斤杯瓶次天周週层層楼樓室级級种種间間头頭家口才つ";
    let (value, end) = signs(doc, i)?;
    let next = doc.get(end).map_or("", |t| t.fold.as_ref());
    let counts =
        !next.is_empty() && MEASURES.contains(next) || dictionary(doc, end, |e| e.unit()).is_some();
    let ordinal = doc.before(i).is_some_and(|t| t.fold == "第");
    let one = value == 1 && !ordinal;
    let idle = matches!(next, "分") && value == 10;
    (!one && !idle && (counts || ordinal || (end - i >= 2 && value > 10))).then_some((value, end))
}

/// Finds names in scripts without capitals.
pub(crate) fn read(reading: &mut Draft<'_>) {
    let mut at = 0;
    while at < reading.doc.tokens.len() {
        let found = if reading.is_claimed(at) {
            None
        } else {
            name_at(&reading.doc, at)
        };
        if let Some((from, end)) = found {
            let key = joined(&reading.doc, from, end);
            reading.add(from, end, DetailKind::Name, key, Facts::Name);
            at = end.max(at + 1);
        } else {
            at += 1;
        }
    }
}

fn joined(doc: &Doc<'_>, from: usize, to: usize) -> Short {
    let mut word = Short::default();
    for token in &doc.tokens[from..to] {
        word.push_str(&token.fold);
    }
    bare(&word).into()
}

fn name_at(doc: &Doc<'_>, i: usize) -> Option<(usize, usize)> {
    let token = doc.get(i)?;
    if token.case != Case::None {
        return None;
    }
    match token.kind {
        Kind::Han | Kind::Kana => han_name(doc, i),
        Kind::Word => word_name(doc, i, token),
        _ => None,
    }
}

/// Katakana, Korean, Arabic, Hebrew and Hindi words.
fn word_name(doc: &Doc<'_>, i: usize, token: &Token<'_>) -> Option<(usize, usize)> {
    let first = token.fold.chars().next()? as u32;
    let known = token.is(Flag::Given) || lexicon::look_up(bare(&token.fold)).is(Flag::Given);
    if known {
        return Some((i, i + 1));
    }
    let titled = doc.before(i).is_some_and(|t| t.is(Flag::CaselessTitle));
    let found = match first {
        0x30A1..=0x30FA => {
            token.fold.chars().count() >= 2
                && !token.is(Flag::Common)
                && token.entry.unit().is_none()
        }
        0xAC00..=0xD7A3 => korean_name(doc, i, token),
        0x0590..=0x06FF => titled,
        0x0900..=0x097F => titled || doc.word(i + 1, &["जी"]),
        _ => false,
    };
    found.then_some((i, i + 1))
}

fn korean_name(doc: &Doc<'_>, i: usize, token: &Token<'_>) -> bool {
    const HONORIFICS: [&str; 12] = [
        "씨",
        "님",
        "과장",
        "대리",
        "부장",
        "팀장",
        "선생님",
        "교수님",
        "박사",
        "사장",
        "씨는",
        "씨가",
    ];
    let base = strip_endings(&token.fold);
    let honoured = doc
        .get(i + 1)
        .is_some_and(|t| t.gap < Gap::Line && HONORIFICS.iter().any(|h| t.fold.starts_with(h)))
        || token.fold.contains('씨') && !token.fold.starts_with('씨');
    let surname = base.starts_with([
        '김', '박', '최', '강', '윤', '황', '송', '홍', '권', '이', '정', '임', '한', '오', '서',
    ]) && base.chars().count() == 3;
    let rare = base.starts_with(['김', '박', '최', '윤', '황', '권']);
    let ordinary = [
        "김치는",
        "김치를",
        "최근에",
        "강아지",
        "박물관",
        "최소한",
        "윤리적",
        "이야기",
        "정말로",
        "한국어",
        "오늘은",
        "서비스",
        "한국인",
        "이메일",
    ];
    let after_ordinary = ordinary.contains(&base)
        || ordinary.contains(&token.fold.as_ref())
        || base.starts_with("최근")
        || base.starts_with("최고")
        || base.starts_with("김치")
        || base.starts_with("박사");
    !after_ordinary && (honoured || (surname && rare))
}

/// Chinese and Japanese names: a list, what stands before an honorific, a surname in the right place.
fn han_name(doc: &Doc<'_>, i: usize) -> Option<(usize, usize)> {
    if let Some((end, ())) = dictionary(doc, i, |e| e.is(Flag::Given).then_some(())) {
        return Some((i, end));
    }
    if dictionary(doc, i, |e| e.is(Flag::Common).then_some(())).is_some() {
        return None;
    }
    honoured(doc, i).or_else(|| surnamed(doc, i))
}

/// `田中さん`, `王先生`: the run of characters before the honorific, at most four.
fn honoured(doc: &Doc<'_>, i: usize) -> Option<(usize, usize)> {
    const HONORIFICS: [&[&str]; 18] = [
        &["さ", "ん"],
        &["様"],
        &["氏"],
        &["君"],
        &["く", "ん"],
        &["ち", "ゃ", "ん"],
        &["先", "生"],
        &["女", "士"],
        &["老", "师"],
        &["老", "師"],
        &["经", "理"],
        &["医", "生"],
        &["小", "姐"],
        &["教", "授"],
        &["部", "長"],
        &["社", "長"],
        &["博", "士"],
        &["阿", "姨"],
    ];
    const RELATIVES: &str = "お母父姉兄祖婆爷爸妈奥嫁娘息子皆学";
    let kind = doc.get(i)?.kind;
    if kind != Kind::Han
        || doc
            .get(i)
            .is_some_and(|t| RELATIVES.contains(t.fold.as_ref()))
    {
        return None;
    }
    let boundary = doc
        .before(i)
        .is_none_or(|t| t.kind != Kind::Han || !t.glued() || starts_name_after(&t.fold))
        || doc.tokens[i].gap != Gap::Glued;
    if !boundary && !lexicon::is_surname(doc.get(i)?.fold.chars().next()?) {
        return None;
    }
    let most = if boundary { 4 } else { 3 };
    (1..=most).find_map(|n| {
        let run = (i..i + n).all(|j| {
            doc.get(j).is_some_and(|t| {
                t.kind == Kind::Han
                    && (j == i || t.glued())
                    && !(j > i && starts_name_after(&t.fold))
            })
        });
        let named = run && HONORIFICS.iter().any(|h| doc.phrase(i + n, h));
        named.then_some((i, i + n))
    })
}

/// Characters after which a name may begin.
fn starts_name_after(c: &str) -> bool {
    "是和跟与與给給叫找同问問对對的，、为為向被把让請请见了在友事理名陪替比".contains(c)
}

/// Characters which end a Chinese name.
fn ends_name(c: &str) -> bool {
    "在是说說喜住有不去想会會的要每对對从從把用养養吃喝告和跟与與给給也都很还還就已于於將将让讓被下上来來到叫今明昨，。、：；？！正最每需应應能可因曾常为為负負同提问問请請家认認希表决決准準计建打买買过過没沒爱愛先女老经經医總总刚剛之做当當教通推主管发發回等".contains(c)
}

/// A surname and one or two more characters, at the head of a clause or after a word that
/// introduces people, and followed by what follows a name.
fn surnamed(doc: &Doc<'_>, i: usize) -> Option<(usize, usize)> {
    let token = doc.get(i)?;
    if token.kind != Kind::Han || !lexicon::is_surname(token.fold.chars().next()?) {
        return None;
    }
    let nick = doc
        .before(i)
        .is_some_and(|t| matches!(t.fold.as_ref(), "小" | "老" | "阿"));
    let head = doc
        .before(i)
        .is_none_or(|t| t.kind == Kind::Symbol || t.gap == Gap::Line)
        || token.gap != Gap::Glued
        || doc
            .before(i)
            .is_some_and(|t| t.kind != Kind::Han && t.kind != Kind::Kana);
    let introduced = doc.before(i).is_some_and(|t| starts_name_after(&t.fold));
    if nick && doc.get(i + 1).is_some_and(|t| ends_name(&t.fold)) {
        return Some((i - 1, i + 1));
    }
    if !(head || introduced) {
        return None;
    }
    let mut end = i + 1;
    while end < i + 3
        && doc.get(end).is_some_and(|t| {
            t.kind == Kind::Han && t.glued() && !ends_name(&t.fold) && numeral(&t.fold).is_none()
        })
    {
        end += 1;
    }
    let closed = doc
        .get(end)
        .is_none_or(|t| t.kind != Kind::Han || ends_name(&t.fold));
    (end > i + 1 && closed).then_some((i, end))
}

//! Gemini's activity in an export of Google Takeout (`My Activity.json`): an array of entries, the newest first. A
//! prompt is in the title, behind a word in the user's language; the response is HTML. Entries of other products, and
//! those on settings and ratings, are the program's own.
//!
//! The file has no identifiers of messages: as in `codex.rs`, time, speaker and text identify one.

use crate::{
    NoMessageReason,
    gather::{FoundMessage, identifier_of, optional, string, time},
    raw::Raw,
};

/// The products whose entries are conversations, by a part of their name; Bard is the earlier one.
const PRODUCTS: [&str; 2] = ["Gemini", "Bard"];
/// The word before a prompt.
const PROMPTED: &str = "Prompted";
/// The beginnings of titles without a prompt.
const OTHERS: [&str; 3] = ["Created", "Used", "Gave feedback"];
/// The elements of HTML that begin and end a line.
const BLOCKS: &str = " blockquote br div h1 h2 h3 h4 h5 h6 hr ol p pre table tr ul ";

/// The prompt of an entry, and its response where it has one.
pub(crate) fn read(entry: Raw<'_>) -> Result<Vec<FoundMessage>, NoMessageReason> {
    let [header, products, title, at] = entry.fields(["header", "products", "title", "time"])?;
    let [items, image, files] = entry.fields(["safeHtmlItem", "imageFile", "attachedFiles"])?;
    let is_of_gemini = [header, products].into_iter().flatten().any(|names| {
        let names = String::from_utf8_lossy(names.bytes());
        PRODUCTS.iter().any(|name| names.contains(name))
    });
    if !is_of_gemini {
        return Err(NoMessageReason::Bookkeeping);
    }
    let title = string(title, "title")?;
    let answer = items.map_or(Ok(String::new()), joined)?;
    let answer = answer.trim();
    let begins = |beginning: &&str| title.starts_with(beginning);
    let prompt = match title.strip_prefix(PROMPTED) {
        Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => rest.trim(),
        _ if answer.is_empty() || OTHERS.iter().any(begins) => {
            return Err(NoMessageReason::Bookkeeping);
        }
        // In another language, where nothing shows which word is the program's.
        _ => title.trim(),
    };
    let count = |part: Option<Raw<'_>>| u32::from(part.is_some_and(|part| !part.is_null()));
    let attached = count(image) + count(files);
    let said = [("user", prompt, attached), ("assistant", answer, 0)].into_iter();
    let said = said.map(|(speaker, text, left_out)| FoundMessage {
        id: identifier_of(&optional(at), speaker, text),
        at: time(at),
        speaker: speaker.to_owned(),
        text: text.to_owned(),
        left_out,
    });
    Ok(said.take(if answer.is_empty() { 1 } else { 2 }).collect())
}

/// The text of a response, of which an entry may have several parts.
fn joined(items: Raw<'_>) -> Result<String, NoMessageReason> {
    let mut texts = Vec::new();
    if !items.is_null() {
        for item in items.elements()? {
            let [html] = item?.fields(["html"])?;
            texts.push(plain(&optional(html)));
        }
    }
    let mut text = texts.join("\n\n");
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    Ok(text)
}

/// The text of HTML: a block is a line, and an item of a list begins with a hyphen.
fn plain(html: &str) -> String {
    let mut pieces = html.split('<');
    let mut text = decoded(pieces.next().unwrap_or_default());
    for piece in pieces {
        // A bracket of the text itself is an entity.
        let (tag, words) = piece.split_once('>').unwrap_or((piece, ""));
        let is_name = |letter: &char| letter.is_ascii_alphanumeric();
        let name = tag.trim_start_matches('/').chars().take_while(is_name);
        let name = name.collect::<String>().to_ascii_lowercase();
        match name.as_str() {
            "li" if !tag.starts_with('/') => text.push_str("\n- "),
            "td" | "th" => text.push(' '),
            block if BLOCKS.contains(&format!(" {block} ")) => text.push('\n'),
            _ => {}
        }
        text.push_str(&decoded(words));
    }
    text
}

/// The text with the characters in place of their entities.
fn decoded(text: &str) -> String {
    let mut pieces = text.split('&');
    let mut decoded = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let entity = piece.split_once(';');
        let entity = entity.and_then(|(name, rest)| Some((character(name)?, rest)));
        let (first, rest) = entity.unwrap_or(('&', piece));
        decoded.push(first);
        decoded.push_str(rest);
    }
    decoded
}

/// The character of that entity; `None` where it is not known.
fn character(name: &str) -> Option<char> {
    let code = match name {
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        "nbsp" => return Some(' '),
        _ => name.strip_prefix('#')?,
    };
    let code = match code.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => code.parse(),
    };
    char::from_u32(code.ok()?)
}

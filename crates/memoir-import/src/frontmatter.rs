//! The fields before a page of Markdown: YAML between two lines of `---`, or TOML between two of `+++`.
//!
//! Only the YAML that pages use is read: fields with a text, a list on one line or on several, texts in quotes or over
//! several lines, and objects, whose fields are named with a dot. Anything else is skipped. No parser of YAML is used:
//! it would refuse a whole page for a title with a colon.

use std::{borrow::Cow, collections::BTreeMap};

/// Most lines that are read.
const LINES: usize = 2_000;
/// Longest name of a field, with those of its objects, in bytes; a field with a longer one is skipped.
// It is kept once for each field of an object: without a bound, a page of two megabytes takes gigabytes.
const NAME: usize = 128;

/// Most blocks of fields: a program's and the author's.
const BLOCKS: usize = 2;
/// Fields that programs and people have, by which a second block is recognised.
const KNOWN: [&str; 12] = [
    "aliases",
    "created",
    "created_at",
    "date",
    "description",
    "id",
    "permalink",
    "tag",
    "tags",
    "title",
    "type",
    "updated",
];

#[derive(Debug, Default)]
pub(crate) struct Fields {
    texts: BTreeMap<String, String>,
    lists: BTreeMap<String, Vec<String>>,
}

/// The fields of a page, and its body; no fields where it does not begin with them.
///
/// A program that adds fields of its own may write them above the author's: then both blocks count, and of two fields
/// of one name the author's.
pub(crate) fn split(page: &str) -> (Fields, &str) {
    let page = page.trim_start_matches('\u{FEFF}');
    let mut fields = Fields::default();
    let mut rest = page;
    let is_known = |found: &Fields| KNOWN.iter().any(|name| found.has(name));
    for place in 0..BLOCKS {
        // The same marks in the middle of a page are rules between its parts.
        let is_first = place == 0 && rest.starts_with("---");
        let Some((found, body)) = block(rest).filter(|(found, _)| is_first || is_known(found))
        else {
            break;
        };
        fields.texts.extend(found.texts);
        fields.lists.extend(found.lists);
        rest = body;
        // The text of a memory may begin with fields, which are its own words.
        if fields.has("memoir.number") {
            break;
        }
    }
    (fields, rest)
}

/// The fields at the beginning of `page`, behind blank lines and comments, and the text after them.
pub(crate) fn block(page: &str) -> Option<(Fields, &str)> {
    let mut rest = page.trim_start();
    while let Some(comment) = rest.strip_prefix("<!--") {
        rest = comment.split_once("-->")?.1.trim_start();
    }
    let (fence, rest) = rest.split_once('\n')?;
    let is_toml = match fence.trim_end() {
        "---" | "---yaml" | "--- yaml" => false,
        "+++" => true,
        _ => return None,
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n').take(LINES) {
        let is_end = match line.trim_end() {
            "+++" => is_toml,
            // YAML ends a document with dots, too.
            "---" | "..." => !is_toml,
            _ => false,
        };
        if is_end {
            let (text, body) = (&rest[..at], &rest[at + line.len()..]);
            let fields = match is_toml {
                true => Fields::of_toml(text)?,
                // A paragraph between two rules at the beginning of a page is no field.
                false if !are_fields(text) => return None,
                false => Fields::read(text),
            };
            return Some((fields, body));
        }
        at += line.len();
    }
    // Without an end they are not fields: a page must not be lost by its first line.
    None
}

/// Whether these lines may be fields: one of them is, or all are blank.
fn are_fields(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    is_object(text) && text.contains(':') || lines.clone().any(is_field) || lines.next().is_none()
}

/// Whether the fields are one object in brackets.
fn is_object(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('{') && text.ends_with('}')
}

/// Whether a line begins a field of the page itself.
fn is_field(line: &str) -> bool {
    let name = line.split_once(':').filter(|(_, value)| {
        // `https://…` is no field.
        value.is_empty() || value.starts_with([' ', '\t', '[', '"', '\''])
    });
    name.is_some_and(|(name, _)| {
        // A sentence with a colon has more words.
        !name.starts_with([' ', '\t', '-', '#']) && name.split_whitespace().count() <= 3
    })
}

impl Fields {
    /// A field's text, where it has one that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.texts.get(name).map(String::as_str);
        text.filter(|text| !text.is_empty())
    }

    /// A field's text, or the one item of its list: a date may be written as a link (`[[2026-03-01]]`).
    pub(crate) fn text_or_item(&self, name: &str) -> Option<&str> {
        let item = || match self.lists.get(name)?.as_slice() {
            [only] => Some(only.trim_matches(['[', ']', '"'])),
            _ => None,
        };
        self.text(name).or_else(item)
    }

    /// The first of these that has a text.
    pub(crate) fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.text(name))
    }

    /// A field's list; a text with commas or number signs is one too.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        match (self.lists.get(name), self.text(name)) {
            (Some(list), _) => list.clone(),
            (None, Some(text)) => crate::tags::of_text(text),
            (None, None) => Vec::new(),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.texts.contains_key(name) || self.lists.contains_key(name)
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        matches!(self.text(name), Some("true" | "True" | "yes"))
    }

    /// Fields in TOML; those of a table are named with a dot. `None` where it is none.
    fn of_toml(text: &str) -> Option<Self> {
        let mut fields = Self::default();
        for (name, value) in text.parse::<toml::Table>().ok()? {
            fields.add_toml(name.to_lowercase(), value);
        }
        Some(fields)
    }

    fn add_toml(&mut self, name: String, value: toml::Value) {
        if name.len() > NAME {
            return;
        }
        match value {
            // The parser limits the depth.
            toml::Value::Table(table) => {
                for (inner, value) in table {
                    self.add_toml(format!("{name}.{inner}"), value);
                }
            }
            toml::Value::Array(values) => {
                let texts = values.into_iter().map(toml_text).collect();
                self.lists.insert(name, texts);
            }
            value => {
                self.texts.insert(name, toml_text(value));
            }
        }
    }

    fn read(text: &str) -> Self {
        let mut fields = Self::default();
        if is_object(text) {
            let lines = text.lines().map(without_comment);
            fields.object("", &lines.collect::<Vec<_>>().join(" "));
            return fields;
        }
        // The names of the line's objects, each with its indentation.
        let mut within: Vec<(usize, String)> = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let bare = line.trim();
            if bare.is_empty() || bare.starts_with('#') {
                continue;
            }
            let indentation = indentation(line);
            while within.last().is_some_and(|(at, _)| *at >= indentation)
                // In YAML, a list may have the indentation of its name, and still belong to it.
                && !(bare.starts_with("- ")
                    && within.last().is_some_and(|(at, _)| *at == indentation))
            {
                within.pop();
            }
            if let Some(item) = bare.strip_prefix("- ").or((bare == "-").then_some("")) {
                // The items of a list within the list are items of it.
                let item = item.trim_start_matches("- ");
                if let Some((_, name)) = within.last() {
                    let list = fields.lists.entry(name.clone()).or_default();
                    list.push(scalar(item));
                }
                continue;
            }
            if let Some((_, name)) = within.last().filter(|_| bare.starts_with('[')) {
                let list = fields.lists.entry(name.clone()).or_default();
                list.extend(items(bare));
                continue;
            }
            // A value that begins on the line after its name.
            if let Some((_, name)) = within.last()
                && !is_field(bare)
            {
                let more = scalar(without_comment(bare));
                let text = fields.texts.entry(name.clone());
                text.and_modify(|text| *text = format!("{text} {more}"))
                    .or_insert(more);
                continue;
            }
            let Some((name, value)) = bare.split_once(':') else {
                continue;
            };
            // Programs write them in lower case; people do not.
            let name = &*name.trim().trim_matches(['"', '\'']).to_lowercase();
            let whole = match within.last() {
                // Not joined first where it is too long: a name may be all of the page.
                Some((_, outer)) if within.len() < 8 && name.len() < NAME => {
                    format!("{outer}.{name}")
                }
                _ => name.to_owned(),
            };
            if whole.len() > NAME {
                continue;
            }
            let mut value = Cow::Borrowed(without_comment(value));
            let is_block = value.starts_with(['|', '>']) && value.len() <= 3;
            // A value may go on on the next lines: those that are further in, and all up to the bracket of a list.
            let mut is_open = value.starts_with(['[', '{']) && !closes(&value);
            while !value.is_empty()
                && !is_block
                && let Some(next) = lines.peek()
                && (self::indentation(next) > indentation || is_open && !is_field(next))
            {
                let next = without_comment(next);
                is_open &= !closes(next);
                let value = value.to_mut();
                value.push(' ');
                value.push_str(next);
                lines.next();
            }
            let value = value.as_ref();
            match value.chars().next() {
                None => within.push((indentation, whole)),
                // The mark with its two signs at most (`|2-`); more is a text that begins with it.
                Some('|' | '>') if is_block => {
                    let mut block: Vec<&str> = Vec::new();
                    while let Some(next) = lines.peek()
                        && (next.trim().is_empty() || self::indentation(next) > indentation)
                    {
                        block.push(next);
                        lines.next();
                    }
                    let text = block_text(&block, value.starts_with('>'));
                    fields.texts.insert(whole, text);
                }
                Some(_) => fields.add(whole, value),
            }
        }
        fields
    }

    /// The fields of an object on one line, with its name and a dot before theirs where it has one.
    fn object(&mut self, name: &str, value: &str) {
        let inside = value.trim().strip_prefix('{').unwrap_or(value);
        let inside = inside.trim().strip_suffix('}').unwrap_or(inside);
        for field in parts(inside) {
            let Some((inner, value)) = field.split_once(':') else {
                continue;
            };
            let inner = inner.trim().trim_matches(['"', '\'']);
            // Each object within another has a longer name, so that the depth is limited too.
            if !inner.is_empty() && name.len() + inner.len() < NAME {
                let dot = if name.is_empty() { "" } else { "." };
                let name = format!("{name}{dot}{}", inner.to_lowercase());
                self.add(name, without_comment(value));
            }
        }
    }

    /// Adds a field with a value on one line.
    fn add(&mut self, name: String, value: &str) {
        match value.chars().next() {
            // `[Draft] Plan` is a text.
            Some('[') if value.ends_with(']') => {
                self.lists.insert(name, items(value));
            }
            Some('{') if value.ends_with('}') => self.object(&name, value),
            _ => {
                self.texts.insert(name, scalar(value));
            }
        }
    }
}

/// The text of lines below their name: without their common indentation; where they are folded, a line break is a
/// space, and a blank line a line break.
fn block_text(lines: &[&str], is_folded: bool) -> String {
    let first = lines.iter().find(|line| !line.trim().is_empty());
    let common = first.map_or(0, |line| indentation(line));
    let mut text = String::new();
    for line in lines {
        let line = match line.get(common..) {
            Some(rest) if line[..common].trim().is_empty() => rest.trim_end(),
            _ => line.trim(),
        };
        let is_break = text.is_empty() || text.ends_with('\n');
        match (is_folded, line.is_empty()) {
            (true, true) => text.push('\n'),
            (true, false) if !is_break => text.push(' '),
            (false, _) if !text.is_empty() => text.push('\n'),
            _ => {}
        }
        text.push_str(line);
    }
    text.trim().to_owned()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A value without its quotes, and without a comment behind it.
fn scalar(value: &str) -> String {
    let value = without_comment(value);
    if value.starts_with('"') && value.len() > 1 && value.ends_with('"') {
        // The escapes of YAML's double quotes are those of JSON, as far as pages use them.
        let unescaped = serde_json::from_str::<String>(value);
        return unescaped.unwrap_or_else(|_| value.trim_matches('"').to_owned());
    }
    if value.starts_with('\'') && value.len() > 1 && value.ends_with('\'') {
        return value[1..value.len() - 1].replace("''", "'");
    }
    match value {
        "null" | "~" => String::new(),
        value => value.to_owned(),
    }
}

fn without_comment(value: &str) -> &str {
    let mut before = ' ';
    // With a space before it: `a#b` is a value.
    let comment = outside_quotes(value).find(|(_, character)| {
        let is_comment = *character == '#' && before.is_whitespace();
        before = *character;
        is_comment
    });
    value[..comment.map_or(value.len(), |(at, _)| at)].trim()
}

/// Whether a list or an object ends in these characters.
fn closes(text: &str) -> bool {
    outside_quotes(text).any(|(_, character)| matches!(character, ']' | '}'))
}

/// The items of a list with its brackets, and those of the lists within it.
fn items(list: &str) -> Vec<String> {
    let list = without_comment(list);
    let items = cut(list, outside_quotes(list), |letter| {
        matches!(letter, ',' | '[' | ']')
    });
    let items = items.map(scalar);
    items.filter(|item| !item.is_empty()).collect()
}

/// The parts between commas that are in no bracket.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let outside = outside_quotes(text).filter(move |(_, letter)| {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    cut(text, outside, |letter| letter == ',')
}

/// The parts of a text between those of its `letters`, each with its byte, that are separators. Each is one byte long.
fn cut<'a>(
    text: &'a str,
    letters: impl Iterator<Item = (usize, char)> + 'a,
    is_separator: impl Fn(char) -> bool + 'a,
) -> impl Iterator<Item = &'a str> {
    let separators = letters.filter(move |(_, letter)| is_separator(*letter));
    let mut begin = 0;
    let ends = separators.map(|(at, _)| at).chain([text.len()]);
    ends.map(move |end| {
        let part = &text[begin..end];
        begin = (end + 1).min(text.len());
        part
    })
}

/// The characters that are in no quotation marks, each with its byte.
fn outside_quotes(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut before) = (None, ' ');
    text.char_indices().filter(move |(_, character)| {
        let is_mark = match quote {
            Some(open) => open == *character && before != '\\',
            // Within a word it is an apostrophe.
            None => matches!(character, '"' | '\'') && !before.is_alphanumeric(),
        };
        if is_mark {
            quote = quote.xor(Some(*character));
        }
        before = *character;
        quote.is_none()
    })
}

fn toml_text(value: toml::Value) -> String {
    match value {
        toml::Value::String(text) => text,
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(truth) => truth.to_string(),
        toml::Value::Datetime(time) => time.to_string(),
        toml::Value::Array(_) | toml::Value::Table(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_read_in_the_forms_that_pages_have() {
        let page = "---\ntitle: \"A \\\"B\\\": c\"\ntags:\n  - one\n- two words\nmore: [x, 'y z']\nmetadata:\n  type: user # of four\n  deep:\n    at: 2026-03-01\nempty:\nnote: >\n  first\n  second\ngenerated: {by: \"memoir/0.1\", at: 2026-03-01T10:00:00Z}\nlist: a, b\n---\nBody\n---\nmore";
        let (fields, body) = split(page);
        assert_eq!(body, "Body\n---\nmore");
        assert_eq!(fields.text("title"), Some("A \"B\": c"));
        assert_eq!(fields.list("tags"), ["one", "two words"]);
        assert_eq!(fields.list("more"), ["x", "y z"]);
        assert_eq!(fields.text("metadata.type"), Some("user"));
        assert_eq!(fields.text("metadata.deep.at"), Some("2026-03-01"));
        assert_eq!(fields.text("note"), Some("first second"));
        assert_eq!(fields.text("generated.at"), Some("2026-03-01T10:00:00Z"));
        assert_eq!(fields.list("list"), ["a", "b"]);
        assert!(!fields.has("empty") && fields.has("tags"));
    }

    /// The title, the tags and the date of a page, and its body.
    fn known(page: &str) -> [String; 4] {
        let (fields, body) = split(page);
        let text = |name: &str| fields.text(name).unwrap_or_default().to_owned();
        let tags = fields.list("tags").join("|");
        [text("title"), tags, text("created"), body.trim().into()]
    }

    #[test]
    fn fields_that_people_write_are_read_too() {
        let upper = "---\nTitle: Knots\nTags: k1, k2\nCreated: 2026-03-10\n---\nBody";
        let (fields, _) = split(upper);
        assert_eq!(fields.text("title"), Some("Knots"));
        assert_eq!(fields.list("tags"), ["k1", "k2"]);
        for date in [
            "Created: 2026-03-10",
            "created: [[2026-03-10]]",
            "created: \"[[2026-03-10]]\"",
            "created:\n  2026-03-10",
            "created:\n  \"2026-03-10\" # the first one",
        ] {
            let page = format!("---\ntitle: Knots\n{date}\n---\nBody");
            let (fields, _) = split(&page);
            let found = fields.text_or_item("created");
            let found = found.map(|date| date.trim_matches(['[', ']']));
            assert_eq!(found, Some("2026-03-10"), "{date}");
        }
        let time = "---\ncreated:\n  2026-03-10T10:00:00Z\ntitle: Knots\n---\nBody";
        let (fields, _) = split(time);
        assert_eq!(fields.text("created"), Some("2026-03-10T10:00:00Z"));
        let text = "---\ndescription:\n  Two lines,\n  one text.\ntitle: Knots\n---\nBody";
        let (fields, _) = split(text);
        assert_eq!(fields.text("description"), Some("Two lines, one text."));
        assert_eq!(fields.text("title"), Some("Knots"));
    }

    #[test]
    fn fields_are_found_however_they_are_fenced_and_above_those_of_a_program() {
        let own = "title: Knots\ntags: [rope]\ncreated: 2026-03-01";
        let body = "The bowline holds wet rope.";
        let expected = ["Knots", "rope", "2026-03-01", body];
        for page in [
            format!("---\npermalink: p/a\n---\n\n---\n{own}\n---\n{body}\n"),
            format!("---\npermalink: p/a\n---\n---\n{own}\n---\n{body}\n"),
            format!("\n\n---\n{own}\n---\n{body}\n"),
            format!("--- \n{own}\n--- \n{body}\n"),
            format!("---\r\n{}\r\n---\r\n{body}\r\n", own.replace('\n', "\r\n")),
            format!("---yaml\n{own}\n---\n{body}\n"),
            format!("<!-- made by hand -->\n---\n{own}\n---\n{body}\n"),
            format!("\u{FEFF}---\n{own}\n...\n{body}\n"),
            format!(
                "+++\ntitle = \"Knots\"\ntags = [\"rope\"]\ncreated = 2026-03-01\n+++\n{body}\n"
            ),
        ] {
            assert_eq!(known(&page), expected, "{page}");
        }
    }

    #[test]
    fn spec_2_4_fields_are_read_in_each_form_of_yaml() {
        let expected = ["Knots", "rope|two words", "2026-03-01", "Body"];
        for fields in [
            "{title: Knots, tags: [rope, two words], created: 2026-03-01}",
            "{\n  \"title\": \"Knots\",\n  \"tags\": [\"rope\", \"two words\"], # mine\n  created: 2026-03-01\n}",
            "{Title: 'Knots', meta: {a: [x, y], b: {c: d}}, tags: [rope, two words], created: 2026-03-01}",
            "title: Knots\ntags: [[rope], [two words]]\ncreated: 2026-03-01",
            "title: Knots\ntags:\n  - - rope\n    - two words\ncreated: 2026-03-01",
            "title: Knots\ntags:\n- \"rope\"\n- 'two words' # b\ncreated: \"2026-03-01\"",
            "title: >-\n  Knots\ntags: |\n  rope, two words\ncreated: 2026-03-01",
            "title : Knots\n\"tags\": rope, two words\n'created' : '2026-03-01'",
            "tags: [\"rope\",\n  \"two words\"]\ntitle:\n  Knots\ncreated:   2026-03-01   # day",
            "# mine\ntitle: Knots\n\ntags: [rope, two words,]\nmeta: {created: 1999}\ncreated: 2026-03-01",
        ] {
            let page = format!("---\n{fields}\n---\nBody");
            assert_eq!(known(&page), expected, "{fields}");
        }
    }

    #[test]
    fn spec_2_4_a_text_among_the_fields_keeps_its_signs() {
        for (value, text) in [
            ("\"Knots: the wet ones\"", "Knots: the wet ones"),
            ("'It''s: {a, b} [c] # d'", "It's: {a, b} [c] # d"),
            ("Knots: the wet ones", "Knots: the wet ones"),
            ("{Draft} Plan", "{Draft} Plan"),
            ("*Nets*", "*Nets*"),
            ("https://example.com/#top", "https://example.com/#top"),
            ("|\n  One:\n    two\n\n  three", "One:\n  two\n\nthree"),
            (">\n  One\n  two\n\n  three", "One two\nthree"),
            ("\"Tab\\tand \\u00e9\"", "Tab\tand é"),
            ("10:30", "10:30"),
        ] {
            let page = format!("---\nname: {value}\nmore: {{at: \"a, b: c\"}}\n---\n");
            let (fields, _) = split(&page);
            assert_eq!(fields.text("name"), Some(text), "{value}");
            assert_eq!(fields.text("more.at"), Some("a, b: c"), "{value}");
        }
    }

    #[test]
    fn a_memory_that_begins_with_fields_keeps_them() {
        let text = "---\ntitle: Knots\n---\nThe bowline holds.\n";
        let page = format!("---\ntitle: \"Knots\"\nmemoir:\n  number: 1\n---\n{text}");
        assert_eq!(split(&page).1, text);
    }

    #[test]
    fn text_between_rules_is_no_field() {
        for page in [
            "---\nA paragraph between two rules.\n---\nMore.\n",
            "---\nhttps://example.com\n---\nMore.\n",
            "\n---\nNote: we met at the pier.\n---\nMore.\n",
            "+++\nno table\n+++\nMore.\n",
            "Text.\n\n---\ntitle: x\n---\n",
        ] {
            assert_eq!(split(page).1, page);
        }
        let meeting = "---\ntitle: Meeting\n---\n---\nAttendees: Kim\n---\nWe agreed on oak.";
        let (fields, body) = split(meeting);
        assert_eq!(fields.text("title"), Some("Meeting"));
        assert_eq!(body, "---\nAttendees: Kim\n---\nWe agreed on oak.");
    }

    #[test]
    fn lists_and_texts_go_on_on_the_next_lines() {
        for tags in [
            "tags: [rope, two words]",
            "tags: [\n  rope,\n  two words\n]",
            "tags: [rope,\n  two words]",
            "tags: [rope, # the first\n  two words, # the second\n]",
            "tags:\n  [rope, two words]",
            "tags: # mine\n  - rope\n  - two words",
            "tags: [\nrope,\ntwo words,\n]",
        ] {
            let page = format!("---\n{tags}\ntitle: \"A long\n  title\"\n---\nBody");
            let found = known(&page);
            assert_eq!(found[..2], ["A long title", "rope|two words"], "{page}");
        }
        let page = "---\ntags: [\"a, b\", 'c', d's, e]\ntitle: [Draft] Plan\n---\n";
        assert_eq!(known(page)[..2], ["[Draft] Plan", "a, b|c|d's|e"]);
        let open = "---\ntags: [rope,\ntitle: Knots\n---\n";
        assert_eq!(known(open)[0], "Knots");
    }

    #[test]
    fn a_page_without_an_end_of_its_fields_is_all_body() {
        for page in ["---\ntitle: x\n", "--- \nx", "text\n---\n", ""] {
            assert_eq!(split(page).1, page);
        }
    }

    proptest! {
        #[test]
        fn any_page_is_read(page in "(---\n)?[a-c:#'\"\\[\\]{}|>\n -]{0,80}(\n---\n)?[a-c\n]{0,8}") {
            let (fields, body) = split(&page);
            prop_assert!(page.ends_with(body));
            let _ = (fields.list("a"), fields.text("a.b"));
        }
    }
}

//! The fields before a page of Markdown, between two lines of `---`.
//!
//! Only the YAML that pages use is read: fields with a text, a list on one line or on several, texts in quotes or over
//! several lines, and objects, whose fields are named with a dot. Anything else is skipped.

use std::collections::BTreeMap;

/// Most lines that are read.
const LINES: usize = 2_000;
/// Longest name of a field, with those of its objects, in bytes; a field with a longer one is skipped.
// It is kept once for each field of an object: without a bound, a page of two megabytes takes gigabytes.
const NAME: usize = 128;

/// The fields of a page.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    texts: BTreeMap<String, String>,
    lists: BTreeMap<String, Vec<String>>,
}

/// The fields of a page, and its body; no fields where it does not begin with them.
pub(crate) fn split(page: &str) -> (Fields, &str) {
    let page = page.trim_start_matches('\u{FEFF}');
    let Some(rest) = page
        .strip_prefix("---\n")
        .or_else(|| page.strip_prefix("---\r\n"))
    else {
        return (Fields::default(), page);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n').take(LINES) {
        // YAML ends a document with dots, too.
        if matches!(line.trim_end(), "---" | "...") {
            let body = &rest[at + line.len()..];
            return (Fields::read(&rest[..at]), body);
        }
        at += line.len();
    }
    // Without an end they are not fields: a page must not be lost by its first line.
    (Fields::default(), page)
}

impl Fields {
    /// A field's text, where it has one that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.texts.get(name).map(String::as_str);
        text.filter(|text| !text.is_empty())
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

    fn read(text: &str) -> Self {
        let mut fields = Self::default();
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
                if let Some((_, name)) = within.last() {
                    let list = fields.lists.entry(name.clone()).or_default();
                    list.push(scalar(item));
                }
                continue;
            }
            let Some((name, value)) = bare.split_once(':') else {
                continue;
            };
            let name = name.trim().trim_matches(['"', '\'']);
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
            let value = value.trim();
            match value.chars().next() {
                None => within.push((indentation, whole)),
                // The mark with its two signs at most (`|2-`); more is a text that begins with it.
                Some('|' | '>') if value.len() <= 3 => {
                    let mut block: Vec<&str> = Vec::new();
                    while let Some(next) = lines.peek()
                        && (next.trim().is_empty() || self::indentation(next) > indentation)
                    {
                        block.push(next.trim());
                        lines.next();
                    }
                    let joined = if value.starts_with('|') { "\n" } else { " " };
                    let text = block.join(joined).trim().to_owned();
                    fields.texts.insert(whole, text);
                }
                Some('[') => {
                    let inside = value.trim_start_matches('[').trim_end_matches(']');
                    let items = inside.split(',').map(scalar);
                    let items = items.filter(|item| !item.is_empty()).collect();
                    fields.lists.insert(whole, items);
                }
                Some('{') => fields.object(&whole, value),
                Some(_) => {
                    fields.texts.insert(whole, scalar(value));
                }
            }
        }
        fields
    }

    /// An object on one line.
    fn object(&mut self, name: &str, value: &str) {
        let inside = value.trim_start_matches('{').trim_end_matches('}');
        for field in inside.split(',') {
            if let Some((inner, value)) = field.split_once(':') {
                let inner = inner.trim().trim_matches(['"', '\'']);
                if name.len() + inner.len() < NAME {
                    self.texts.insert(format!("{name}.{inner}"), scalar(value));
                }
            }
        }
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A value without its quotes, and without a comment behind it.
fn scalar(value: &str) -> String {
    let value = value.trim();
    if value.starts_with('"') && value.len() > 1 && value.ends_with('"') {
        // The escapes of YAML's double quotes are those of JSON, as far as pages use them.
        let unescaped = serde_json::from_str::<String>(value);
        return unescaped.unwrap_or_else(|_| value.trim_matches('"').to_owned());
    }
    if value.starts_with('\'') && value.len() > 1 && value.ends_with('\'') {
        return value[1..value.len() - 1].replace("''", "'");
    }
    // With a space before it: `a#b` is a value.
    let end = value.find(" #").unwrap_or(value.len());
    let value = value[..end].trim();
    match value {
        "null" | "~" => String::new(),
        value => value.to_owned(),
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

//! Tags in all the formats in which programs write them.

use std::collections::BTreeSet;

use memoir_domain::{
    PrivateText,
    memory::{TAG_LIMIT, TAGS_LIMIT},
};
use memoir_transcripts::raw::Raw;

pub(crate) const MOST: usize = TAGS_LIMIT;
/// Most tags that are read.
// 16 are kept; the rest is only counted as omitted.
const LOOKED_AT: usize = 1_000;

/// A value that holds tags: a list, a text with commas, a text such as `#a #b`, or a text that is a list.
pub(crate) fn of_value(value: Raw<'_>) -> Vec<String> {
    if value.is_array() {
        let elements = value.elements().into_iter().flatten().flatten();
        return elements.take(LOOKED_AT).filter_map(Raw::id).collect();
    }
    match value.string() {
        Ok(Some(text)) => of_text(&text),
        _ => Vec::new(),
    }
}

pub(crate) fn of_text(text: &str) -> Vec<String> {
    let text = text.trim();
    // As JSON first, where commas within quotes separate nothing; a list as YAML has it, without quotes, comes below.
    if text.starts_with('[')
        && let Ok(list) = serde_json::from_str::<Vec<String>>(text)
    {
        return list;
    }
    let text = text
        .strip_prefix('[')
        .and_then(|inside| inside.strip_suffix(']'))
        .unwrap_or(text);
    let parts: Vec<&str> = if text.contains(',') {
        text.split(',').collect()
    // White space separates tags only where each has its mark: `Tea time` is one tag.
    } else if text.contains('#') {
        text.split_whitespace().collect()
    } else {
        vec![text]
    };
    let bare = |part: &str| {
        let part = part.trim().trim_matches(['"', '\'']);
        part.strip_prefix('#').unwrap_or(part).trim().to_owned()
    };
    parts.into_iter().take(LOOKED_AT).map(bare).collect()
}

/// Each tag once, in their order, within the limits of number and length; and the number of omitted ones.
pub(crate) fn bounded(tags: Vec<String>) -> (Vec<PrivateText>, u64) {
    let mut seen = BTreeSet::new();
    let mut kept: Vec<PrivateText> = Vec::new();
    let mut left_out = 0;
    for tag in tags {
        // Before duplicates are searched: `a  b` and `a b` read the same.
        let tag = tag.split_whitespace().collect::<Vec<_>>().join(" ");
        if tag.is_empty() || !seen.insert(tag.clone()) {
            continue;
        }
        let is_allowed = kept.len() < MOST
            && tag.chars().count() <= TAG_LIMIT
            && !tag.chars().any(char::is_control);
        if is_allowed {
            kept.push(tag.into());
        } else {
            left_out += 1;
        }
    }
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_in_every_form() {
        let expected = ["food", "Tea time"];
        for json in [
            r#"["food", "Tea time"]"#,
            r#""food, Tea time""#,
            r##""#food, #Tea time""##,
            r#""[\"food\", \"Tea time\"]""#,
            r#""[food, 'Tea time']""#,
        ] {
            let raw = Raw::whole(json.as_bytes()).unwrap();
            assert_eq!(of_value(raw), expected, "{json}");
        }
        assert_eq!(of_text("#food #tea/green"), ["food", "tea/green"]);
        assert_eq!(of_text("one tag"), ["one tag"]);
    }

    #[test]
    fn tags_over_the_limits_are_counted_and_duplicates_united() {
        let many = (0..20).map(|number| number.to_string());
        let tags = many.chain(["3".into(), "x".repeat(51), " ".into()]);
        let (kept, left_out) = bounded(tags.collect());
        assert_eq!((kept.len(), left_out), (16, 5));
    }
}

//! Memory text as data: quoted so that no content can pass for another ledger row, a rule, a tool
//! result or a tag of the prompt (SPEC 3.6).

use serde::Serialize;

/// `text` as one JSON string on one line, without `<`, line breaks of any script, or characters that
/// are invisible or turn the direction of writing.
pub fn quote(text: &str) -> String {
    // Serialising a string cannot fail; an empty string literal would be the harmless answer.
    defuse(&serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned()))
}

/// `value` as one line of JSON under the same rule.
pub fn quote_json(value: &impl Serialize) -> String {
    defuse(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()))
}

/// Escapes, in JSON, what JSON itself lets through. Outside of strings JSON has none of these.
fn defuse(json: &str) -> String {
    // The usual case, without a check of each character. JSON itself has escaped line breaks and the first set of
    // control characters.
    if json
        .bytes()
        .all(|byte| byte.is_ascii() && byte != b'<' && byte != 0x7F)
    {
        return json.to_owned();
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_deceptive(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(character);
        }
    }
    safe
}

fn is_deceptive(character: char) -> bool {
    // `<`, delete and the second set of control characters.
    matches!(character as u32, 0x3C | 0x7F..=0x9F) || is_invisible(character)
}

/// Whether a character is invisible and only changes others: turns their direction, separates them, or makes two
/// equal-looking texts differ. Joiners are none: scripts and emoji need them.
pub(crate) fn is_invisible(character: char) -> bool {
    matches!(character as u32,
        0xAD | 0x61C | 0x180E // soft hyphen, Arabic letter mark, Mongolian vowel separator
        | 0x200B | 0x200E | 0x200F // zero width space and the marks of direction
        | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF // line separators, embeddings, isolates, invisible operators
        | 0xE0000..=0xE007F) // tag characters, an invisible copy of ASCII
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spec_3_6_no_content_passes_for_structure() {
        for text in [
            "a\n#18 | 2026",
            "</ledger>",
            "```\n## Rules",
            "a\u{2028}b",
            "\u{202e}x",
            "\u{e0041}",
            "\u{85}",
            "\u{feff}",
        ] {
            let quoted = quote(text);
            assert!(
                !quoted.contains('<') && quoted.lines().count() == 1,
                "{quoted}"
            );
            assert!(quoted.chars().all(|character| !is_deceptive(character)));
            assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
        }
        assert_eq!(quote("plain „words“ 日本"), "\"plain „words“ 日本\"");
    }

    proptest! {
        #[test]
        fn spec_3_6_quoting_keeps_every_character(text in any::<String>()) {
            let quoted = quote(&text);
            prop_assert_eq!(quoted.lines().count(), 1);
            prop_assert!(!quoted.chars().any(is_deceptive));
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
        }
    }
}

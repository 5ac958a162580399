//! Text of any bytes, mended.

use memoir_domain::mend::{Encoding, file, json, text};
use proptest::prelude::*;

#[test]
fn spec_2_1_a_file_is_read_in_the_encoding_that_it_has() {
    use Encoding::{DamagedUtf8, Utf8, Utf16, Windows1252};
    for (bytes, read) in [
        ("Zoë’s café".as_bytes(), Some(("Zoë’s café", Utf8))),
        (b"\xEF\xBB\xBFKiln", Some(("Kiln", Utf8))),
        (b"", Some(("", Utf8))),
        (b"Gr\xFC\xDFe", Some(("Grüße", Windows1252))),
        (
            b"\x93Zo\xEB\x94 \x96 5 \x80",
            Some(("“Zoë” – 5 €", Windows1252)),
        ),
        (b"caf\xE9", Some(("café", Windows1252))),
        ("éé\u{1F600}".as_bytes(), Some(("éé\u{1F600}", Utf8))),
        (
            b"\xC3\xA9t\xC3\xA9 \xFF",
            Some(("été \u{FFFD}", DamagedUtf8)),
        ),
        (b"\xEF\xBB\xBFcut \xC3", Some(("cut \u{FFFD}", DamagedUtf8))),
        (b"\xFF\xFEa\0\xE9\0", Some(("aé", Utf16))),
        (b"\xFE\xFF\0a\0\xE9", Some(("aé", Utf16))),
        (b"\xFF\xFE\x3D\xD8a\0b", Some(("\u{FFFD}a\u{FFFD}", Utf16))),
        (b"\x89PNG\0\x1A", None),
    ] {
        let found = file(bytes);
        let found = found
            .as_ref()
            .map(|(text, encoding)| (text.as_ref(), *encoding));
        assert_eq!(found, read, "{bytes:?}");
    }
}

#[test]
fn spec_2_1_what_is_no_character_is_mended_and_all_else_stays() {
    for (sent, read) in [
        (r#""cut \ud83d""#, Some("cut \u{fffd}")),
        (r#""\ude00 cut""#, Some("\u{fffd} cut")),
        (
            r#""\ud83d\ud83d\ude00\ude00""#,
            Some("\u{fffd}\u{1f600}\u{fffd}"),
        ),
        (r#""\uD83D\uDE00""#, Some("\u{1f600}")),
        (r#""a \\ud83d path""#, Some("a \\ud83d path")),
        (r#""\ud83d\n\\""#, Some("\u{fffd}\n\\")),
        (r#""\ud83""#, None),
        (r#""\u+83d""#, None),
        ("\"\\", None),
        ("\u{feff}\u{feff}\"marked\"", Some("marked")),
    ] {
        let read_by_json: Option<String> = serde_json::from_str(&json(sent.as_bytes())).ok();
        assert_eq!(read_by_json.as_deref(), read, "{sent}");
    }
    let latin = b"\"Gr\xfc\xdfe\"";
    assert_eq!(json(latin), "\"Gr\u{fffd}\u{fffd}e\"");
    assert_eq!(text(b"a\xffb"), "a\u{fffd}b");
}

proptest! {
    #[test]
    fn spec_2_1_what_can_be_read_is_not_changed(text in any::<String>()) {
        let written = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(json(written.as_bytes()), written.as_str());
    }

    #[test]
    fn spec_2_1_mending_takes_any_bytes(bytes in any::<Vec<u8>>()) {
        let _ = json(&bytes);
    }
}

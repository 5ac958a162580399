//! Names the kind of an unsupported file by its first bytes, without quoting it.

/// Beginnings that no text has.
// The two letters of a program for Windows are not among them: a conversation may begin with `MZ`.
const MARKS: [(&[u8], &str); 18] = [
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"\xD0\xCF\x11\xE0", "a document of an office program"),
    (b"\x89PNG", "a picture"),
    (b"\xFF\xD8\xFF", "a picture"),
    (b"GIF8", "a picture"),
    (b"OggS", "a sound recording"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1F\x8B", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xFD7zXZ", "an xz archive"),
    (b"7z\xBC\xAF", "a 7-Zip archive"),
    (b"\x28\xB5\x2F\xFD", "a Zstandard archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x7FELF", "a program"),
    (b"memoir-archive", "an archive of Memoir"),
    (b"\xFF\xFE", "UTF-16 text"),
    (b"\xFE\xFF", "UTF-16 text"),
];

/// The kind of a file that begins like this, for people: `a PDF document`.
pub fn kind_of(head: &[u8]) -> &'static str {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let text = text.trim_ascii_start();
    let begins = |mark: &str| {
        let begin = text.get(..mark.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(mark.as_bytes()))
    };
    if let Some((_, kind)) = MARKS.iter().find(|(mark, _)| head.starts_with(mark)) {
        return kind;
    }
    match text.first() {
        None => "empty",
        // No text has a zero byte, but most files of programs have one early.
        _ if head.contains(&0) => "data of some program, and no text",
        _ if begins("<!doctype html") || begins("<html") => "a page of HTML",
        Some(b'<') => "XML",
        Some(b'{' | b'[') => "JSON, without the fields of any form that is known",
        _ => "plain text",
    }
}

pub(crate) fn is_no_text(head: &[u8]) -> bool {
    head.contains(&0) || MARKS.iter().any(|(mark, _)| head.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognised_by_its_beginning() {
        for (head, kind) in [
            (&b"%PDF-1.7\n"[..], "a PDF document"),
            (b"\x89PNG\r\n\x1a\n\0\0", "a picture"),
            (b"PK\x03\x04\x14\0", "a ZIP archive"),
            (b"\0\x01\x02\x03", "data of some program, and no text"),
            (b"  <!DOCTYPE HTML><p>", "a page of HTML"),
            (
                b"\xEF\xBB\xBF{\"rows\": []}",
                "JSON, without the fields of any form that is known",
            ),
            (b"name,age\nInes,40\n", "plain text"),
            (" Grüße".as_bytes(), "plain text"),
            (b" \n", "empty"),
            (b"", "empty"),
        ] {
            assert_eq!(kind_of(head), kind, "{head:?}");
        }
        assert!(is_no_text(b"%PDF-1.7\n") && is_no_text(b"\0\x01"));
        assert!(!is_no_text(b"MZ: Hello.") && !is_no_text(b"<Ines> Hello."));
    }
}

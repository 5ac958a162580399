//! The tables of `docs/hostile-models.md` that tests make.

use std::{fs, path::PathBuf, sync::Mutex};

/// Tests of one process write the page one after the other.
static WRITING: Mutex<()> = Mutex::new(());

/// Prints the table, and compares it with the page between `<!-- mark:begin -->` and `<!-- mark:end -->`; with
/// `ARCHIVE=overwrite` it writes the page instead.
pub fn compare(mark: &str, made: &str) {
    println!("{mark}\n{made}");
    let _turn = WRITING.lock().unwrap();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile-models.md");
    let page = fs::read_to_string(&path).unwrap();
    let (begin, end) = (
        format!("<!-- {mark}:begin -->\n"),
        format!("<!-- {mark}:end -->"),
    );
    let (before, rest) = page.split_once(&begin).unwrap();
    let (stated, after) = rest.split_once(&end).unwrap();
    let made = format!("\n{made}\n");
    if std::env::var("ARCHIVE").is_ok_and(|value| value == "overwrite") {
        fs::write(&path, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert!(
        stated == made,
        "docs/hostile-models.md has other figures for `{mark}`: ARCHIVE=overwrite writes these"
    );
}

/// A number with its thousands apart, as in `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share in percent with one decimal, rounded down: 100 % is all.
pub fn percent(part: u64, all: u64) -> String {
    let tenths = 1000 * part / all.max(1);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

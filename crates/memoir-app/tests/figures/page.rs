//! The tables of `docs/hostile-models.md` that tests make.

/// Prints the table, and compares it with the page; with `ARCHIVE=overwrite` it writes the page instead.
pub fn compare(mark: &str, made: &str) {
    println!("{mark}\n{made}");
    memoir_testkit::compare_with_page("hostile-models.md", mark, made, "ARCHIVE");
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

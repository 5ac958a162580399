//! Tables in the documentation that tests make.

#![expect(
    clippy::unwrap_used,
    reason = "a test that does not get what it needs ends here"
)]

use std::{fs, path::Path};

use parking_lot::Mutex;

/// Compares a table with that page of `docs`, between `<!-- mark:begin -->` and `<!-- mark:end -->`. If the environment
/// variable is `overwrite`, it writes the table into the page instead.
pub fn compare_with_page(page: &str, mark: &str, table: &str, variable: &str) {
    // Tests of one process write a page one after the other.
    static WRITING: Mutex<()> = Mutex::new(());
    let _turn = WRITING.lock();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let path = docs.join(page);
    let text = fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- {mark}:begin -->\n");
    let end = format!("<!-- {mark}:end -->");
    let (before, rest) = text.split_once(&begin).unwrap();
    let (stated, after) = rest.split_once(&end).unwrap();
    let made = format!("\n{table}\n");
    if std::env::var(variable).is_ok_and(|value| value == "overwrite") {
        fs::write(&path, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert!(
        stated == made,
        "docs/{page} has other figures for `{mark}`: {variable}=overwrite writes these\n{table}"
    );
}

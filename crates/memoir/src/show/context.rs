//! What a context costs and omits, in numbers.

use std::collections::BTreeSet;

use memoir_domain::context::{
    Bound, ContextExplained, HiddenCopy, OmissionRule, OmittedMemory, PartName,
};

use super::{TextTable, counted, joined, thousands};

/// A row for each part, and one for each omitted memory.
pub(crate) fn explained(explained: &ContextExplained) -> String {
    let mut parts = TextTable::new(["part", "memories", "characters", "tokens"]).right(1..=3);
    for part in &explained.parts {
        parts.row([
            part_name(part.part).to_owned(),
            match part.entries {
                0 => String::new(),
                entries => thousands(entries),
            },
            thousands(part.characters),
            thousands(part.tokens),
        ]);
    }
    let characters: u64 = explained.parts.iter().map(|part| part.characters).sum();
    let entries: u64 = explained.parts.iter().map(|part| part.entries).sum();
    parts.row([
        "all".to_owned(),
        thousands(entries),
        thousands(characters),
        thousands(characters.div_ceil(4)),
    ]);
    let mut text = parts.to_string();
    if !explained.omitted.is_empty() {
        let mut omitted = TextTable::new(["left out", "kind", "tokens", "why"]).right([2]);
        for memory in &explained.omitted {
            omitted.row([
                memory.number.to_string(),
                memory.kind.to_string(),
                thousands(memory.tokens),
                why(memory),
            ]);
        }
        text.push_str(&format!("\n{omitted}"));
    }
    if !explained.copies.is_empty() {
        let copies = explained.copies.iter();
        let copies = copies.map(|HiddenCopy { number, shown }| format!("{number} (as {shown})"));
        text.push_str(&format!(
            "\nShown once for several of the same text: {}\n",
            joined(copies, ", ")
        ));
    }
    text
}

/// Why nothing is shown, on one line; `enough` is a bound of the whole that leaves nothing out.
pub(crate) fn reasons(explained: &ContextExplained, enough: Option<u64>) -> String {
    let reasons: BTreeSet<String> = explained.omitted.iter().map(why).collect();
    let memories = counted(explained.omitted.len() as u64, "memory", "memories");
    let enough = enough.map(|bound| format!("`--max-tokens {bound}` shows all, and "));
    format!(
        "note: nothing is shown: {memories} left out ({}); {}`--explain` lists each",
        joined(reasons, ", "),
        enough.unwrap_or_default()
    )
}

fn part_name(part: PartName) -> &'static str {
    match part {
        PartName::Frame => "headings and notes",
        PartName::Days => "days",
        PartName::Origins => "origins",
        PartName::Constitutional => "constitutional",
        PartName::Immutable => "immutable tags",
        PartName::Summaries => "summaries",
        PartName::Core => "other core memories",
        PartName::Journal => "journal",
        PartName::Reports => "reports by Memoir",
        PartName::Closing => "closing lines",
    }
}

fn why(memory: &OmittedMemory) -> String {
    let bound = match memory.omission.bound {
        Bound::Reports => return "a newer report of its kind, or no room for reports".to_owned(),
        bound => bound.as_str(),
    };
    let rule = match memory.omission.rule {
        OmissionRule::TooLarge => "alone takes more than a fourth",
        OmissionRule::Journal => "the journal is left out first",
        OmissionRule::Core => "neither among the oldest nor among the newest that fit",
        OmissionRule::Summary => "older summaries are left out after other memories",
        OmissionRule::Immutable => {
            "immutable tag, and neither among the oldest nor among the newest"
        }
        OmissionRule::Constitutional => "constitutional, beyond the client's limit",
        OmissionRule::Report => "a report of Memoir's",
    };
    format!("`{bound}`: {rule}")
}

//! What an agent at this interface can do about a refusal or failure, by its code.

/// What to do; `None` where the message says all.
pub(crate) fn hint(code: &str) -> Option<&'static str> {
    Some(match code {
        "not_found" => {
            "`recall_memories` finds memories; `get_context` lists the open access requests"
        }
        "session_open" => {
            "wait for it to end; one that you opened yourself is resumed by `open_refinement` without arguments, and \
             ends with `complete_refinement`"
        }
        "nothing_to_refine" => {
            "nothing has to be done; `save_memory` saves core memories where there are none"
        }
        "not_archival" => {
            "`recall_memories` shows the kind of a memory; archival ones can be promoted"
        }
        "inactive" => "an administrator can activate you again",
        "confirmation_required" => {
            "send the same text to `update_config` again within the hour to confirm it"
        }
        "model_unavailable" => "an administrator can set another model for you",
        "contended" | "busy" => "try again",
        "outcome_unknown" => {
            "before you repeat it, check with `recall_memories` or `view_config` whether it was done"
        }
        "daily_quota" => {
            "save less, or try again in an hour; the operator of Memoir can raise the quota"
        }
        "storage_quota" | "token_quota" => {
            "the operator of Memoir can raise the quota; earlier data is intact"
        }
        "disk_full" => "the operator of Memoir has to free some space; earlier data is intact",
        "read_only" => {
            "the operator of Memoir has to make the database writable; reading is possible meanwhile"
        }
        "internal" | "key_unavailable" | "tampered" => {
            "only the operator of Memoir can find out more: report it"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::tools;

    #[test]
    fn a_hint_names_a_tool_that_there_is() {
        let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let mut hints = 0;
        for page in fs::read_dir(pages).unwrap() {
            let page = page.unwrap().path();
            let code = page.file_stem().unwrap().to_str().unwrap();
            let hint = hint(code).unwrap_or_default();
            hints += usize::from(!hint.is_empty());
            for name in hint.split('`').skip(1).step_by(2) {
                assert!(tools::is_one(name), "{code}: {name}");
            }
        }
        assert!(hints > 10, "{hints}");
    }

    /// The code of these files without comments and tests; only command line users read the doctor's texts.
    fn spoken(folder: &Path) -> String {
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let texts = paths
            .filter(|path| !path.ends_with("doctor.rs"))
            .map(|path| {
                if path.is_dir() {
                    return spoken(&path);
                }
                let text = fs::read_to_string(path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap();
                let lines = code
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                lines.fold(String::new(), |text, line| text + line + "\n")
            });
        texts.collect()
    }

    #[test]
    fn no_result_of_a_tool_names_the_command_line() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for name in ["app", "domain", "mcp", "store", "vault"] {
            let text = spoken(&crates.join(format!("memoir-{name}/src")));
            for words in ["`memoir ", "`--"] {
                let place = text.find(words);
                assert_eq!(place.map(|at| &text[at..at + 60]), None, "memoir-{name}");
            }
        }
    }
}

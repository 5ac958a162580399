//! The groups of modules use each other in one direction only.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// From low to high.
const GROUPS: [&str; 10] = [
    "text", "memory", "agent", "log", "change", "access", "recall", "session", "history", "life",
];
/// A decision holds the states of a session and of access requests.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("change/draft.rs", "access"),
    ("change/draft.rs", "session"),
];

/// The Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The first segment of every path that starts with `crate::`, those in a `use crate::{…}` included.
fn roots(source: &str) -> Vec<&str> {
    let mut roots = Vec::new();
    for rest in source.split("crate::").skip(1) {
        let Some(list) = rest.strip_prefix('{') else {
            roots.extend(rest.split(|letter: char| !is_of_name(letter)).next());
            continue;
        };
        let mut depth = 1;
        let mut start = 0;
        for (place, letter) in list.char_indices() {
            let is_end = depth == 1 && matches!(letter, ',' | ':' | '}');
            if is_end && start <= place {
                let root = list[start..place].trim();
                // After the last comma there is none.
                roots.extend(Some(root).filter(|root| !root.is_empty()));
                // The rest of this path begins no other one.
                start = usize::MAX;
            }
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => start = place + 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    roots
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[test]
fn a_group_of_modules_uses_lower_groups_only() {
    let level = |name: &str| GROUPS.iter().position(|group| *group == name);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut count = 0;
    for path in sources(&folder) {
        let name = path.strip_prefix(&folder).unwrap();
        let group = name.iter().next().unwrap().to_str().unwrap();
        let Some(own) = level(group) else {
            continue;
        };
        let source = fs::read_to_string(&path).unwrap();
        let name = name.to_str().unwrap().replace('\\', "/");
        for root in roots(&source) {
            let is_of_root = matches!(root, "ids" | "time");
            let other = level(root);
            assert!(
                is_of_root || other.is_some(),
                "{name}: `crate::{root}` is not the full path"
            );
            count += 1;
            if other > Some(own) {
                found.push((name.clone(), root.to_owned()));
            }
        }
    }
    assert!(count > 200, "{count}");
    found.sort();
    let expected = EXCEPTIONS.map(|(name, root)| (name.to_owned(), root.to_owned()));
    assert_eq!(found, expected);
}

//! That dependencies of crates and of modules point the way ARCHITECTURE.md says, and that nothing in the domain asks the
//! machine for anything.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::Value;

/// What each crate may depend on, except in tests; without the first word of the names, `memoir`.
const MAY_USE: [(&str, &str); 17] = [
    ("text", ""),
    ("embedder", ""),
    ("domain", "text"),
    ("store", "domain"),
    ("store-postgres", "domain store vault"),
    ("store-sqlite", "domain store"),
    ("model", "domain embedder text"),
    ("transcripts", "domain"),
    ("import", "domain transcripts"),
    ("vault", "domain"),
    ("app", "domain model store text vault"),
    ("mcp", "app domain"),
    ("console", "app domain"),
    ("service", "app console domain mcp model vault"),
    // The command.
    (
        "",
        "app console domain embedder import mcp model service store store-postgres store-sqlite transcripts vault",
    ),
    (
        "testkit",
        "app domain model store store-postgres store-sqlite text vault",
    ),
    (
        "sim",
        "app domain model store store-sqlite testkit text vault",
    ),
];

/// Crates that do input or output, or bring a runtime: not for the domain.
const NOT_IN_THE_DOMAIN: &str =
    "tokio reqwest rusqlite getrandom async-trait tracing rustls tempfile";

/// The crates of the workspace, as cargo describes them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args("metadata --no-deps --format-version 1 --offline".split(' '))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

fn dependencies() -> BTreeMap<String, Vec<String>> {
    let names = |package: &Value| -> Vec<String> {
        let normal = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"].is_null());
        normal
            .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let packages = packages();
    packages
        .iter()
        .map(|package| (package["name"].as_str().unwrap().to_owned(), names(package)))
        .collect()
}

/// Whether a source has an example in its documentation that `cargo test` runs.
fn has_example(source: &str) -> bool {
    let comments = source.lines().map(str::trim_start);
    let comments = comments.filter_map(|line| {
        line.strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
    });
    let fences = comments.filter_map(|line| line.trim().strip_prefix("```"));
    // Every second one ends a block.
    let mut languages = fences.step_by(2);
    languages.any(|language| !["text", "ignore"].contains(&language))
}

#[test]
fn examples_in_the_documentation_are_run() {
    for package in packages() {
        let targets = package["targets"].as_array().unwrap();
        let library = targets.iter().find(|target| target["kind"][0] == "lib");
        let Some(library) = library else { continue };
        let root = Path::new(library["src_path"].as_str().unwrap());
        let mut sources = BTreeMap::new();
        read_sources(root.parent().unwrap(), "", &mut sources);
        let has_example = sources.values().any(|source| has_example(source));
        // Reading a crate for examples takes seconds; `doctest = false` in its `[lib]` spares them where it has none.
        assert_eq!(library["doctest"], has_example, "{}", package["name"]);
    }
}

#[test]
fn dependencies_point_inward() {
    let found = dependencies();
    let known: BTreeMap<&str, &str> = MAY_USE.into_iter().collect();
    let without_prefix = |name: &str| {
        let rest = name.strip_prefix("memoir")?;
        Some(rest.trim_start_matches('-').to_owned())
    };
    for (name, uses) in &found {
        let allowed = without_prefix(name).and_then(|name| known.get(&*name));
        let allowed = allowed.unwrap_or_else(|| panic!("{name} is not in the list of crates"));
        for other in uses.iter().filter_map(|other| without_prefix(other)) {
            assert!(
                allowed.split(' ').any(|one| one == other),
                "{name} must not depend on memoir-{other}"
            );
        }
    }
    assert_eq!(found.len(), known.len());
}

#[test]
fn the_domain_asks_the_machine_for_nothing() {
    let found = dependencies();
    for name in ["memoir-domain", "memoir-text"] {
        for other in &found[name] {
            assert!(
                !NOT_IN_THE_DOMAIN.split(' ').any(|one| one == other),
                "{name} must not depend on {other}"
            );
        }
    }
}

/// The modules of the command, from the lowest to the highest; its root is above all of them.
const COMMAND_ORDER: &str = "\
    allocator spelling interrupt terminal options show failure private_file output times parse \
    watch database webhooks config embeddings keys tokens telemetry installation remote \
    transcripts hook setup closing help commands cli";
/// How many files of the command may import from a higher module.
const COMMAND_UPWARD: usize = 0;

/// The modules of the use cases: over a core that imports none of the others.
const APP_ORDER: &str = "core metrics shown memory sessions log people life";
/// What is shown of a match, a session and a signed-in user has the types of the modules that make them; a shredding asks
/// for consent; the count of leases knows how long an agent's own lasts.
const APP_UPWARD: usize = 6;

/// The groups of the domain's modules. `labels` names terms of several.
const DOMAIN_ORDER: &str = "\
    wire_names parallel ids time text memory agent log change access recall session history life labels";
/// A decision holds the states of a session and of access requests.
const DOMAIN_UPWARD: usize = 2;

#[test]
fn modules_of_the_use_cases_point_downward() {
    assert_downward("memoir-app/src", "lib.rs", APP_ORDER, APP_UPWARD);
}

#[test]
fn groups_of_the_domain_point_downward() {
    assert_downward("memoir-domain/src", "lib.rs", DOMAIN_ORDER, DOMAIN_UPWARD);
}

#[test]
fn modules_of_the_command_point_downward() {
    assert_downward("memoir/src", "main.rs", COMMAND_ORDER, COMMAND_UPWARD);
}

/// Checks that at most `allowed` imports point from a lower to a higher module. `sources` is a folder under `crates`,
/// `root` the file of the crate's root in it, and `order` its modules from the lowest to the highest. The root itself
/// is above all modules.
fn assert_downward(sources: &str, root: &str, order: &str, allowed: usize) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = BTreeMap::new();
    read_sources(&crates.join(sources), "", &mut files);
    let order: Vec<&str> = order.split(' ').collect();
    let upward = upward_imports(&files, root, &order);
    for import in &upward {
        eprintln!("{sources}/{import}");
    }
    eprintln!("{sources}: {} upward imports", upward.len());
    assert!(
        upward.len() <= allowed,
        "{} imports of {sources} point upward, and {allowed} may:\n{}",
        upward.len(),
        upward.join("\n")
    );
}

/// Reads all sources under a folder into `files`, by their paths in it.
fn read_sources(folder: &Path, inside: &str, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{inside}{name}");
        if entry.file_type().unwrap().is_dir() {
            read_sources(&entry.path(), &format!("{path}/"), files);
        } else if name.ends_with(".rs") {
            files.insert(path, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// The imports from a lower to a higher module, each once for a file.
///
/// # Panics
/// A module is not in the order, or the order has a module without a file.
fn upward_imports(files: &BTreeMap<String, String>, root: &str, order: &[&str]) -> Vec<String> {
    let read = |(path, text): (_, &String)| (path, words(text.parse().unwrap()));
    let read: BTreeMap<&String, Vec<String>> = files.iter().map(read).collect();
    let mut sources: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut test_files = Vec::new();
    for (path, words) in &read {
        let (words, tests) = without_tests(words);
        let folder = folder_of_children(path, root);
        for name in tests {
            test_files.extend([format!("{folder}{name}.rs"), format!("{folder}{name}/")]);
        }
        sources.insert(path, words);
    }
    sources.retain(|path, _| {
        let is_test = |test: &String| path == test || test.ends_with('/') && path.starts_with(test);
        !test_files.iter().any(is_test)
    });
    let found: BTreeSet<&str> = sources
        .keys()
        .filter(|path| **path != root)
        .map(|path| top_module(path))
        .collect();
    for module in &found {
        assert!(order.contains(module), "`{module}` is not in the order");
    }
    for module in order {
        assert!(found.contains(module), "`{module}` of the order is missing");
    }
    let re_exported = re_exports(&sources[root], &found);
    let height = |module: &str| order.iter().position(|other| *other == module);
    let mut upward = BTreeSet::new();
    for (path, words) in sources.iter().filter(|(path, _)| **path != root) {
        let own = height(top_module(path));
        for name in imports(words, depth_of(path)) {
            // A name of the root itself is above all modules.
            let module = match found.contains(name) {
                true => Some(name),
                false => re_exported.get(name).copied(),
            };
            let is_upward = module.is_none_or(|module| height(module) > own);
            if is_upward {
                let module = module.map_or_else(|| format!("{name} of {root}"), str::to_owned);
                upward.insert(format!("{path} imports {module}"));
            }
        }
    }
    upward.into_iter().collect()
}

/// The module of the root that a file belongs to.
fn top_module(path: &str) -> &str {
    let first = path.split('/').next().unwrap();
    first.strip_suffix(".rs").unwrap_or(first)
}

/// The folder in which the files of a file's child modules are.
fn folder_of_children(path: &str, root: &str) -> String {
    let is_folder_itself = path == root || path.ends_with("/mod.rs");
    match path.rsplit_once('/') {
        _ if !is_folder_itself => format!("{}/", path.strip_suffix(".rs").unwrap()),
        Some((folder, _)) => format!("{folder}/"),
        None => String::new(),
    }
}

/// How many modules below the root a file's module is.
fn depth_of(path: &str) -> usize {
    let folders = path.matches('/').count();
    match path.ends_with("/mod.rs") {
        true => folders,
        false => folders + 1,
    }
}

/// The names and signs of a source, without comments, texts and numbers. `::` is one sign.
fn words(source: TokenStream) -> Vec<String> {
    let is_colon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ':');
    let mut words = Vec::new();
    let mut tokens = source.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_path = is_colon(&token) && tokens.next_if(is_colon).is_some();
        match token {
            TokenTree::Punct(_) if is_path => words.push("::".to_owned()),
            TokenTree::Group(group) => {
                let (begin, end) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis | Delimiter::None => ("(", ")"),
                };
                words.push(begin.to_owned());
                words.extend(self::words(group.stream()));
                words.push(end.to_owned());
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => words.push(token.to_string()),
            TokenTree::Literal(_) => {}
        }
    }
    words
}

/// The words without the items that only tests have, and the names of modules among these that are files.
fn without_tests(words: &[String]) -> (Vec<&str>, Vec<&str>) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mut kept, mut files) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < words.len() {
        let rest = &words[at..];
        let is_test = rest.starts_with(&["#", "[", "cfg", "(", "test", ")", "]"])
            || rest.starts_with(&["#", "[", "cfg", "(", "all", "(", "test"]);
        if !is_test {
            kept.push(words[at]);
            at += 1;
            continue;
        }
        // The attributes come first, then the item, which ends with a semicolon or with its block.
        while words.get(at) == Some(&"#") {
            at = end_of_group(&words, at + 1);
        }
        let begin = at;
        while at < words.len() && words[at] != ";" {
            at = match words[at] {
                "{" | "(" | "[" => end_of_group(&words, at),
                _ => at + 1,
            };
            if words[at - 1] == "}" {
                break;
            }
        }
        if words.get(at) == Some(&";") {
            let item = &words[begin..at];
            let module = item.iter().position(|word| *word == "mod");
            files.extend(module.and_then(|place| item.get(place + 1)).copied());
            at += 1;
        }
    }
    (kept, files)
}

/// The place after the group that opens at `at`.
fn end_of_group(words: &[&str], at: usize) -> usize {
    let mut open = 0_usize;
    for (place, word) in words.iter().enumerate().skip(at) {
        match *word {
            "{" | "(" | "[" => open += 1,
            "}" | ")" | "]" => open -= 1,
            _ => {}
        }
        if open == 0 {
            return place + 1;
        }
    }
    words.len()
}

/// The names at the root that paths lead to: `x` of `crate::x::y`, `crate::{x, z}` and `super::x`, where `super` is the
/// root. `depth` is that of the file's module.
fn imports<'a>(words: &[&'a str], depth: usize) -> Vec<&'a str> {
    let mut names = Vec::new();
    // One entry for each open brace: whether it belongs to a module.
    let mut braces = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map(|place| words[place]);
        match *word {
            "{" => braces.push(before(2) == Some("mod")),
            "}" => drop(braces.pop()),
            // `pub(in crate::x)` is no import.
            "crate" if before(1) != Some("in") || before(2) != Some("(") => {
                names.extend(first_names(words, at + 1));
            }
            "super" if before(1) != Some("::") => {
                let depth = depth + braces.iter().filter(|is_module| **is_module).count();
                let mut supers = 1;
                let mut end = at + 1;
                while words[end..].starts_with(&["::", "super"]) {
                    (supers, end) = (supers + 1, end + 2);
                }
                if supers == depth {
                    names.extend(first_names(words, end));
                }
            }
            _ => {}
        }
    }
    names
}

/// The names behind the `::` at that place: one, or those of a list.
fn first_names<'a>(words: &[&'a str], at: usize) -> Vec<&'a str> {
    if words.get(at) != Some(&"::") {
        return Vec::new();
    }
    let list = match words.get(at + 1) {
        Some(&"{") => &words[at + 2..end_of_group(words, at + 1) - 1],
        Some(_) => &words[at + 1..at + 2],
        None => &[],
    };
    let mut names = Vec::new();
    let mut place = 0;
    while place < list.len() {
        names.push(list[place]);
        while place < list.len() && list[place] != "," {
            place = match list[place] {
                "{" => end_of_group(list, place),
                _ => place + 1,
            };
        }
        place += 1;
    }
    names.retain(|name| !["self", "super", "*"].contains(name));
    names
}

/// The names that the root imports from its modules, with the module of each.
fn re_exports<'a>(root: &[&'a str], modules: &BTreeSet<&'a str>) -> BTreeMap<&'a str, &'a str> {
    let mut names = BTreeMap::new();
    for at in root
        .iter()
        .enumerate()
        .filter(|(_, word)| **word == "use")
        .map(|(at, _)| at)
    {
        let mut first = at + 1;
        while ["crate", "self"].contains(&root[first]) {
            first += 2;
        }
        let Some(&module) = modules.get(root[first]) else {
            continue;
        };
        let rest = root[first..].iter();
        let path: Vec<&str> = rest.copied().take_while(|word| *word != ";").collect();
        // The last name of each path in the list is the imported one.
        for (place, word) in path.iter().enumerate().skip(1) {
            let is_end = path
                .get(place + 1)
                .is_none_or(|next| [",", "}"].contains(next));
            if is_end {
                names.insert(*word, module);
            }
        }
    }
    names
}

#[test]
fn imports_are_read_from_every_form_of_path() {
    let source = r##"
        //! Not [`crate::comment`].
        use crate::{alpha::One, beta::{self, Two}, gamma};
        pub(in crate::not_this) use crate::delta::Three as Four;
        /* nor /* nested */ crate::comment */
        fn body<'a>(text: &'a str) -> char {
            let _ = ("crate::text", r#"crate::"raw""#, b'"', '\'');
            crate::epsilon::run(super::zeta::Five { six: 6 });
            'x'
        }
        mod inner {
            use super::{not_root, super::eta};
            use super::super::theta;
        }
        #[cfg(test)]
        use crate::{test::a, test::b};
        #[cfg(test)]
        #[path = "x.rs"]
        mod in_a_file;
        #[cfg(test)]
        mod tests {
            use crate::test;
        }
        use crate::iota;
    "##;
    let words = words(source.parse().unwrap());
    let (words, files) = without_tests(&words);
    assert_eq!(files, ["in_a_file"]);
    let expected = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "iota",
    ];
    assert_eq!(imports(&words, 1), expected);
}

#[test]
fn upward_imports_are_found_through_the_root_too() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let files = BTreeMap::from([
        file(
            "lib.rs",
            "mod high; mod low; pub use high::{Item, deep::Other as Named}; fn own() {}",
        ),
        file(
            "low.rs",
            "use crate::{Item, Named}; #[cfg(test)] mod tests; fn f() { crate::own() }",
        ),
        file("low/tests.rs", "use crate::high;"),
        file(
            "low/part.rs",
            "use super::super::high; use super::high_of_low;",
        ),
        file("high/mod.rs", "use crate::low; use super::low::part;"),
    ]);
    assert_eq!(
        upward_imports(&files, "lib.rs", &["low", "high"]),
        [
            "low.rs imports high",
            "low.rs imports own of lib.rs",
            "low/part.rs imports high",
        ]
    );
    let unknown = std::panic::catch_unwind(|| upward_imports(&files, "lib.rs", &["low"]));
    let message = unknown.unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert!(message.contains("`high` is not in the order"), "{message}");
}

//! Changes to files whose parts are lines: the tables of TOML, and the entries of one mapping of YAML.

use serde_json::{Value, json};

use super::{clients::NAME, json::JsonProblem};

/// Adds a table of TOML after all others, or replaces the one of that name.
///
/// # Errors
/// The text is no TOML, or would be none afterwards.
pub(super) fn set_table(text: &str, name: &str, body: &str) -> Result<String, JsonProblem> {
    check_toml(text)?;
    let found = table(text, name);
    // As it is: it may end with a comment of the user.
    let header = found.and_then(|(begin, _)| text[begin..].lines().next());
    let header = header.map_or_else(|| format!("[{name}]"), str::to_owned);
    let block = format!("{header}\n{body}");
    let changed = match found {
        // White space after the table is no difference.
        Some((begin, end)) if text[begin..end].trim_end() == block.trim_end() => text.to_owned(),
        Some((begin, end)) => {
            let space = &text[begin..end][text[begin..end].trim_end().len()..];
            [&text[..begin], block.trim_end(), space, &text[end..]].concat()
        }
        None => {
            let between = match text {
                "" => "",
                text if text.ends_with('\n') => "\n",
                _ => "\n\n",
            };
            format!("{text}{between}{block}")
        }
    };
    // Checked again: tables are recognised by how lines begin, which a text of several lines can imitate.
    check_toml(&changed)?;
    Ok(changed)
}

/// Removes a table of TOML and those below it, each with the empty line before it. A program refuses settings below a
/// server that is gone, such as its user's consent to single tools.
pub(super) fn remove_table(text: &str, name: &str) -> Result<String, JsonProblem> {
    check_toml(text)?;
    let below = format!("{name}.");
    let mut tables = text.lines().filter_map(table_of);
    if let Some(table) = tables.find(|table| table.starts_with(&below)) {
        return remove_table(&remove_table(text, table)?, name);
    }
    let Some((begin, end)) = table(text, name) else {
        return Ok(text.to_owned());
    };
    let before = &text[..begin];
    // `set_table` put one of the two line breaks there.
    let before = match before.ends_with("\n\n") {
        true => &before[..before.len() - 1],
        false => before,
    };
    let changed = format!("{before}{}", &text[end..]);
    check_toml(&changed)?;
    Ok(changed)
}

/// The lines of a table of TOML below its name; `None` where there is no such table.
pub(super) fn table_body<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (begin, end) = table(text, name)?;
    text[begin..end].split_once('\n').map(|(_, body)| body)
}

/// A table of TOML as JSON; `None` where there is none.
pub(super) fn table_value(text: &str, name: &str) -> Option<Value> {
    let file: toml::Table = toml::from_str(text).ok()?;
    let mut names = name.split('.');
    let first = file.get(names.next()?)?;
    let table = names.try_fold(first, |table, name| table.get(name))?;
    serde_json::to_value(table).ok()
}

/// Sets a key of a table of TOML to true.
///
/// # Errors
/// The text is no TOML, or would be none afterwards.
pub(super) fn set_true(text: &str, name: &str, key: &str) -> Result<String, JsonProblem> {
    check_toml(text)?;
    if table_value(text, name).is_some_and(|table| table[key] == true) {
        return Ok(text.to_owned());
    }
    let changed = match table(text, name) {
        Some((begin, _)) => {
            let line = begin + text[begin..].lines().next().map_or(0, str::len);
            format!("{}\n{key} = true{}", &text[..line], &text[line..])
        }
        None => set_table(text, name, &format!("{key} = true\n"))?,
    };
    check_toml(&changed)?;
    Ok(changed)
}

pub(super) fn check_toml(text: &str) -> Result<(), JsonProblem> {
    toml::from_str::<toml::Table>(text)
        .map(drop)
        // The parser's message is omitted, since it would quote the line.
        .map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.unwrap_or_default().matches('\n').count() + 1;
            format!("it is no TOML, or has this already in another form, at line {line}")
        })
}

/// The table that begins with a line of TOML, which may end with a comment.
fn table_of(line: &str) -> Option<&str> {
    let header = line.split('#').next()?.trim();
    header.strip_prefix('[')?.strip_suffix(']')
}

/// The range of a table: until its last key, since later comments may belong to the next table.
fn table(text: &str, name: &str) -> Option<(usize, usize)> {
    let mut found: Option<(usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at;
        at += line.len();
        let is_header = line.trim_start().starts_with('[');
        match &mut found {
            Some(_) if is_header => break,
            Some((_, end)) if is_content(line) => *end = at,
            None if table_of(line) == Some(name) => found = Some((begin, at)),
            _ => {}
        }
    }
    found
}

/// Whether a line is neither blank nor a comment, which end nothing in TOML and YAML.
fn is_content(line: &str) -> bool {
    !matches!(line.trim_start().chars().next(), None | Some('#'))
}

/// Adds Memoir's entry to a mapping at the top of a file of YAML, or replaces it. `body` is its lines, each deeper by
/// two spaces than its name.
///
/// # Errors
/// The mapping is written on one line.
pub(super) fn set_entry(text: &str, mapping: &str, body: &[String]) -> Result<String, JsonProblem> {
    // An older entry is removed first, so that there is only one.
    let (text, _) = split_entry(text, mapping);
    let block = |indent: &str| {
        let lines = body.iter().map(|line| format!("{indent}  {line}\n"));
        format!("{indent}{NAME}:\n{}", lines.collect::<String>())
    };
    let header = format!("{mapping}:");
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if let Some(rest) = after_key(line, mapping) {
            let rest = rest.split('#').next().unwrap_or_default().trim();
            if !rest.is_empty() {
                return Err(format!("`{mapping}` is written on one line"));
            }
            // The entry is indented as the others are, since YAML allows one depth in a mapping.
            let next = text[at..].lines().find(|line| is_content(line));
            let indent = next.map_or("", |line| &line[..line.len() - line.trim_start().len()]);
            let indent = if indent.is_empty() { "  " } else { indent };
            let (before, after) = text.split_at(at);
            let end = if before.ends_with('\n') { "" } else { "\n" };
            return Ok(format!("{before}{end}{}{after}", block(indent)));
        }
    }
    let end = match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => "\n",
    };
    Ok(format!("{text}{end}{header}\n{}", block("  ")))
}

/// The lines of Memoir's entry in a mapping at the top of a file of YAML, in the form of [`set_entry`]; `None` where
/// there is none.
pub(super) fn entry_body(text: &str, mapping: &str) -> Option<Vec<String>> {
    let (_, entry) = split_entry(text, mapping);
    let mut lines = entry.lines().skip(1).peekable();
    let first = lines.peek()?;
    let indent = first.len() - first.trim_start().len();
    // A line that is indented less is blank.
    let lines = lines.map(|line| line.get(indent..).unwrap_or_default().to_owned());
    Some(lines.collect())
}

/// The command of a server's entry of YAML (see [`entry_body`]), with JSON's names for its parts.
pub(super) fn entry_value(body: &[String]) -> Value {
    let plain = |word: &str| {
        let word = word.trim();
        serde_json::from_str(word).unwrap_or_else(|_| word.trim_matches('\'').to_owned())
    };
    let command = body.iter().find_map(|line| line.strip_prefix("cmd:"));
    let items = body.iter().skip_while(|line| line.trim_end() != "args:");
    let items = items
        .skip(1)
        .map_while(|line| line.trim_start().strip_prefix("- "));
    json!({
        "command": command.map(plain),
        "args": items.map(plain).collect::<Vec<String>>(),
    })
}

/// A file of YAML without Memoir's entry in a mapping at its top, and the entry.
pub(super) fn split_entry(text: &str, mapping: &str) -> (String, String) {
    let (mut rest, mut taken) = (String::new(), String::new());
    // `entries` is the depth of the mapping's entries; 0 before the first one.
    let (mut is_inside, mut entries, mut is_own) = (false, 0, false);
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        let depth = line.len() - content.len();
        if is_content(line) && depth == 0 {
            is_inside = after_key(line, mapping).is_some();
            (entries, is_own) = (0, false);
        } else if is_content(line) && is_inside && (entries == 0 || depth <= entries) {
            entries = depth;
            // In any form: a mapping of YAML with two entries of one name is invalid.
            is_own = after_key(content, NAME).is_some();
        }
        match is_own && is_content(line) {
            true => taken.push_str(line),
            false => rest.push_str(line),
        }
    }
    (rest, taken)
}

/// The rest of a line of YAML behind that key, which may be in quotes, and behind a byte order mark.
fn after_key<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let quotes = ['"', '\''];
    let line = line.trim_start_matches('\u{feff}');
    let rest = line.trim_start_matches(quotes).strip_prefix(key)?;
    let rest = rest.trim_start_matches(quotes).trim_start();
    rest.strip_prefix(':')
}

/// The text in quotes, for TOML and YAML alike: both accept those of JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_and_go_and_leave_the_others() {
        for file in [
            "",
            "model = \"x\"\n",
            "[a]\nb = 1 # mine\n\n[c]\n",
            "[mcp_servers.other]\ncommand = \"y\"\n",
        ] {
            let changed = set_table(file, "mcp_servers.memoir", "command = \"m\"\n").unwrap();
            let again = set_table(&changed, "mcp_servers.memoir", "command = \"m\"\n").unwrap();
            assert_eq!(again, changed);
            let other = set_table(&changed, "mcp_servers.memoir", "command = \"n\"\n").unwrap();
            assert_eq!(other, changed.replace("\"m\"", "\"n\""));
            assert_eq!(remove_table(&other, "mcp_servers.memoir").unwrap(), file);
        }
        let features = set_true("[features]\nweb = true\n", "features", "hooks").unwrap();
        assert_eq!(features, "[features]\nhooks = true\nweb = true\n");
        assert_eq!(set_true(&features, "features", "hooks").unwrap(), features);
        assert!(set_table("a = [", "b", "").is_err());
        assert!(set_table("mcp_servers = { memoir = {} }\n", "mcp_servers.memoir", "").is_err());
    }

    #[test]
    fn entries_come_and_go_and_leave_the_others() {
        let body = ["type: stdio", "args:", "  - x"].map(str::to_owned);
        for file in [
            "extensions:\n  developer:\n    enabled: true\nGOOSE_MODEL: x\n",
            "GOOSE_MODEL: x\nextensions:\n    developer:\n        enabled: true\n",
            "\u{feff}extensions:\n  developer:\n    enabled: true\n",
            "\"extensions\":\n  developer:\n    enabled: true\n",
            "'extensions' :\n  developer:\n    enabled: true\n",
        ] {
            let changed = set_entry(file, "extensions", &body).unwrap();
            assert_eq!(set_entry(&changed, "extensions", &body).unwrap(), changed);
            assert_eq!(changed.matches("extensions").count(), 1, "{changed}");
            let quoted = changed.replace("memoir:", "\"memoir\":");
            assert_eq!(set_entry(&quoted, "extensions", &body).unwrap(), changed);
            assert_eq!(split_entry(&changed, "extensions").0, file);
            let found = entry_body(&changed, "extensions");
            assert_eq!(found.as_deref(), Some(&body[..]));
        }
        let made = set_entry("", "extensions", &body[..1]).unwrap();
        assert_eq!(made, "extensions:\n  memoir:\n    type: stdio\n");
        assert!(set_entry("extensions: {}\n", "extensions", &body).is_err());
    }
}

//! Changes to a JSON file of another program: unchanged parts keep their bytes, comments too.
//!
//! The text is parsed into a tree of positions. A member or element is added after the last one in the file's own
//! indentation, and removing it restores the previous bytes.

use std::{borrow::Cow, ops::Range};

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectProp, Value as JsonNode},
    common::Ranged,
    parse_to_ast,
};
use serde::Serialize;
use serde_json::Value;

/// Why a file cannot be changed.
pub(super) type JsonProblem = String;

/// The member of that name; the last one of several, as JSON's readers take it.
fn member<'a>(node: &'a JsonNode<'a>, name: &str) -> Option<&'a ObjectProp<'a>> {
    let members = &node.as_object()?.properties;
    members.iter().rfind(|member| member.name.as_str() == name)
}

fn at<'a>(node: &'a JsonNode<'a>, path: &[&str]) -> Option<&'a JsonNode<'a>> {
    path.iter()
        .try_fold(node, |node, name| Some(&member(node, name)?.value))
}

/// The hooks of a group of hooks; none for another value.
fn hooks<'a>(group: &'a JsonNode<'a>) -> &'a [JsonNode<'a>] {
    match member(group, "hooks").map(|member| &member.value) {
        Some(JsonNode::Array(hooks)) => &hooks.elements,
        _ => &[],
    }
}

/// The positions of the parts of an object or array.
fn parts(node: &JsonNode<'_>) -> Vec<Range<usize>> {
    match node {
        JsonNode::Object(object) => object.properties.iter().map(place).collect(),
        JsonNode::Array(array) => array.elements.iter().map(place).collect(),
        _ => Vec::new(),
    }
}

fn place(part: &impl Ranged) -> Range<usize> {
    part.start()..part.end()
}

/// The value at a path of names; `None` where there is none.
pub(super) fn get(text: &str, path: &[&str]) -> Result<Option<Value>, JsonProblem> {
    if is_blank(text) {
        return Ok(None);
    }
    let json = readable(text);
    let root = parsed(&json)?;
    Ok(at(&root, path).map(value_of))
}

fn value_of(node: &JsonNode<'_>) -> Value {
    node.clone().into()
}

/// Sets the value at a path of names; missing objects on the way are created.
///
/// # Errors
/// The text is no JSON, or a value on the way is no object.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, JsonProblem> {
    let text = &with_root(text);
    let json = readable(text);
    let root = parsed(&json)?;
    let mut node = &root;
    for (depth, name) in path.iter().enumerate() {
        let JsonNode::Object(_) = node else {
            return Err(not_the_form(&path[..depth], "an object"));
        };
        match member(node, name) {
            Some(member) => node = &member.value,
            None => {
                let value = path[depth + 1..]
                    .iter()
                    .rev()
                    .fold(value.clone(), |value, name| {
                        Value::Object([((*name).to_owned(), value)].into_iter().collect())
                    });
                return Ok(insert(text, &root, node, Some(name), &value));
            }
        }
    }
    Ok(replaced(text, &root, node, value))
}

/// The text with another value in the place of a node. A file with this value already is not changed by a byte.
fn replaced(text: &str, root: &JsonNode<'_>, node: &JsonNode<'_>, value: &Value) -> String {
    if value_of(node) == *value {
        return text.to_owned();
    }
    let line = indent_at(text, node.start());
    spliced(text, place(node), &pretty(value, line, step(text, root)))
}

/// Adds a hook after the last one of a list, or replaces the first one that `is_own`. An element of the list is a hook,
/// or a group with a list of `hooks`; the parts beside an own hook in its group keep their bytes.
pub(super) fn put_hook(
    text: &str,
    path: &[&str],
    value: &Value,
    is_own: impl Fn(&Value) -> bool,
) -> Result<String, JsonProblem> {
    let text = &with_root(text);
    let json = readable(text);
    let root = parsed(&json)?;
    let Some(node) = at(&root, path) else {
        return set(text, path, &Value::from(vec![value.clone()]));
    };
    let JsonNode::Array(list) = node else {
        return Err(not_the_form(path, "a list"));
    };
    let Some(OwnHook { hook, in_group, .. }) = own_hook(&list.elements, is_own) else {
        return Ok(insert(text, &root, node, None, value));
    };
    let alone = in_group.and_then(|_| value.pointer("/hooks/0"));
    Ok(replaced(text, &root, hook, alone.unwrap_or(value)))
}

/// The first hook of a list that `is_own` (see [`put_hook`]); `None` where there is none.
pub(super) fn find_hook(
    text: &str,
    path: &[&str],
    is_own: impl Fn(&Value) -> bool,
) -> Option<Value> {
    let json = readable(text);
    let root = parsed(&json).ok()?;
    let list = at(&root, path)?.as_array()?;
    Some(value_of(own_hook(&list.elements, is_own)?.hook))
}

/// A hook in the list of an event.
struct OwnHook<'a> {
    hook: &'a JsonNode<'a>,
    /// The element that it is, or that is its group.
    element: usize,
    /// Its position in its group; `None` where it is an element itself.
    in_group: Option<usize>,
}

fn own_hook<'a>(
    elements: &'a [JsonNode<'a>],
    is_own: impl Fn(&Value) -> bool,
) -> Option<OwnHook<'a>> {
    let is_own = |node: &JsonNode<'_>| is_own(&value_of(node));
    elements.iter().enumerate().find_map(|(element, node)| {
        let (hook, in_group) = match is_own(node) {
            true => (node, None),
            false => {
                let at = hooks(node).iter().position(&is_own)?;
                (&hooks(node)[at], Some(at))
            }
        };
        Some(OwnHook {
            hook,
            element,
            in_group,
        })
    })
}

/// Removes the value at a path, and the emptied objects on the way, from `kept` names on.
pub(super) fn remove(text: &str, path: &[&str], kept: usize) -> Result<String, JsonProblem> {
    let json = readable(text);
    let root = parsed(&json)?;
    let Some((name, way)) = path.split_last() else {
        return Ok(text.to_owned());
    };
    let has_name = |member: &ObjectProp<'_>| member.name.as_str() == *name;
    let found = at(&root, way).and_then(|above| {
        let members = &above.as_object()?.properties;
        // The one that counts.
        Some((above, members, members.iter().rposition(has_name)?))
    });
    let Some((above, members, at)) = found else {
        return Ok(text.to_owned());
    };
    if members[..at].iter().any(has_name) {
        // An earlier one would count then.
        return remove(&without_part(text, above, at), path, kept);
    }
    if is_alone(text, above) && way.len() > kept && !is_double(&root, way) {
        return remove(text, way, kept);
    }
    Ok(without_part(text, above, at))
}

/// Whether several members have the last name of a path. The one that counts then stays when it is emptied: without it,
/// an earlier one would count.
fn is_double(root: &JsonNode<'_>, path: &[&str]) -> bool {
    let Some((name, way)) = path.split_last() else {
        return false;
    };
    let has_name = |member: &&ObjectProp<'_>| member.name.as_str() == *name;
    let above = at(root, way).and_then(JsonNode::as_object);
    above.is_some_and(|above| above.properties.iter().filter(has_name).count() > 1)
}

/// Removes the hooks that are `own` from a list (see [`put_hook`]). A group that holds nothing else, as [`put_hook`]
/// creates it, is removed with its last hook. The emptied list and its objects are removed too, from `kept` names on.
pub(super) fn take_hooks(
    text: &str,
    path: &[&str],
    kept: usize,
    is_own: impl Fn(&Value) -> bool,
) -> Result<String, JsonProblem> {
    // The hooks are removed one by one, since removing one moves the others.
    let mut text = text.to_owned();
    loop {
        let json = readable(&text);
        let root = parsed(&json)?;
        let found = at(&root, path).and_then(|node| {
            let elements = &node.as_array()?.elements;
            Some((node, elements, own_hook(elements, &is_own)?))
        });
        let Some((node, elements, own)) = found else {
            return Ok(text);
        };
        let group = &elements[own.element];
        if let (Some(at), Some(hooks)) = (own.in_group, member(group, "hooks"))
            && (parts(&hooks.value).len() > 1 || parts(group).len() > 1)
        {
            text = without_part(&text, &hooks.value, at);
            continue;
        }
        if is_alone(&text, node) && path.len() > kept && !is_double(&root, path) {
            return remove(&text, path, kept);
        }
        text = without_part(&text, node, own.element);
    }
}

/// Whether a file has nothing in it but white space, or a mark of the byte order.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// A file's text; of a blank file, an empty object behind its mark of the byte order.
fn with_root(text: &str) -> Cow<'_, str> {
    match is_blank(text) {
        true => {
            let mark = text.strip_prefix('\u{feff}').map_or("", |_| "\u{feff}");
            format!("{mark}{{}}\n").into()
        }
        false => text.into(),
    }
}

/// The text with spaces in the place of a mark of the byte order, which the parser does not know.
fn readable(text: &str) -> String {
    let json = text.trim_start_matches('\u{feff}');
    " ".repeat(text.len() - json.len()) + json
}

fn not_the_form(path: &[&str], form: &str) -> JsonProblem {
    match path {
        [] => format!("it is not {form}"),
        path => format!("`{}` is not {form}", path.join(".")),
    }
}

fn spliced(text: &str, place: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..place.start], &text[place.end..])
}

/// The white space at the beginning of the line.
fn indent_at(text: &str, at: usize) -> &str {
    let begin = text[..at].rfind('\n').map_or(0, |line| line + 1);
    let line = &text[begin..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The additional indentation of the file's first member; two spaces where it is on the same line.
fn step<'a>(text: &'a str, root: &JsonNode<'_>) -> &'a str {
    let first = parts(root).first().map(|part| indent_at(text, part.start));
    first.filter(|step| !step.is_empty()).unwrap_or("  ")
}

/// The value with the indentation of a line, and the additional one of a deeper line.
fn pretty(value: &Value, line: &str, step: &str) -> String {
    let mut written = Vec::new();
    let form = serde_json::ser::PrettyFormatter::with_indent(step.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut written, form);
    // A value of JSON can always be written.
    let _ = value.serialize(&mut serializer);
    let written = String::from_utf8_lossy(&written);
    written.replace('\n', &format!("\n{line}"))
}

/// Adds a part after the last one: a member of that name, or an element.
fn insert(
    text: &str,
    root: &JsonNode<'_>,
    into: &JsonNode<'_>,
    name: Option<&str>,
    value: &Value,
) -> String {
    let (last, outer) = (parts(into).pop(), indent_at(text, into.start()));
    let step = step(text, root);
    let line = match &last {
        Some(last) => indent_at(text, last.start).to_owned(),
        None => format!("{outer}{step}"),
    };
    let name = name.map_or_else(String::new, |name| format!("{}: ", Value::from(name)));
    let part = name + &pretty(value, &line, step);
    match last {
        Some(last) => {
            let is_on_own_line = text[into.start()..last.start].contains('\n');
            let part = match is_on_own_line {
                true => format!(",\n{line}{part}"),
                false => format!(", {part}"),
            };
            spliced(text, last.end..last.end, &part)
        }
        None => {
            let (begin, end) = (into.start() + 1, into.end() - 1);
            match text[begin..end].trim().is_empty() {
                true => spliced(text, begin..end, &format!("\n{line}{part}\n{outer}")),
                // Before the comments.
                false => spliced(text, begin..begin, &format!("\n{line}{part}")),
            }
        }
    }
}

/// Removes one part, with its comma and the white space beside it. Comments there stay.
fn without_part(text: &str, node: &JsonNode<'_>, at: usize) -> String {
    let parts = parts(node);
    let part = &parts[at];
    let before = at.checked_sub(1).map(|before| parts[before].end);
    let Range { start, end } = match (before, parts.get(at + 1)) {
        // From the end of the previous part on: that is where it was added.
        (Some(end), next) if next.is_none() || comments(&text[end..part.start]).is_empty() => {
            end..part.end
        }
        (_, Some(next)) => part.start..next.start,
        (_, None) => node.start() + 1..node.end() - 1,
    };
    let beside = [start..part.start, part.end..end].map(|gap| comments(&text[gap]));
    let beside = beside.concat();
    let beside = match start == part.start {
        true => beside.trim_start(),
        false => beside.as_str(),
    };
    spliced(text, start..end, beside)
}

/// A text beside a part, without the comma; empty where there is no comment.
fn comments(gap: &str) -> String {
    // Each comment has a slash.
    if !gap.contains('/') {
        return String::new();
    }
    let mut at = 0;
    while let Some(found) = gap[at..].find([',', '/']) {
        at += found;
        let rest = &gap[at..];
        let length = match rest.get(..2) {
            Some("//") => rest.find(['\n', '\r']),
            Some("/*") => rest[2..].find("*/").map(|end| end + 4),
            _ => return [&gap[..at], &rest[1..]].concat(),
        };
        at += length.unwrap_or(rest.len());
    }
    gap.to_owned()
}

/// Whether it has one part, without comments beside that.
fn is_alone(text: &str, node: &JsonNode<'_>) -> bool {
    match &parts(node)[..] {
        [part] => {
            let gaps = [node.start() + 1..part.start, part.end..node.end() - 1];
            gaps.into_iter().all(|gap| comments(&text[gap]).is_empty())
        }
        _ => false,
    }
}

/// Parses JSON with comments and trailing commas, as settings have them.
///
/// # Errors
/// It is neither, or nested deeper than any settings.
fn parsed(json: &str) -> Result<JsonNode<'_>, JsonProblem> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(json, &CollectOptions::default(), &options);
    let problem = |line: usize| format!("it is no JSON from line {line} on");
    match parsed {
        Ok(found) => found.value.ok_or_else(|| problem(1)),
        Err(error) => Err(problem(error.line_display())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FILES: [&str; 11] = [
        "{}\n",
        "{\n}\n",
        "{\n  // one, two\n}\n",
        "{ /* one, two */ }",
        "{\n  \"a\": 1\n}\n",
        "{\n\t\"a\": [],\n\t\"servers\": {}\n}",
        "{\"a\":1,\"servers\":{\"other\":{\"x\":[1,2]}}}",
        "// mine\n{\n    // first\n    \"servers\": {\n        \"other\": {\"x\": 1} // last\n    }\n}\n",
        "{\n  \"hooks\": {\n    \"Start\": [\n      {\"of\": \"others\"}\n    ]\n  }\n}\n",
        "{\r\n  \"a\": \"// no } comment\"\r\n}\r\n",
        "\u{feff}{\"hooks\": {\"Start\": []}}",
    ];

    fn is_own(value: &Value) -> bool {
        value["of"] == "memoir"
    }

    #[test]
    fn what_was_put_in_comes_out_again_to_the_byte() {
        for file in FILES {
            let kept = usize::from(get(file, &["servers"]).unwrap().is_some());
            let path = ["servers", "memoir"];
            let server = json!({"command": "m", "args": ["x"]});
            let changed = set(file, &path, &server).unwrap();
            let within = get(&changed, &["servers", "memoir", "args", "x"]);
            assert_eq!(within.unwrap(), None);
            assert_eq!(set(&changed, &path, &server).unwrap(), changed);
            assert_eq!(get(&changed, &path).unwrap(), Some(server), "{changed}");
            let back = remove(&changed, &path, kept).unwrap();
            assert!(same(&back, file), "{file:?}: {back:?}");

            let path = ["hooks", "Start"];
            let kept = match (get(file, &path[..1]), get(file, &path)) {
                (_, Ok(Some(_))) => 2,
                (Ok(Some(_)), _) => 1,
                _ => 0,
            };
            let changed = put_hook(file, &path, &json!({"of": "memoir", "at": 1}), is_own).unwrap();
            let replaced =
                put_hook(&changed, &path, &json!({"of": "memoir", "at": 2}), is_own).unwrap();
            assert_eq!(replaced, changed.replace("\"at\": 1", "\"at\": 2"));
            let back = take_hooks(&replaced, &path, kept, is_own).unwrap();
            assert!(same(&back, file), "{file:?}: {back:?}");
        }
    }

    /// Empty brackets may have been written over two lines.
    fn same(one: &str, other: &str) -> bool {
        one == other || other.trim().len() < 4 && one.trim() == "{}"
    }

    #[test]
    fn of_several_members_of_one_name_the_last_one_counts() {
        let file = r#"{"hooks": {"a": 1}, "hooks": {"b": 2}}"#;
        let changed = set(file, &["hooks", "c"], &json!(3)).unwrap();
        // As every reader of the file takes it.
        let read: Value = serde_json::from_str(&changed).unwrap();
        assert_eq!(read["hooks"], json!({"b": 2, "c": 3}));
        assert!(changed.contains(r#""hooks": {"a": 1}"#));
        assert_eq!(get(file, &["hooks", "b"]).unwrap(), Some(json!(2)));
        let removed = remove(file, &["hooks", "b"], 0).unwrap();
        assert_eq!(removed, r#"{"hooks": {"a": 1}, "hooks": {}}"#);
        for (file, after) in [
            (r#"{"s": {"m": 1, "m": 2}}"#, "{}"),
            (r#"{"s": {"m": 1, "o": 3, "m": 2}}"#, r#"{"s": {"o": 3}}"#),
            (
                r#"{"s": {"m": 1}, "s": {"m": 2, "o": 3}}"#,
                r#"{"s": {"m": 1}, "s": {"o": 3}}"#,
            ),
            (r#"{"s": {"m": 1}, "s": {}}"#, r#"{"s": {"m": 1}, "s": {}}"#),
        ] {
            assert_eq!(remove(file, &["s", "m"], 0).unwrap(), after);
        }
        let file = r#"{"h": {"S": [{"of": "others"}], "S": [{"of": "memoir"}]}}"#;
        let taken = take_hooks(file, &["h", "S"], 0, is_own).unwrap();
        assert_eq!(taken, r#"{"h": {"S": [{"of": "others"}], "S": []}}"#);
    }

    #[test]
    fn a_file_of_a_byte_order_mark_alone_is_a_blank_one() {
        for file in ["", " \n", "\u{feff}", "\u{feff}\r\n"] {
            let mark = file.strip_prefix('\u{feff}').map_or("", |_| "\u{feff}");
            assert_eq!(get(file, &["a"]), Ok(None), "{file:?}");
            let changed = set(file, &["a"], &json!(1)).unwrap();
            assert_eq!(changed, format!("{mark}{{\n  \"a\": 1\n}}\n"));
            let hooked = put_hook(file, &["a"], &json!(1), is_own).unwrap();
            assert_eq!(get(&hooked, &["a"]), Ok(Some(json!([1]))), "{file:?}");
            let removed = remove(&changed, &["a"], 0).unwrap();
            assert_eq!(removed, format!("{mark}{{}}\n"));
        }
    }

    #[test]
    fn what_is_no_json_or_of_another_form_is_refused() {
        for (file, problem) in [
            ("{\n  \"a\": oops\n}", "it is no JSON from line 2 on"),
            ("{\"a\": 1} more", "it is no JSON from line 1 on"),
            ("[1]", "it is not an object"),
            ("{\"a\": 1}", "`a` is not an object"),
            ("{\"a\": null}", "`a` is not an object"),
            ("{\"a\": [{}]}", "`a` is not an object"),
            ("{\"a\": {}, \"a\": \"b\"}", "`a` is not an object"),
            ("null", "it is not an object"),
            ("\"text\"", "it is not an object"),
            ("\u{feff}[]", "it is not an object"),
            ("// nothing\n", "it is no JSON from line 1 on"),
            ("{}{}", "it is no JSON from line 1 on"),
            ("{\"a\": {}", "it is no JSON from line 1 on"),
            ("{'a': {}}", "it is no JSON from line 1 on"),
            ("{a: {}}", "it is no JSON from line 1 on"),
            ("{\"a\": {} \"b\": 1}", "it is no JSON from line 1 on"),
        ] {
            let refused = set(file, &["a", "b"], &json!(1)).unwrap_err();
            assert_eq!(refused, problem, "{file}");
        }
        assert!(put_hook("{\"a\": {}}", &["a"], &json!(1), |_| false).is_err());
        assert!(get(&"[".repeat(100_000), &[]).is_err());
    }
}

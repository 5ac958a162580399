//! Reading a tool's call as a model sends it. Arguments are checked only after the session, the tool,
//! the mode and the cap (SPEC 3.8), so a fault found here waits inside [`ToolRequest`].

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    memory::{CONTENT_LIMIT, Invalid, Number, parse_text},
    recall::QUERY_LIMIT,
    session::{
        SUMMARY_LIMIT,
        tools::{Refusal, Tool},
    },
    text::{mend, private::PrivateText},
    time::{InvalidTimestamp, Timestamp},
};

/// The most memories that one consolidation or one delete takes (SPEC 3.9, 3.10).
pub const MEMBERS_LIMIT: usize = 10;

/// A call with valid arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the arguments are named as on the wire")]
pub enum ToolCall {
    Search(MemorySearch),
    Consolidate {
        numbers: Vec<Number>,
        content: PrivateText,
    },
    Update {
        number: Number,
        content: PrivateText,
    },
    Delete {
        numbers: Vec<Number>,
        replaced_by: Option<Number>,
    },
    Protect {
        number: Number,
    },
    Complete {
        summary: PrivateText,
    },
}

/// What a search takes: at least one of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the arguments are named as on the wire")]
pub struct MemorySearch {
    pub query: Option<PrivateText>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

impl ToolCall {
    /// The tool called.
    pub fn tool(&self) -> Tool {
        match self {
            Self::Search { .. } => Tool::Search,
            Self::Consolidate { .. } => Tool::Consolidate,
            Self::Update { .. } => Tool::Update,
            Self::Delete { .. } => Tool::Delete,
            Self::Protect { .. } => Tool::Protect,
            Self::Complete { .. } => Tool::Complete,
        }
    }

    /// The memories that it is to change; not the one that takes their place.
    pub fn numbers(&self) -> &[Number] {
        match self {
            Self::Consolidate { numbers, .. } | Self::Delete { numbers, .. } => numbers,
            Self::Update { number, .. } | Self::Protect { number } => std::slice::from_ref(number),
            Self::Search { .. } | Self::Complete { .. } => &[],
        }
    }
}

/// A call as it arrived: perhaps of no tool that there is, perhaps with faulty arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRequest {
    /// `None` where there is no tool of that name.
    pub tool: Option<Tool>,
    /// The call, or what is wrong with its arguments.
    pub call: Result<ToolCall, Refusal>,
}

impl ToolRequest {
    /// Reads a call. `None` for `arguments` means that they were no JSON.
    pub fn read(tool: &str, arguments: Option<&Value>) -> Self {
        let Some(tool) = Tool::from_name(tool) else {
            // The tools are filled in where the call is decided, which knows the session's mode.
            let call = Err(Refusal::UnknownTool(String::new()));
            return Self { tool: None, call };
        };
        let call = match arguments.and_then(read_arguments) {
            Some(arguments) => read_call(tool, &arguments),
            None => {
                let problem = format!("The arguments of {tool} must be one JSON object");
                Err(Refusal::InvalidArgument(problem))
            }
        };
        Self {
            tool: Some(tool),
            call,
        }
    }

    /// The memories that it names; none where the arguments are faulty.
    pub fn numbers(&self) -> &[Number] {
        self.call.as_ref().map_or(&[], ToolCall::numbers)
    }
}

fn read_call(tool: Tool, arguments: &Map<String, Value>) -> Result<ToolCall, Refusal> {
    check_names(tool, arguments)?;
    let get = |name: &'static str| Argument {
        name,
        // Null is as good as not given: a model may fill every argument that the schema names.
        value: arguments.get(name).filter(|value| !value.is_null()),
    };
    Ok(match tool {
        Tool::Search => {
            let query = get("query").query()?;
            let since = get("since").time(str::parse)?;
            let until = get("until").time(Timestamp::parse_until)?;
            if query.is_none() && since.is_none() && until.is_none() {
                return Err(Refusal::InvalidArgument(
                    "search_memories needs at least one of query, since and until".to_owned(),
                ));
            }
            Invalid::check_range(since, until)?;
            ToolCall::Search(MemorySearch {
                query,
                since,
                until,
            })
        }
        Tool::Consolidate => ToolCall::Consolidate {
            numbers: get("ids").members(2)?,
            content: get("content").text(CONTENT_LIMIT)?,
        },
        Tool::Update => ToolCall::Update {
            number: get("id").number()?,
            content: get("content").text(CONTENT_LIMIT)?,
        },
        Tool::Delete => {
            // `id` is what the description of other tools leads a model to write; some fill the other one with nothing.
            let (ids, id) = (get("ids"), get("id"));
            let named = match (ids.unless_empty().value, id.unless_empty().value) {
                (Some(_), Some(_)) => {
                    return Err(Refusal::InvalidArgument(
                        "ids and id are both given; name all memories in ids".to_owned(),
                    ));
                }
                (None, Some(_)) => id,
                (_, None) => ids,
            };
            let numbers = named.members(1)?;
            let replaced_by = get("replaced_by").unless_empty();
            let replaced_by = replaced_by.value.map(|_| replaced_by.number());
            let replaced_by = replaced_by.transpose()?;
            if let Some(number) = replaced_by.filter(|number| numbers.contains(number)) {
                return Err(Refusal::InvalidArgument(format!(
                    "replaced_by names {number}, which is deleted in the same call; name a memory that stays"
                )));
            }
            ToolCall::Delete {
                numbers,
                replaced_by,
            }
        }
        Tool::Protect => ToolCall::Protect {
            number: get("id").number()?,
        },
        Tool::Complete => ToolCall::Complete {
            summary: get("summary").text(SUMMARY_LIMIT)?,
        },
    })
}

/// An argument that is passed over silently would mislead the model about what was done.
fn check_names(tool: Tool, arguments: &Map<String, Value>) -> Result<(), Refusal> {
    let known: &[&str] = match tool {
        Tool::Search => &["query", "since", "until"],
        Tool::Consolidate => &["ids", "content"],
        Tool::Update => &["id", "content"],
        Tool::Delete => &["ids", "id", "replaced_by"],
        Tool::Protect => &["id"],
        Tool::Complete => &["summary"],
    };
    if arguments.keys().all(|name| known.contains(&name.as_str())) {
        return Ok(());
    }
    // The unknown name is not repeated: a model may have written anything there, and this sentence is Memoir's own.
    Err(Refusal::InvalidArgument(format!(
        "{} takes only {}; the call has an argument of another name",
        tool.as_str(),
        known.join(" and ")
    )))
}

#[derive(Clone, Copy)]
struct Argument<'a> {
    name: &'static str,
    value: Option<&'a Value>,
}

impl<'a> Argument<'a> {
    /// Not given where its value has nothing in it.
    fn unless_empty(self) -> Self {
        let value = self.value.filter(|value| !is_nothing(value));
        Self { value, ..self }
    }

    fn refused(&self, problem: impl fmt::Display) -> Refusal {
        Refusal::InvalidArgument(format!("{} {problem}", self.name))
    }

    fn given(&self) -> Result<&'a Value, Refusal> {
        self.value.ok_or_else(|| self.refused("is missing"))
    }

    fn string(&self) -> Result<Option<&'a str>, Refusal> {
        match self.value {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.refused("must be a string")),
        }
    }

    fn text(&self, limit: usize) -> Result<PrivateText, Refusal> {
        let text = self.string()?.ok_or_else(|| self.refused("is missing"))?;
        Ok(parse_text(self.name, text, limit)?)
    }

    fn query(&self) -> Result<Option<PrivateText>, Refusal> {
        let Some(text) = self
            .string()?
            .map(str::trim)
            .filter(|text| !text.is_empty())
        else {
            return Ok(None);
        };
        let length = text.chars().count();
        if length > QUERY_LIMIT {
            return Err(Invalid::too_long(self.name, length, QUERY_LIMIT).into());
        }
        Ok(Some(text.into()))
    }

    fn time(
        &self,
        parse: impl Fn(&str) -> Result<Timestamp, InvalidTimestamp>,
    ) -> Result<Option<Timestamp>, Refusal> {
        let Some(text) = self.string()?.filter(|text| !text.trim().is_empty()) else {
            return Ok(None);
        };
        let time = parse(text).map_err(|error| self.refused(format_args!("is {error}")))?;
        Ok(Some(time))
    }

    fn number(&self) -> Result<Number, Refusal> {
        read_number(self.given()?)
            .ok_or_else(|| self.refused("must be the number of one memory, such as 17 or \"#17\""))
    }

    /// Distinct numbers, at least `least` and at most [`MEMBERS_LIMIT`].
    fn members(&self, least: usize) -> Result<Vec<Number>, Refusal> {
        let numbers = read_numbers(self.given()?).ok_or_else(|| {
            self.refused("must be a list of memories' numbers, such as [17, 21] or \"17, 21\"")
        })?;
        let mut seen = std::collections::BTreeSet::new();
        if let Some(number) = numbers.iter().find(|number| !seen.insert(**number)) {
            let problem = format_args!("names {number} twice; name each memory once");
            return Err(self.refused(problem));
        }
        match numbers.len() {
            count if count < least => {
                let hint = match least {
                    1 => "",
                    _ => "; to rewrite one, call update_memory",
                };
                Err(self.refused(format_args!(
                    "must name at least {least} different memories, and names {count}{hint}"
                )))
            }
            count if count > MEMBERS_LIMIT => Err(self.refused(format_args!(
                "names {count} memories, and the limit is {MEMBERS_LIMIT}; split the call up"
            ))),
            _ => Ok(numbers),
        }
    }
}

/// The whole arguments as models and clients write them: an object, or one in a text, also encoded twice (SPEC 3.8). Null,
/// a blank text and an empty list are an object without arguments: some languages write an empty object as a list. What
/// models write into JSON that its grammar does not have, such as a comma behind the last item or a line break within a
/// text, is read too. `None` where they are something else.
pub fn read_arguments(sent: &Value) -> Option<Cow<'_, Map<String, Value>>> {
    let of_text = |text: &str| match text.trim() {
        "" => Some(Value::Null),
        text => read_json(text),
    };
    let read = match sent {
        Value::Object(arguments) => return Some(Cow::Borrowed(arguments)),
        Value::String(text) => match of_text(text)? {
            Value::String(inner) => of_text(&inner)?,
            value => value,
        },
        other if is_nothing(other) => Value::Null,
        _ => return None,
    };
    match read {
        Value::Object(arguments) => Some(Cow::Owned(arguments)),
        other => is_nothing(&other).then(Cow::default),
    }
}

/// JSON as models write it.
fn read_json(text: &str) -> Option<Value> {
    let text = mend::json(text.as_bytes());
    let is_whole = |text: &&str| text.starts_with(['{', '[']);
    let lenient = |text| serde_json::from_str(&mend::lenient(text)).ok();
    let strict = serde_json::from_str(&text).ok();
    strict.or_else(|| Some(text.trim()).filter(is_whole).and_then(lenient))
}

/// Whether a value has nothing in it: null, a blank text, an empty list.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The items of a list that is an array, or an array in a string (SPEC 3.8); `None` where it is neither.
pub fn read_list(value: &Value) -> Option<Cow<'_, [Value]>> {
    match value {
        Value::Array(items) => Some(items.into()),
        Value::String(text) => match read_json(text)? {
            Value::Array(items) => Some(items.into()),
            _ => None,
        },
        _ => None,
    }
}

/// A list of words such as tags, as models write it: an array, one word, `"a, b"`, or an array in a string (SPEC 3.8).
/// Numbers are read as words, and a blank text is an empty list.
pub fn read_words(value: &Value) -> Option<Vec<PrivateText>> {
    let word = |item: &Value| match item {
        Value::String(word) => Some(word.as_str().into()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    };
    match (read_list(value), value) {
        (Some(items), _) => items.iter().map(word).collect(),
        (None, Value::String(text)) => match hashtags(text) {
            Some(tags) => Some(tags.map(PrivateText::from).collect()),
            None => Some(parts(text)?.map(PrivateText::from).collect()),
        },
        (None, other) => Some(vec![word(other)?]),
    }
}

/// The words of `"#bees #hives"`; `None` where not each part is written so.
fn hashtags(text: &str) -> Option<impl Iterator<Item = &str>> {
    let words = || text.split_whitespace();
    let are_all = words().next().is_some() && words().all(|word| word.starts_with('#'));
    are_all.then(|| words().map(|word| word.trim_matches(['#', ','])))
}

/// A list of numbers as models write it: an array, one number, `"1, 2"`, or an array in a string (SPEC 3.8). Null and a
/// blank text are empty lists.
pub fn read_numbers(value: &Value) -> Option<Vec<Number>> {
    match (read_list(value), value) {
        (Some(items), _) => items.iter().map(read_number).collect(),
        (None, Value::Null) => Some(Vec::new()),
        (None, Value::String(text)) => parts(text)?.map(read_number_text).collect(),
        (None, other) => Some(vec![read_number(other)?]),
    }
}

/// The parts of a list that is written as text, with brackets as in `[#17, #21]`, which is no JSON, or without. `None`
/// where the list is broken off: its last part may be cut short.
fn parts(text: &str) -> Option<impl Iterator<Item = &str>> {
    let text = text.trim();
    let inside = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None => text,
    };
    let parts = inside.trim().trim_end_matches(',');
    let marks = |one: char| one.is_whitespace() || "\"'".contains(one);
    // Nothing at all is an empty list, and not a list of one empty part.
    let count = if parts.is_empty() { 0 } else { usize::MAX };
    let parts = parts.split(',');
    Some(parts.map(move |part| part.trim_matches(marks)).take(count))
}

/// A count as models write it: `20`, `20.0` or `"20"` (SPEC 3.8); `None` where it is none.
pub fn read_count(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) if text.trim().starts_with('#') => None,
        Value::Number(number) if number.as_u64() == Some(0) => Some(0),
        other => read_number(other).map(|number| number.0),
    }
}

/// A memory's number as models write it: `17`, `17.0`, `"17"` or `"#17"`.
pub fn read_number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(whole) => in_range(whole),
            None => whole_part(number.as_f64()?),
        },
        Value::String(text) => read_number_text(text),
        _ => None,
    }
}

/// The number of a float without a fraction; `None` of others.
fn whole_part(float: f64) -> Option<Number> {
    /// Beyond this, not every whole number is a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = float.fract() == 0.0 && (0.0..EXACT).contains(&float);
    is_whole.then_some(float as u64).and_then(in_range)
}

fn read_number_text(text: &str) -> Option<Number> {
    let text = text.trim();
    let digits = text.strip_prefix('#').unwrap_or(text).trim();
    let digits = digits.strip_suffix(".0").unwrap_or(digits);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().and_then(in_range)
}

fn in_range(number: u64) -> Option<Number> {
    (1..=i64::MAX as u64)
        .contains(&number)
        .then_some(Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tools::RefusalCode;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(tool: &str, arguments: Value) -> Result<ToolCall, Refusal> {
        ToolRequest::read(tool, Some(&arguments)).call
    }

    /// The items of a list, as a model sends them.
    fn each(list: &str) -> Vec<Value> {
        serde_json::from_str(list).unwrap()
    }

    #[test]
    fn spec_3_8_numbers_come_in_several_forms() {
        for id in each(r##"[17, 17.0, "17", "17.0", "#17", " #17 "]"##) {
            let call = read("protect_memory", json!({"id": id}));
            assert_eq!(call, Ok(ToolCall::Protect { number: Number(17) }), "{id}");
        }
        for ids in each(
            r##"[[1, 2], ["1", "#2"], [1.0, "2.0"], "1, 2", "#1,#2", "[1, 2]", "[\"1\", \"#2\"]", "[#1, #2]",
                "[1.0, 2.0]", "\"1\", '2'", "[\"#1\", \"#2\",]", "[#1, #2,]"]"##,
        ) {
            let call = read("consolidate_memories", json!({"ids": ids, "content": "x"})).unwrap();
            assert_eq!(call.numbers(), [Number(1), Number(2)], "{ids}");
            let call = read("delete_memory", json!({"ids": ids})).unwrap();
            assert_eq!(call.numbers(), [Number(1), Number(2)], "{ids}");
        }
        for arguments in each(
            r##"[{"id": 17}, {"ids": 17}, {"id": 17, "ids": []}, {"id": "", "ids": [17], "replaced_by": ""},
                "{\"ids\": \"#17\"}", "{\"ids\": [\"#17\",]}"]"##,
        ) {
            let call = read("delete_memory", arguments).unwrap();
            assert_eq!(call.numbers(), [Number(17)]);
        }
        for id in each(
            r#"[0, -1, 1.5, "seventeen", "", "1 2", "[17", [1], true, {}, "99999999999999999999",
                18446744073709551615, null]"#,
        ) {
            let refusal = read("protect_memory", json!({"id": id})).unwrap_err();
            assert_eq!(refusal.code(), RefusalCode::InvalidArgument);
            assert!(refusal.to_string().contains("id "), "{refusal}");
        }
    }

    #[test]
    fn spec_3_8_a_list_of_numbers_in_no_form_of_the_rule_is_refused_with_one_that_is_read() {
        for ids in each(
            r##"["#1 and #4", "1 and 4", "#1 #4", "1 4", "1; 4", "1-4", "#1, #2 and #4", "memories 1, 4", "[1, 4",
                "1, , 4", "one, four", [[1, 4]], {"ids": [1, 4]}, [1, null]]"##,
        ) {
            let refusal = read("delete_memory", json!({"ids": ids})).unwrap_err();
            assert_eq!(refusal.code(), RefusalCode::InvalidArgument, "{ids}");
            let told = refusal.to_string();
            assert!(told.contains("[17, 21] or \"17, 21\""), "{told}");
        }
        let call = read("delete_memory", json!({"ids": "17, 21"})).unwrap();
        assert_eq!(call.numbers(), [Number(17), Number(21)]);
    }

    #[test]
    fn spec_3_8_words_come_in_several_forms() {
        for (given, words) in [
            (json!(["bees", "hives"]), vec!["bees", "hives"]),
            (json!("[\"bees\",\"hives\"]"), vec!["bees", "hives"]),
            (
                json!("[ \"bees\" , \"hives, old\" ]"),
                vec!["bees", "hives, old"],
            ),
            (json!("[bees, 'hives']"), vec!["bees", "hives"]),
            (json!("bees, hives"), vec!["bees", "hives"]),
            (json!("bees"), vec!["bees"]),
            (json!("#bees #hives"), vec!["bees", "hives"]),
            (json!("[\"bees\", \"hives\",]"), vec!["bees", "hives"]),
            (json!(["bees", 2026]), vec!["bees", "2026"]),
            (json!(2026), vec!["2026"]),
            (json!("[]"), vec![]),
            (json!([]), vec![]),
            (json!("  "), vec![]),
            (json!("[\"half \\ud83d\"]"), vec!["half \u{fffd}"]),
        ] {
            let read = read_words(&given).unwrap();
            let read: Vec<&str> = read.iter().map(PrivateText::expose).collect();
            assert_eq!(read, words, "{given}");
        }
        for given in each(r#"[{}, true, [["bees"]], "[[1]]", "[\"bees\""]"#) {
            assert_eq!(read_words(&given), None, "{given}");
        }
        for (given, count) in [
            (json!(20), Some(20)),
            (json!("20"), Some(20)),
            (json!(20.0), Some(20)),
            (json!(0), Some(0)),
            (json!("#20"), None),
            (json!(-1), None),
            (json!("many"), None),
        ] {
            assert_eq!(read_count(&given), count, "{given}");
        }
    }

    #[test]
    fn spec_3_9_two_to_ten_distinct_members() {
        let eleven: Vec<u64> = (1..=11).collect();
        let join = |ids: &Value| read("consolidate_memories", json!({"ids": ids, "content": "x"}));
        let mut wrong = each(r#"[[], [1], [1, 1], [1, 2, 1], "1", "1 2", ["a", 1], 5]"#);
        wrong.push(json!(eleven));
        for ids in wrong {
            let refusal = join(&ids).unwrap_err();
            assert_eq!(refusal.code(), RefusalCode::InvalidArgument, "{ids}");
        }
        let call = join(&json!(eleven[1..]));
        assert_eq!(call.unwrap().numbers().len(), MEMBERS_LIMIT);
    }

    #[test]
    fn spec_3_10_a_delete_names_one_to_ten_memories_and_perhaps_what_replaces_them() {
        let eleven: Vec<u64> = (1..=11).collect();
        for arguments in [
            json!({"ids": []}),
            json!({"ids": [1, 1]}),
            json!({"ids": eleven}),
            json!({"ids": [1, 2], "replaced_by": 2}),
            json!({"ids": [1], "replaced_by": [2]}),
            json!({}),
        ] {
            let refusal = read("delete_memory", arguments.clone()).unwrap_err();
            assert_eq!(refusal.code(), RefusalCode::InvalidArgument, "{arguments}");
        }
        let call = read("delete_memory", json!({"ids": [1], "replaced_by": "#2"}));
        let deletes = ToolCall::Delete {
            numbers: vec![Number(1)],
            replaced_by: Some(Number(2)),
        };
        assert_eq!(call, Ok(deletes));
    }

    #[test]
    fn spec_3_8_what_is_wrong_is_named() {
        use RefusalCode::{InvalidArgument, TooLong};
        use Tool::{Complete, Search, Update};
        let invalid = r#"
            search_memories {"since": "2026-03-02", "until": "2026-03-01"} since: is later than `until`; exchange the two
            update_memory {"id": 1} content is missing
            update_memory {"id": 1, "content": 5} content must be a string
            update_memory {"id": 1, "content": "  "} content: is empty
            update_memory {"id": 1, "content": "a\u0000"} U+0000
            update_memory {"id": 1, "content": "x", "tags": []} takes only id and content
            complete_refinement {} summary is missing
            search_memories {} at least one
            search_memories {"query": " "} at least one
            search_memories {"since": "May"} since is not a time
            delete_memory [1] one JSON object"#;
        let invalid = invalid.trim().lines().map(|line| {
            let (tool, rest) = line.trim().split_once(' ').unwrap();
            let end = rest.rfind(['}', ']']).unwrap() + 1;
            let arguments: Value = serde_json::from_str(&rest[..end]).unwrap();
            (tool, arguments, rest[end..].trim())
        });
        let long = |most: usize| "x".repeat(most + 1);
        let too_long = [
            (Update, json!({"id": 1, "content": long(10_000)}), "10001"),
            (Complete, json!({"summary": long(2_000)}), "2000"),
            (Search, json!({"query": long(1_000)}), "1000"),
        ];
        let too_long = too_long.map(|(tool, arguments, part)| (tool.as_str(), arguments, part));
        let invalid = invalid.map(|case| (case, InvalidArgument));
        let too_long = too_long.into_iter().map(|case| (case, TooLong));
        for ((tool, arguments, part), code) in invalid.chain(too_long) {
            let refusal = read(tool, arguments).unwrap_err();
            assert_eq!(refusal.code(), code);
            assert!(refusal.to_string().contains(part), "{refusal}");
        }
        let refusal = ToolRequest::read("delete_memory", None).call.unwrap_err();
        assert_eq!(refusal.code(), InvalidArgument);
        assert_eq!(ToolRequest::read("drop_table", Some(&json!({}))).tool, None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(
                    "id|ids|content|replaced_by|query|since|summary|.{0,4}",
                    inner,
                    0..4
                )
                .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn spec_3_8_nothing_a_model_sends_can_fail_inside(tool in 0usize..6, arguments in any_json()) {
            let request = ToolRequest::read(Tool::ALL[tool].as_str(), Some(&arguments));
            if let Err(refusal) = request.call {
                prop_assert!([RefusalCode::InvalidArgument, RefusalCode::TooLong].contains(&refusal.code()));
            }
        }
    }
}

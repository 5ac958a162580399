//! Reading a tool's call as a model sends it. Arguments are checked only after the session, the tool,
//! the mode and the cap (SPEC 3.8), so a fault found here waits inside [`KnifeRequest`].

use serde_json::{Map, Value};

use crate::{
    PrivateText, Timestamp,
    knife::{Refusal, Tool},
    memory::{CONTENT_LIMIT, Invalid, Number, parse_text},
    recall::QUERY_LIMIT,
    session::SUMMARY_LIMIT,
    time::InvalidTimestamp,
};

/// Most memories that one consolidation can name: as many as a batch can save (CONTRACT, REST), and
/// far more than the breaker lets anybody merge. It bounds what a call can make the store read.
const MEMBERS_LIMIT: usize = 1_000;

/// Characters of a confirmation that are looked at; those that were given out are shorter.
const CODE_LIMIT: usize = 32;

/// A call with arguments in order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the arguments are named as on the wire")]
pub enum KnifeCall {
    Search {
        query: Option<PrivateText>,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    },
    Consolidate {
        numbers: Vec<Number>,
        content: PrivateText,
        confirm: Option<String>,
    },
    Update {
        number: Number,
        content: PrivateText,
        confirm: Option<String>,
    },
    Delete {
        number: Number,
        confirm: Option<String>,
    },
    Protect {
        number: Number,
    },
    Complete {
        summary: PrivateText,
    },
}

impl KnifeCall {
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

    /// The code with which it repeats what was asked about; `None` of a call that has none.
    pub fn confirm(&self) -> Option<&str> {
        match self {
            Self::Consolidate { confirm, .. }
            | Self::Update { confirm, .. }
            | Self::Delete { confirm, .. } => confirm.as_deref(),
            _ => None,
        }
    }

    /// The memories that it names.
    pub fn numbers(&self) -> &[Number] {
        match self {
            Self::Consolidate { numbers, .. } => numbers,
            Self::Update { number, .. }
            | Self::Delete { number, .. }
            | Self::Protect { number } => std::slice::from_ref(number),
            Self::Search { .. } | Self::Complete { .. } => &[],
        }
    }
}

/// A call as it arrived: perhaps of no tool that there is, perhaps with faulty arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnifeRequest {
    /// `None` where there is no tool of that name.
    pub tool: Option<Tool>,
    /// The call, or what is wrong with its arguments.
    pub call: Result<KnifeCall, Refusal>,
}

impl KnifeRequest {
    /// Reads a call. `None` for `arguments` stands for something that was no JSON at all.
    pub fn read(tool: &str, arguments: Option<&Value>) -> Self {
        let Some(tool) = Tool::from_name(tool) else {
            let call = Err(Refusal::UnknownTool {
                // Filled in where the call is decided, which knows the session's mode.
                allowed: String::new(),
            });
            return Self { tool: None, call };
        };
        let call = match arguments {
            Some(Value::Object(arguments)) => read_call(tool, arguments),
            // No arguments at all: the tool itself says which one is missing.
            Some(Value::Null) => read_call(tool, &Map::new()),
            _ => Err(Refusal::InvalidArgument(format!(
                "The arguments of {} must be one JSON object",
                tool.as_str()
            ))),
        };
        Self {
            tool: Some(tool),
            call,
        }
    }

    /// The memories that it names; none where the arguments are faulty.
    pub fn numbers(&self) -> &[Number] {
        self.call.as_ref().map_or(&[], KnifeCall::numbers)
    }
}

fn read_call(tool: Tool, arguments: &Map<String, Value>) -> Result<KnifeCall, Refusal> {
    check_names(tool, arguments)?;
    let get = |name: &'static str| Argument {
        name,
        // Null is as good as not given: a model may fill every argument that the schema names.
        value: arguments.get(name).filter(|value| !value.is_null()),
    };
    Ok(match tool {
        Tool::Search => {
            let call = KnifeCall::Search {
                query: get("query").query()?,
                since: get("since").time(str::parse)?,
                until: get("until").time(Timestamp::parse_until)?,
            };
            if matches!(
                call,
                KnifeCall::Search {
                    query: None,
                    since: None,
                    until: None
                }
            ) {
                return Err(Refusal::InvalidArgument(
                    "search_memories needs at least one of query, since and until".to_owned(),
                ));
            }
            call
        }
        Tool::Consolidate => {
            let numbers = get("ids").numbers()?;
            if numbers.len() < 2 {
                return Err(Refusal::InvalidArgument(
                    "ids must name two or more different memories".to_owned(),
                ));
            }
            if numbers.len() > MEMBERS_LIMIT {
                return Err(Refusal::InvalidArgument(format!(
                    "ids names {} memories, and the limit is {MEMBERS_LIMIT}",
                    numbers.len()
                )));
            }
            KnifeCall::Consolidate {
                numbers,
                content: get("content").text(CONTENT_LIMIT)?,
                confirm: get("confirm").code()?,
            }
        }
        Tool::Update => KnifeCall::Update {
            number: get("id").number()?,
            content: get("content").text(CONTENT_LIMIT)?,
            confirm: get("confirm").code()?,
        },
        Tool::Delete => KnifeCall::Delete {
            number: get("id").number()?,
            confirm: get("confirm").code()?,
        },
        Tool::Protect => KnifeCall::Protect {
            number: get("id").number()?,
        },
        Tool::Complete => KnifeCall::Complete {
            summary: get("summary").text(SUMMARY_LIMIT)?,
        },
    })
}

/// An argument that is passed over silently would mislead the model about what was done.
fn check_names(tool: Tool, arguments: &Map<String, Value>) -> Result<(), Refusal> {
    let known: &[&str] = match tool {
        Tool::Search => &["query", "since", "until"],
        Tool::Consolidate => &["ids", "content", "confirm"],
        Tool::Update => &["id", "content", "confirm"],
        Tool::Delete => &["id", "confirm"],
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

struct Argument<'a> {
    name: &'static str,
    value: Option<&'a Value>,
}

impl<'a> Argument<'a> {
    fn given(&self) -> Result<&'a Value, Refusal> {
        self.value
            .ok_or_else(|| Refusal::InvalidArgument(format!("{} is missing", self.name)))
    }

    fn string(&self) -> Result<Option<&'a str>, Refusal> {
        match self.value {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::InvalidArgument(format!(
                "{} must be a string",
                self.name
            ))),
        }
    }

    fn text(&self, limit: usize) -> Result<PrivateText, Refusal> {
        self.given()?;
        // The empty default is never used, since `given` has refused a missing argument.
        Ok(parse_text(
            self.name,
            self.string()?.unwrap_or_default(),
            limit,
        )?)
    }

    /// A code as an earlier answer gave it; a model that has none may send it empty.
    fn code(&self) -> Result<Option<String>, Refusal> {
        let code = self
            .string()?
            .map(str::trim)
            .filter(|code| !code.is_empty());
        // Cut, not refused: what is longer is no code that was given out, and is answered as a wrong one.
        Ok(code.map(|code| code.chars().take(CODE_LIMIT).collect()))
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
        let time = parse(text)
            .map_err(|error| Refusal::InvalidArgument(format!("{} is {error}", self.name)))?;
        Ok(Some(time))
    }

    fn number(&self) -> Result<Number, Refusal> {
        read_number(self.given()?).ok_or_else(|| {
            Refusal::InvalidArgument(format!(
                "{} must be the number of one memory, such as 17 or \"#17\"",
                self.name
            ))
        })
    }

    fn numbers(&self) -> Result<Vec<Number>, Refusal> {
        let value = self.given()?;
        let numbers: Option<Vec<Number>> = match value {
            Value::Array(items) => items.iter().map(read_number).collect(),
            // Some models write a list as one text (SPEC 3.8).
            Value::String(text) => text.split(',').map(read_number_text).collect(),
            _ => None,
        };
        let numbers = numbers.ok_or_else(|| {
            Refusal::InvalidArgument(format!(
                "{} must be a list of memories' numbers, such as [17, 21] or \"17, 21\"",
                self.name
            ))
        })?;
        let mut distinct: Vec<Number> = Vec::with_capacity(numbers.len());
        let mut seen = std::collections::BTreeSet::new();
        // A memory named twice is one member; else it would be counted, and could be merged with itself.
        distinct.extend(numbers.into_iter().filter(|number| seen.insert(*number)));
        Ok(distinct)
    }
}

/// A memory's number as models write it: `17`, `"17"` or `"#17"`.
pub(crate) fn read_number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => number.as_u64().and_then(in_range),
        Value::String(text) => read_number_text(text),
        _ => None,
    }
}

fn read_number_text(text: &str) -> Option<Number> {
    let text = text.trim();
    let digits = text.strip_prefix('#').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().and_then(in_range)
}

/// Numbers begin at 1 and fit the signed integers of databases.
fn in_range(number: u64) -> Option<Number> {
    (1..=i64::MAX as u64)
        .contains(&number)
        .then_some(Number(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(tool: &str, arguments: Value) -> Result<KnifeCall, Refusal> {
        KnifeRequest::read(tool, Some(&arguments)).call
    }

    #[test]
    fn spec_3_8_numbers_come_in_several_forms() {
        for id in [json!(17), json!("17"), json!("#17"), json!(" #17 ")] {
            assert_eq!(
                read("delete_memory", json!({"id": id})),
                Ok(KnifeCall::Delete {
                    number: Number(17),
                    confirm: None
                })
            );
        }
        for ids in [
            json!([1, 2]),
            json!(["1", "#2"]),
            json!("1, 2"),
            json!("#1,#2"),
            json!([1, 1, 2]),
        ] {
            let call = read("consolidate_memories", json!({"ids": ids, "content": "x"})).unwrap();
            assert_eq!(call.numbers(), [Number(1), Number(2)]);
        }
        for id in [
            json!(0),
            json!(-1),
            json!(1.5),
            json!(17.0),
            json!("seventeen"),
            json!(""),
            json!("1 2"),
            json!([1]),
            json!(true),
            json!({}),
            json!("99999999999999999999"),
            json!(u64::MAX),
            json!(null),
        ] {
            let refusal = read("delete_memory", json!({"id": id})).unwrap_err();
            assert_eq!(refusal.code(), "invalid_argument");
            assert!(refusal.to_string().contains("id "), "{refusal}");
        }
        for ids in [
            json!([]),
            json!([1]),
            json!([1, 1]),
            json!("1"),
            json!("1 2"),
            json!(["a", 1]),
            json!(5),
            json!("[1,2]"),
        ] {
            assert_eq!(
                read("consolidate_memories", json!({"ids": ids, "content": "x"}))
                    .unwrap_err()
                    .code(),
                "invalid_argument"
            );
        }
    }

    #[test]
    fn spec_3_8_what_is_wrong_is_named() {
        for (tool, arguments, code, part) in [
            (
                "update_memory",
                json!({"id": 1}),
                "invalid_argument",
                "content is missing",
            ),
            (
                "update_memory",
                json!({"id": 1, "content": 5}),
                "invalid_argument",
                "content must be a string",
            ),
            (
                "update_memory",
                json!({"id": 1, "content": "  "}),
                "invalid_argument",
                "content: is empty",
            ),
            (
                "update_memory",
                json!({"id": 1, "content": "a\0"}),
                "invalid_argument",
                "U+0000",
            ),
            (
                "update_memory",
                json!({"id": 1, "content": "x".repeat(10_001)}),
                "too_long",
                "10001",
            ),
            (
                "update_memory",
                json!({"id": 1, "content": "x", "tags": []}),
                "invalid_argument",
                "takes only id and content and confirm",
            ),
            (
                "complete_refinement",
                json!({"summary": "x".repeat(2_001)}),
                "too_long",
                "2000",
            ),
            (
                "complete_refinement",
                json!({}),
                "invalid_argument",
                "summary is missing",
            ),
            (
                "search_memories",
                json!({}),
                "invalid_argument",
                "at least one",
            ),
            (
                "search_memories",
                json!({"query": " "}),
                "invalid_argument",
                "at least one",
            ),
            (
                "search_memories",
                json!({"since": "May"}),
                "invalid_argument",
                "since is not a time",
            ),
            (
                "search_memories",
                json!({"query": "x".repeat(1_001)}),
                "too_long",
                "1000",
            ),
            (
                "delete_memory",
                json!([1]),
                "invalid_argument",
                "one JSON object",
            ),
        ] {
            let refusal = read(tool, arguments).unwrap_err();
            assert_eq!(refusal.code(), code);
            assert!(refusal.to_string().contains(part), "{refusal}");
        }
        assert_eq!(
            KnifeRequest::read("delete_memory", None)
                .call
                .unwrap_err()
                .code(),
            "invalid_argument"
        );
        assert_eq!(
            KnifeRequest::read("drop_table", Some(&json!({}))).tool,
            None
        );
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
                    "id|ids|content|query|since|summary|.{0,4}",
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
            let request = KnifeRequest::read(Tool::ALL[tool].as_str(), Some(&arguments));
            if let Err(refusal) = request.call {
                prop_assert!(["invalid_argument", "too_long"].contains(&refusal.code()));
            }
        }
    }
}

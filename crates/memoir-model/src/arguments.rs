//! Arguments of tool calls, in the forms in which models and servers send them.

use memoir_domain::{PrivateJson, PrivateText, tools::read_arguments};
use serde_json::{Map, Value};

use crate::Arguments;

/// The arguments of a call; what is none is kept as malformed text.
pub(crate) fn read(sent: &Value) -> Arguments {
    match (read_arguments(sent), sent) {
        (Some(arguments), _) => Arguments::Json(PrivateJson::new(arguments.into_owned().into())),
        // Kept as text and not made to fit: the refusal can say what is wrong with it.
        (None, Value::String(text)) => Arguments::Malformed(PrivateText::new(text.as_str())),
        (None, other) => Arguments::Malformed(PrivateText::new(other.to_string())),
    }
}

/// Whether `text` is JSON of an object. Half of an emoji in it is none: servers refuse it when it comes back.
pub(crate) fn is_object_text(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

/// The text of an object that replaces `arguments` when the call is echoed.
pub(crate) fn as_text(arguments: &Arguments) -> String {
    match arguments {
        Arguments::Json(object) => object.expose().to_string(),
        // The result that follows describes the fault; servers refuse the echo of a non-object.
        Arguments::Malformed(_) => "{}".to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn spec_3_8_arguments_are_an_object_or_kept_as_malformed_text() {
        let good = |sent: Value, expected: Value| {
            assert_eq!(
                read(&sent),
                Arguments::Json(PrivateJson::new(expected)),
                "{sent}"
            );
        };
        good(json!({"id": 1}), json!({"id": 1}));
        good(json!("{\"id\": 1}"), json!({"id": 1}));
        good(json!("\"{\\\"id\\\": 1}\""), json!({"id": 1}));
        good(json!("{\"id\": 1,}"), json!({"id": 1}));
        good(json!("{\"text\": \"a\nb\"}"), json!({"text": "a\nb"}));
        good(json!("{\"id\": 1} // the first"), json!({"id": 1}));
        for nothing in [
            json!(null),
            json!(""),
            json!(" \n"),
            json!("null"),
            json!("{}"),
            json!([]),
            json!("[]"),
            json!("\"\""),
        ] {
            good(nothing, json!({}));
        }
        let bad = |sent: Value, expected: &str| {
            assert_eq!(read(&sent), Arguments::Malformed(expected.into()), "{sent}");
        };
        bad(json!("{\"id\": 1"), "{\"id\": 1");
        bad(json!("#17"), "#17");
        bad(json!("[1]"), "[1]");
        bad(json!([1]), "[1]");
        bad(json!(17), "17");
    }

    /// JSON of any shape, in which the fields of answers are frequent.
    pub(crate) fn any_json() -> impl Strategy<Value = Value> {
        let fields =
            "id|type|name|text|input|content|arguments|function|usage|prompt_tokens|.{0,3}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "text|tool_use|stop|a|\\{\\}|\\{\"id\": 1|.{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(fields, inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// What the session loop relies on.
    pub(crate) fn holds_for_reply(reply: &crate::Reply) {
        let ids = reply.tool_calls.iter();
        let ids: HashSet<&str> = ids.map(|call| call.id.as_str()).collect();
        assert_eq!(ids.len(), reply.tool_calls.len());
        assert!(!ids.contains(""));
        assert!(reply.message.expose().is_object());
        for call in &reply.tool_calls {
            assert!(
                !matches!(&call.arguments, Arguments::Json(object) if !object.expose().is_object())
            );
        }
    }
}

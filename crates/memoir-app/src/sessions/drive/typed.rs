//! Tool calls that a model wrote as text. Models without native calls, and servers that do not parse them, return them
//! as JSON, tags or code. No call is carried out from text; the model is notified of that.

use memoir_model::OfferedTool;

/// The name of the first of `tools` that the text calls; `None` where it only mentions them.
pub(super) fn typed_call<'a>(text: &str, tools: &'a [OfferedTool]) -> Option<&'a str> {
    tools
        .iter()
        .filter_map(|tool| {
            let name = tool.name.as_str();
            let mut places = text.match_indices(name).map(|(at, _)| at);
            let at = places.find(|at| is_call(text, *at, name))?;
            Some((at, name))
        })
        .min()
        .map(|(_, name)| name)
}

/// Whether the name at that place is written as a call: `name(`, `name {`, `"name": "…"`, `<invoke name="…">`,
/// `<function=…>`, `[TOOL_CALLS]…`, `Action: …`, `<｜tool▁sep｜>…`.
fn is_call(text: &str, at: usize, name: &str) -> bool {
    let (before, after) = (&text[..at], &text[at + name.len()..]);
    let continues = |character: char| character.is_alphanumeric() || character == '_';
    if before.ends_with(continues) || after.starts_with(continues) {
        return false;
    }
    // The last few characters before the name, backwards and without quotes and spaces.
    let before: String = before
        .chars()
        .rev()
        .filter(|character| !character.is_whitespace() && !"\"'`".contains(*character))
        // More characters than the longest mark below has.
        .take(24)
        .collect();
    let named = [
        "name:",
        "name=",
        "function=",
        "tool=",
        "tool:",
        "[TOOL_CALLS]",
        "tool_call>",
        "functions.",
        "Action:",
        "tool▁sep｜>",
        "tool▁call▁begin｜>",
        "tool_call_begin|>",
    ];
    let is_named = named
        .iter()
        .any(|mark| before.starts_with(&mark.chars().rev().collect::<String>()));
    let after = after.trim_start_matches(|character: char| {
        character.is_whitespace() || "\"'`>:".contains(character)
    });
    // With empty brackets a tool is mostly spoken of, as a programmer writes it.
    is_named || after.starts_with('{') || (after.starts_with('(') && !after.starts_with("()"))
}

#[cfg(test)]
mod tests {
    use memoir_domain::session::Mode;

    use super::*;
    use crate::sessions::tool_definitions;

    #[test]
    fn spec_3_16_a_call_that_was_typed_is_distinguished_from_talk_of_a_tool() {
        let tools = tool_definitions(Mode::Full, None);
        for text in [
            "delete_memory(id=17)",
            "delete_memory({\"id\": 17})",
            "```json\n{\"name\": \"delete_memory\", \"arguments\": {\"id\": 17}}\n```",
            "<tool_call>\n{\"name\": \"delete_memory\", \"arguments\": {\"id\": 17}}\n</tool_call>",
            "<invoke name=\"delete_memory\"><parameter name=\"id\">17</parameter></invoke>",
            "<function=delete_memory>{\"id\": 17}</function>",
            "[TOOL_CALLS]delete_memory{\"id\": 17}",
            "I will now use `delete_memory`: {\"id\": 17}",
            "to=functions.delete_memory {\"id\": 17}",
            "Thought: #17 repeats #3.\nAction: delete_memory\nAction Input: {\"id\": 17}",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>delete_memory\n```json\n{\"id\": 17}\n```",
            "<｜tool▁call▁begin｜>delete_memory<｜tool▁sep｜>{\"id\": 17}",
            "<|tool_call_begin|>delete_memory:0<|tool_call_argument_begin|>{\"id\": 17}",
            "<tool_call>delete_memory\n<arg_key>id</arg_key><arg_value>17</arg_value></tool_call>",
        ] {
            assert_eq!(typed_call(text, &tools), Some("delete_memory"), "{text}");
        }
        for text in [
            "",
            "I could call delete_memory, but #17 stands alone.",
            "Neither delete_memory() nor anything else is needed.",
            "`complete_refinement` ends it.",
            "undelete_memory(17)",
            "{\"promote\": []}",
        ] {
            assert_eq!(typed_call(text, &tools), None, "{text}");
        }
    }
}

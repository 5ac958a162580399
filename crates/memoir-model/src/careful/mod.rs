//! `builtin:careful`, a rule-based refiner that needs no network (SPEC 6.3).
//!
//! A model like any other: it reads nothing but the request, and answers with text and tool calls.
//! It remembers nothing between requests, and finds out where it is from the conversation so far.
//! What it is not: it does not understand a word. It consents to a session when two of the memories
//! that it is shown are equal up to case, white space and one final `.`, `!` or `?`; it merges or
//! deletes only such memories; it promotes no journal entry; and it says no to every other question.

mod doubles;

use async_trait::async_trait;
use memoir_domain::{PrivateJson, PrivateText, context, ledger, prompt, reflection};
use serde_json::{Value, json};

use self::doubles::{LedgerRow, Plan, PlannedEdit, groups, plan};
use crate::message::{
    Arguments, AssistantMessage, Finish, ModelMessage, ModelRequest, Reply, TokenUsage, ToolCall,
};
use crate::{Model, ModelError, ModelName};

/// How the request for consent begins; what it asks beside that does not matter here.
const CONSENT_OPENING: &str = "A refinement session of your long-term memory can begin now";

/// The refiner.
#[derive(Debug)]
pub(crate) struct Careful {
    name: ModelName,
}

impl Careful {
    /// Under the name by which it was asked for.
    pub(crate) fn new(name: ModelName) -> Self {
        Self { name }
    }
}

#[async_trait]
impl Model for Careful {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn context_tokens(&self) -> Option<u32> {
        // It reads everything: of a ledger for it nothing is left out for want of room.
        Some(u32::MAX)
    }

    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
        let turn = request.messages.len();
        Ok(answer(request).into_reply(turn))
    }
}

/// What it says in one turn.
#[derive(PartialEq)]
enum CarefulTurn {
    Text(String),
    Call(&'static str, Value),
}

fn answer(request: &ModelRequest) -> CarefulTurn {
    let offers = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    let question = request.messages.iter().find_map(|message| match message {
        ModelMessage::User(text) => Some(text.expose()),
        ModelMessage::Assistant(_) | ModelMessage::ToolResult { .. } => None,
    });
    let question = question.unwrap_or_default();
    // By what is offered: only a session has this tool.
    if offers("complete_refinement") {
        let rows: Vec<LedgerRow> = ledger::parse_rows(question)
            .into_iter()
            .map(LedgerRow::from)
            .collect();
        // Without the limit it deletes nothing: better too little than a breaker that trips.
        let removable = prompt::parse_removable_tokens(question).unwrap_or(0);
        return next_step(
            &plan(&rows, removable, offers("consolidate_memories")),
            &results(request),
        );
    }
    if request
        .answer_schema
        .as_ref()
        .is_some_and(|answer| answer.name == reflection::ANSWER)
    {
        // It cannot tell what matters, and promoting nothing is normal (SPEC 2.5).
        return CarefulTurn::Text(r#"{"promote": []}"#.to_owned());
    }
    if question.trim_start().starts_with(CONSENT_OPENING) {
        return consent(&core_memories(request.system.expose()));
    }
    CarefulTurn::Text(
        "NO. I am a rule-based refiner, and answer to refinement sessions only.".to_owned(),
    )
}

fn consent(texts: &[String]) -> CarefulTurn {
    let doubles = groups(texts.iter().map(String::as_str)).len();
    CarefulTurn::Text(match doubles {
        0 => "NO, I see no doubles.".to_owned(),
        1 => "YES, I see one memory that stands more than once.".to_owned(),
        _ => format!("YES, I see {doubles} memories that stand more than once."),
    })
}

/// The core memories of the agent's context, which ends its system prompt. No line of a memory can
/// stand where a heading or a list item does.
fn core_memories(system: &str) -> Vec<String> {
    let lines: Vec<&str> = system.lines().collect();
    // The last one: the agent's own prompt stands before the context, and may hold such a line.
    let Some(heading) = lines.iter().rposition(|line| *line == context::HEADING) else {
        return Vec::new();
    };
    let after = lines[heading..]
        .iter()
        .skip_while(|line| **line != context::CORE_HEADING)
        .skip(1);
    let mut memories: Vec<String> = Vec::new();
    // The next heading ends the core memories; what the journal says is not compared.
    for line in after.take_while(|line| !line.starts_with("## ")) {
        if let Some(first) = line.strip_prefix("- ") {
            memories.push(first.to_owned());
        } else if let (Some(more), Some(memory)) = (line.strip_prefix("  "), memories.last_mut()) {
            memory.push('\n');
            memory.push_str(more);
        }
    }
    memories
}

/// The results of its calls so far, in order; `null` for one that is no JSON.
fn results(request: &ModelRequest) -> Vec<Value> {
    let result = |message: &ModelMessage| match message {
        ModelMessage::ToolResult { content, .. } => {
            Some(serde_json::from_str(content.expose()).unwrap_or_default())
        }
        ModelMessage::User(_) | ModelMessage::Assistant(_) => None,
    };
    request.messages.iter().filter_map(result).collect()
}

/// It makes one call a turn, so its `n`th result is that of the `n`th step of the plan, and the one
/// after the last step is that of the completion.
fn next_step(plan: &Plan, results: &[Value]) -> CarefulTurn {
    let field =
        |result: &Value, name: &str| result.get(name).and_then(Value::as_str).map(str::to_owned);
    let is_over = results.iter().any(|result| {
        let kind = field(result, "type").unwrap_or_default();
        matches!(
            kind.as_str(),
            "refinement_complete" | "refinement_rolled_back"
        ) || field(result, "code").as_deref() == Some("session_over")
    });
    let capped = results
        .iter()
        .position(|result| field(result, "code").as_deref() == Some("edit_cap"));
    // The step that the cap refused was the last one, and completing comes next: those behind it would
    // be refused too.
    let steps = capped.map_or(plan.steps.len(), |last| (last + 1).min(plan.steps.len()));
    if is_over || results.len() > steps {
        return CarefulTurn::Text("The session is over.".to_owned());
    }
    match plan
        .steps
        .get(results.len())
        .filter(|_| results.len() < steps)
    {
        Some(PlannedEdit::Delete { number }) => {
            CarefulTurn::Call("delete_memory", json!({"id": number}))
        }
        Some(PlannedEdit::Consolidate { numbers, content }) => CarefulTurn::Call(
            "consolidate_memories",
            json!({"ids": numbers, "content": content}),
        ),
        None => CarefulTurn::Call(
            "complete_refinement",
            json!({"summary": summary(plan, results)}),
        ),
    }
}

/// What was done, going by the results; no word of a memory is in it.
fn summary(plan: &Plan, results: &[Value]) -> String {
    let done = |kind: &str| {
        let kind = kind.to_owned();
        results
            .iter()
            .filter(move |result| result["type"] == kind.as_str())
    };
    let deleted = done("deleted").count();
    let merged = done("consolidated").count();
    let members: u64 = done("consolidated")
        .filter_map(|result| result["merged_count"].as_u64())
        .sum();
    // Each result is of one kind at most, so this cannot go below zero.
    let refused = results.len() - deleted - merged;
    let mut text = match (deleted, merged) {
        (0, 0) => "Nothing was changed.".to_owned(),
        (_, 0) => format!(
            "Deleted {} that stood elsewhere too.",
            counted(deleted as u64, "memory", "memories")
        ),
        (0, _) => format!("Merged {members} memories into {merged}."),
        _ => format!(
            "Deleted {} that stood elsewhere too, and merged {members} into {merged}.",
            counted(deleted as u64, "memory", "memories")
        ),
    };
    text.push_str(
        match (deleted + merged, plan.steps.is_empty() && plan.left == 0) {
            (0, true) => {
                " There are no two memories equal up to case, white space and the final mark."
            }
            (0, false) => "",
            _ => " Only memories equal up to case, white space and the final mark were touched.",
        },
    );
    if refused > 0 {
        text.push_str(&format!(
            " Refused by the rules: {}.",
            counted(refused as u64, "step", "steps")
        ));
    }
    if plan.left > 0 {
        text.push_str(&format!(
            " Left for want of edits or room before the breaker: {}.",
            counted(plan.left as u64, "step", "steps")
        ));
    }
    text
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

impl CarefulTurn {
    /// `turn` makes the id of the call.
    fn into_reply(self, turn: usize) -> Reply {
        // Nothing is read or written in tokens: the refiner costs none of a session's budget.
        let usage = TokenUsage {
            input_tokens: 0,
            output_tokens: 0,
            measured: true,
        };
        match self {
            Self::Text(text) => Reply {
                message: AssistantMessage {
                    raw: PrivateJson::new(json!({"role": "assistant", "content": text})),
                },
                text: PrivateText::new(text),
                tool_calls: Vec::new(),
                usage,
                finish: Finish::Stop,
            },
            Self::Call(name, arguments) => {
                let id = format!("call_{turn}_0");
                let raw = json!({"role": "assistant", "content": null, "tool_calls": [{
                    "id": id, "type": "function",
                    "function": {"name": name, "arguments": arguments.to_string()},
                }]});
                let arguments = Arguments::Json(PrivateJson::new(arguments));
                Reply {
                    message: AssistantMessage {
                        raw: PrivateJson::new(raw),
                    },
                    text: PrivateText::default(),
                    tool_calls: vec![ToolCall {
                        id,
                        name: name.to_owned(),
                        arguments,
                    }],
                    usage,
                    finish: Finish::ToolCalls,
                }
            }
        }
    }
}

impl From<ledger::ParsedRow> for LedgerRow {
    fn from(row: ledger::ParsedRow) -> Self {
        Self {
            number: row.number.0,
            tokens: row.tokens,
            is_protected: row.constitutional || row.immutable,
            tags: row
                .tags
                .into_iter()
                .map(PrivateText::into_exposed)
                .collect(),
            content: row.content.into_exposed(),
        }
    }
}

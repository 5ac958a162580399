//! `builtin:careful`, a rule-based refiner that needs no network (SPEC 6.3).
//!
//! A model like any other: it reads nothing but the request, and responds with text and tool calls. It remembers
//! nothing between requests; the conversation so far shows which step comes next. It does not understand a word. It
//! consents to a session when two of the memories that it is shown have the same text up to case. It deletes only
//! memories whose text an earlier one has, up to case, and changes no text. It promotes no journal entry, and its
//! response to every other question is no.

mod duplicates;

use async_trait::async_trait;
use memoir_domain::{PrivateJson, PrivateText, context, ledger, prompt, reflection, text::plural};
use serde_json::{Value, json};

use self::duplicates::{Plan, groups, plan};
use crate::message::{Arguments, Finish, ModelMessage, ModelRequest, Reply, TokenUsage, ToolCall};
use crate::{Model, ModelError, ModelName};

/// How the request for consent begins; the rest of it does not matter here.
const CONSENT_OPENING: &str = "A refinement session of your long-term memory can begin now";

#[derive(Debug)]
pub(crate) struct Careful {
    pub(crate) name: ModelName,
}

#[async_trait]
impl Model for Careful {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn context_tokens(&self) -> Option<u32> {
        // It reads everything: its ledger is never shortened.
        Some(u32::MAX)
    }

    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
        let turn = request.messages.len();
        Ok(answer(request).into_reply(turn))
    }
}

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
    // By the offered tools: only a session has this one.
    if offers("complete_refinement") {
        let rows = ledger::parse_rows(question);
        // Without the limit it deletes nothing: the breaker would undo the whole session.
        let removable = prompt::parse_removable_tokens(question).unwrap_or(0);
        return next_step(&plan(&rows, removable), &results(request));
    }
    let answer = request.answer_schema.as_ref();
    if answer.is_some_and(|answer| answer.name == reflection::ANSWER) {
        // It cannot judge what matters, and promoting nothing is normal (SPEC 2.5).
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
    // Without the days: the ledger has them, and a session without an edit is a good outcome.
    let duplicates = groups(texts.iter().map(|text| (text.as_str(), None))).len();
    CarefulTurn::Text(match duplicates {
        0 => "NO, I see no duplicates.".to_owned(),
        1 => "YES, I see one text that occurs more than once.".to_owned(),
        _ => format!("YES, I see {duplicates} texts that occur more than once."),
    })
}

/// The core memories of the agent's context, which ends its system prompt. A summary is no duplicate of anything.
fn core_memories(system: &str) -> Vec<String> {
    let memories = context::parse_core(system).into_iter();
    let kept = memories.filter(|memory| !memory.is_summary);
    kept.map(|memory| memory.content.into_exposed()).collect()
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

/// It makes one call a turn, so its `n`th result is that of the `n`th delete of the plan, and the one after the last
/// delete is that of the completion. A refused call is not repeated.
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
    // The delete that the cap refused was the last one, and completing comes next: later ones would be refused too.
    let steps = capped.map_or(plan.deletes.len(), |last| {
        (last + 1).min(plan.deletes.len())
    });
    if is_over || results.len() > steps {
        return CarefulTurn::Text("The session is over.".to_owned());
    }
    match plan.deletes[..steps].get(results.len()) {
        Some(numbers) => CarefulTurn::Call("delete_memory", json!({"ids": numbers})),
        None => CarefulTurn::Call(
            "complete_refinement",
            json!({"summary": report(plan, results)}),
        ),
    }
}

/// The report, from the results; it has no word of a memory.
fn report(plan: &Plan, results: &[Value]) -> String {
    let done = plan.deletes.iter().zip(results);
    let (deleted, refused): (Vec<_>, Vec<_>) =
        done.partition(|(_, result)| result["type"] == "deleted");
    let deleted: usize = deleted.iter().map(|(numbers, _)| numbers.len()).sum();
    let mut text = match deleted {
        0 if plan.deletes.is_empty() && plan.left == 0 => {
            "Nothing was changed: none that can leave equals an earlier one up to case.".to_owned()
        }
        0 => "Nothing was changed.".to_owned(),
        1 => "Took 1 memory out of the prompt, which equals an earlier one up to case.".to_owned(),
        n => format!("Took {n} memories out of the prompt, which equal earlier ones up to case."),
    };
    if !refused.is_empty() {
        let refused = plural(refused.len() as u64, "delete", "deletes");
        text.push_str(&format!(" Refused: {refused}."));
    }
    if plan.left > 0 {
        text.push_str(&format!(
            " Not taken out, because of the edit cap or the breaker: {}.",
            plural(plan.left as u64, "duplicate", "duplicates")
        ));
    }
    text
}

impl CarefulTurn {
    /// `turn` makes the id of the call.
    fn into_reply(self, turn: usize) -> Reply {
        // The refiner reads and writes no tokens, and costs none of a session's limit.
        let usage = TokenUsage::counted(0, 0);
        match self {
            Self::Text(text) => Reply {
                message: PrivateJson::new(json!({"role": "assistant", "content": text})),
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
                    message: PrivateJson::new(raw),
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

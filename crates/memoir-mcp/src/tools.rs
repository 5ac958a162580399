//! The tools, and what each does.

use std::sync::{Arc, LazyLock};

use memoir_app::{
    Error, Handling, MemoryInput, OwnAgent, Result, ShownMemory, ShownSession,
    sessions::{OpenedSession, tool_definitions},
};
use memoir_domain::{
    PrivateText, Timestamp,
    agent::Field,
    authoring::given_text,
    memory::{Invalid, Kind},
    recall::RecallQuery,
    session::Mode,
    tools::Tool as SessionTool,
};
use rmcp::model::{Tool, ToolAnnotations};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{arguments::Arguments, life};

/// The most memories that a recall returns, and how many where no limit is given.
const MOST_RECALLED: u64 = 200;
const RECALLED: u64 = 20;

/// The tool that gives the context.
pub(crate) const CONTEXT: &str = "get_context";
/// The tool by which the agent reads waiting messages.
pub(crate) const READ: &str = "read_messages";

/// What a tool does to the memory, for clients that ask before they let a tool run.
#[derive(Clone, Copy)]
enum ToolEffect {
    /// Nothing.
    Reads,
    /// Adds, to the memory or to the prompt; removes no text.
    Adds,
    /// Changes existing data.
    Changes,
    /// Changes existing data; doing it again changes nothing more.
    Replaces,
    /// Adds; doing it again adds nothing more.
    AddsOnce,
}

impl ToolEffect {
    fn annotations(self) -> ToolAnnotations {
        let (reads, destroys, idempotent) = match self {
            Self::Reads => (true, false, true),
            Self::Adds => (false, false, false),
            Self::Changes => (false, true, false),
            Self::Replaces => (false, true, true),
            Self::AddsOnce => (false, false, true),
        };
        ToolAnnotations::new()
            .read_only(reads)
            .destructive(destroys)
            .idempotent(idempotent)
            // All tools end in the agent's own memory.
            .open_world(false)
    }
}

/// Every tool, always in the same order.
pub(crate) fn all() -> &'static [Tool] {
    static ALL: LazyLock<Vec<Tool>> = LazyLock::new(made);
    &ALL
}

/// A tool, whose description is in the file of its name.
macro_rules! tool {
    ($name:literal, $effect:ident, $properties:tt, $required:tt) => {
        tool(
            $name,
            include_str!(concat!("tools/", $name, ".md")),
            ToolEffect::$effect,
            json!($properties),
            &$required,
        )
    };
}

fn made() -> Vec<Tool> {
    let kinds = json!({"type": "string", "enum": Kind::ALL.map(Kind::as_str)});
    let time = json!({"type": "string", "description": "such as 2026-05-03"});
    let mut tools = vec![
        tool!("save_memory", Adds, {
            "content": text(),
            "kind": kinds,
            "tags": list_of(text()),
            "origin": {"type": "string", "enum": ["external"], "description": "quoted from elsewhere"},
            "source": text(),
            "created_at": time,
            "replaces": list_of(number()),
        }, ["content"]),
        // A second call is refused: the memory is core by then.
        tool!("promote_memory", Adds, {"number": number()}, ["number"]),
        tool!("recall_memories", Reads, {
            "query": text(),
            "kind": kinds,
            "tag": text(),
            // A refusal names the origins: an enumeration costs tokens in each request.
            "origin": text(),
            "since": text(),
            "until": text(),
            "limit": number(),
            "explain": flag(),
        }, []),
        tool!("get_context", Reads, {"max_tokens": number()}, []),
        tool!("view_config", Reads, {
            "field": {"type": "string", "enum": own_fields()},
            "history": flag(),
        }, ["field"]),
        // A second undo reverses the first one.
        tool!("update_config", Changes, {
            "field": text(),
            // A string (SPEC 2.7). Some runtimes refuse a list of types; numbers and null are read nevertheless.
            "value": text(),
            "default": flag(),
            "undo": flag(),
        }, ["field"]),
        tool!("open_refinement", Changes, {
            "mode": {"type": "string", "enum": ["full", "dedup_only"]},
            "rehearsal": flag(),
        }, []),
        tool!("reflect", Changes, {}, []),
        tool!("absorb_transcript", AddsOnce, {
            "messages": list_of(fields("id, speaker, text, at?")),
            "now": {"type": "boolean", "description": "without waiting"},
        }, ["messages"]),
        // The text of messages that were read is removed.
        tool!("read_messages", Replaces, {
            "part": text(),
            "journal": list_of(text()),
            "core": list_of(fields("content, replaces?")),
        }, []),
        // Agreeing to a shredding removes text.
        tool!("answer_access_request", Replaces, {
            "request_id": text(),
            "granted": flag(),
            "reason": text(),
        }, ["request_id"]),
    ];
    tools.extend(session_tools());
    tools
}

fn text() -> Value {
    json!({"type": "string"})
}

fn flag() -> Value {
    json!({"type": "boolean"})
}

/// The schema of a whole number.
fn number() -> Value {
    json!({"type": "integer"})
}

/// The schema of an object, in few words.
fn fields(description: &str) -> Value {
    json!({"type": "object", "description": description})
}

fn list_of(item: Value) -> Value {
    json!({"type": "array", "items": item})
}

fn session_tools() -> impl Iterator<Item = Tool> {
    let definitions = tool_definitions(Mode::Full, None).into_iter();
    definitions.map(|definition| {
        let effect = match SessionTool::from_name(&definition.name) {
            Some(SessionTool::Search) => ToolEffect::Reads,
            Some(SessionTool::Protect) => ToolEffect::AddsOnce,
            // A second delete of the same memories is refused: they are not core any more.
            Some(SessionTool::Delete) => ToolEffect::Replaces,
            _ => ToolEffect::Changes,
        };
        let mut parameters = definition.parameters;
        leave_descriptions_out(&mut parameters);
        let mut schema = parameters.as_object().cloned().unwrap_or_default();
        schema.retain(|name, value| name != "required" || *value != json!([]));
        // Listed before a session has a loss guard: it is true under each. The session's prompt states the rest.
        let description = first_sentence(&definition.description).to_owned();
        Tool::new(definition.name, description, Arc::new(schema))
            .with_annotations(effect.annotations())
    })
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first)
}

/// Every client sends the schemas with each of its requests.
fn leave_descriptions_out(schema: &mut Value) {
    let properties = schema["properties"].as_object_mut();
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        if let Value::Object(property) = property {
            property.remove("description");
            // The refusal of a number that is none names the fault.
            if let Some(items) = property.get_mut("items").and_then(Value::as_object_mut) {
                items.remove("minimum");
            }
            property.remove("minimum");
        }
    }
}

fn own_fields() -> Vec<&'static str> {
    let own = Field::ALL.into_iter().filter(|field| field.is_own());
    own.map(Field::as_str).collect()
}

fn tool(
    name: &'static str,
    description: &'static str,
    effect: ToolEffect,
    properties: Value,
    required: &[&str],
) -> Tool {
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, description.trim(), Arc::new(schema)).with_annotations(effect.annotations())
}

/// Whether there is a tool of that name.
pub(crate) fn is_one(name: &str) -> bool {
    all().iter().any(|tool| tool.name == name)
}

pub(crate) async fn call(agent: &OwnAgent, name: &str, arguments: &Value) -> Result<Value> {
    let given = || Arguments::of_tool(name, arguments);
    match name {
        "save_memory" => save(agent, &given()?).await,
        "promote_memory" => promote(agent, &given()?).await,
        "recall_memories" => recall(agent, &given()?).await,
        CONTEXT => context(agent, &given()?).await,
        "view_config" => view_config(agent, &given()?).await,
        "update_config" => update_config(agent, &given()?).await,
        "open_refinement" => open(agent, &given()?).await,
        "reflect" => life::reflect(agent, &given()?).await,
        "absorb_transcript" => life::absorb(agent, &given()?).await,
        READ => life::read(agent, &given()?).await,
        // The session refuses a name that no tool has.
        tool => call_session_tool(agent, tool, arguments).await,
    }
}

pub(crate) fn shown(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|_| Error::Inconsistent("an answer cannot be written as JSON".to_owned()))
}

async fn save(agent: &OwnAgent, arguments: &Arguments<'_>) -> Result<Value> {
    let input = MemoryInput {
        content: arguments.needed("content")?.into(),
        kind: arguments.kind()?,
        tags: arguments.words("tags")?,
        source: arguments.text("source")?.map(PrivateText::from),
        origin: arguments.text("origin")?.map(str::parse).transpose()?,
        created_at: arguments.time("created_at", str::parse)?,
        replaces: arguments.numbers("replaces")?,
        // `constitutional` is set only inside a session or by an administrator (SPEC 2.4).
        ..MemoryInput::default()
    };
    let saved = agent.memories().save(&[input], &agent.as_actor()).await?;
    shown(&saved.first())
}

async fn promote(agent: &OwnAgent, arguments: &Arguments<'_>) -> Result<Value> {
    let number = arguments.number("number")?;
    let (memories, me) = (agent.memories(), agent.as_actor());
    let memory = memories.handle(number, Handling::Promote, &me).await?;
    shown(&memory)
}

async fn recall(agent: &OwnAgent, arguments: &Arguments<'_>) -> Result<Value> {
    let limit = arguments.count("limit")?.unwrap_or(RECALLED);
    if !(1..=MOST_RECALLED).contains(&limit) {
        let problem = format!("must be 1 to {MOST_RECALLED}");
        return Err(Invalid::new("limit", problem).into());
    }
    let query = RecallQuery {
        text: arguments.text("query")?.unwrap_or_default().into(),
        since: arguments.time("since", str::parse)?,
        until: arguments.time("until", Timestamp::parse_until)?,
        kind: arguments.kind()?,
        tag: arguments.text("tag")?.map(PrivateText::from),
        origin: arguments.text("origin")?.map(str::parse).transpose()?,
        // At most `MOST_RECALLED`.
        limit: limit as usize,
        ..RecallQuery::default()
    };
    let explain = arguments.flag("explain")?;
    let answer = agent.lens().recall_page(&query, None, false).await?;
    let found: Vec<ShownMemory> = answer
        .found
        .into_iter()
        .map(|(found, memory)| memory.explained(found, explain))
        .collect();
    let mut recalled =
        json!({"type": "memories", "count": found.len(), "memories": shown(&found)?});
    if let Some(meaning) = answer.meaning {
        recalled["meaning"] = meaning.as_str().into();
    }
    Ok(recalled)
}

async fn context(agent: &OwnAgent, arguments: &Arguments<'_>) -> Result<Value> {
    let mut context = shown(&agent.context(arguments.count("max_tokens")?).await?)?;
    let unread = agent.life().unread().await?;
    if unread > 0 {
        context["messages_waiting"] = unread.into();
    }
    Ok(context)
}

fn own_field(arguments: &Arguments<'_>) -> Result<Field, Invalid> {
    let field = arguments.needed("field")?.parse().ok();
    field.filter(|field: &Field| field.is_own()).ok_or_else(|| {
        let problem = format!("must be one of {}", own_fields().join(", "));
        Invalid::new("field", problem)
    })
}

async fn view_config(agent: &OwnAgent, arguments: &Arguments<'_>) -> Result<Value> {
    let field = own_field(arguments)?;
    let mut shown_config = shown(&agent.own_setting(field).await?)?;
    if arguments.flag("history")? {
        shown_config["history"] = shown(&agent.setting_history(field).await?)?;
    }
    Ok(shown_config)
}

async fn update_config(agent: &OwnAgent, arguments: &Arguments<'_>) -> Result<Value> {
    let field = own_field(arguments)?;
    let wanted = (
        arguments.flag("undo")?,
        arguments.flag("default")?,
        // Null and a blank beside another one leave it out: models fill every argument that the schema names.
        arguments.is_set("value"),
    );
    let set = match (wanted, arguments.given("value")) {
        ((true, false, false), _) => agent.undo_own_setting(field).await?,
        ((false, true, false), _) => agent.author(field, None).await?,
        ((false, false, _), Some(value)) => {
            let value = given_text(field, value)?;
            agent.author(field, value.as_deref()).await?
        }
        ((false, false, _), None) => {
            let problem = "is missing; give a text, or `default: true` for the default";
            return Err(Invalid::new("value", problem).into());
        }
        _ => {
            let problem =
                "conflicts with another of `value`, `default` and `undo`; give one of them";
            return Err(Invalid::new("value", problem).into());
        }
    };
    shown(&set)
}

async fn open(agent: &OwnAgent, arguments: &Arguments<'_>) -> Result<Value> {
    let rehearsal = arguments.flag("rehearsal")?;
    let wanted = arguments.is_set("rehearsal").then_some(rehearsal);
    let wrong = || Invalid::new("mode", "must be `full` or `dedup_only`");
    let mode = arguments.text("mode")?;
    let mode = mode.map(|name| Mode::from_name(name).ok_or_else(wrong));
    let mode = mode.transpose()?;
    // An agent that restarted resumes its open session. One that states a mode, or whether it is a rehearsal, gets no
    // other one.
    let open = agent.take_up_own().await?;
    let open = open.filter(|(session, _)| {
        wanted.is_none_or(|wanted| wanted == session.rehearsal)
            && mode.is_none_or(|mode| mode == session.mode)
    });
    let mode = mode.unwrap_or_default();
    let (session, opened): (_, OpenedSession) = match open {
        Some(open) => open,
        None if rehearsal => agent.rehearse_own(mode).await?,
        None => agent.open_own(mode).await?,
    };
    let mut answer = shown(&ShownSession::from(session))?;
    answer["prompt"] = Value::String(opened.prompt.text().into_exposed());
    Ok(answer)
}

async fn call_session_tool(agent: &OwnAgent, tool: &str, arguments: &Value) -> Result<Value> {
    match agent.sessions().own_session().await? {
        Some(session) => shown(&agent.call_tool(session, tool, Some(arguments)).await?),
        None => Ok(json!({
            "type": "error",
            "code": "session_over",
            "error": "You have no open refinement session. `open_refinement` opens one where none is running.",
        })),
    }
}

//! ChatGPT's export: an array of conversations, each a tree of nodes in `mapping`, of which `current_node` is the last
//! of the conversation as it is shown.
//!
//! The text of a node's message consists of its `parts` and transcribed speech (`audio_transcription`); pictures and
//! files are counted as left out. An assistant's message to a tool (`recipient` is not `all`) is a call. Nodes hidden
//! from the conversation, or of weight 0, were never shown. The user's own description is among them
//! (`user_editable_context`).

use std::collections::HashMap;

use memoir_domain::Timestamp;

use crate::{
    NoMessageReason,
    gather::{
        ConversationBreak, ExportedConversation, FoundMessage, Gathered, needed, optional,
        since_1970, string, up_to_break,
    },
    raw::Raw,
    tree::{NodeStatus, Parent, path},
};

struct ChatGptNode<'a> {
    id: String,
    at: usize,
    message: Option<Raw<'a>>,
    parent: Option<Raw<'a>>,
    children: Option<Raw<'a>>,
    /// Whether the node itself can be read.
    broken: Option<NoMessageReason>,
}

pub(crate) fn read(
    element: &mut ExportedConversation<'_>,
    gathered: &mut Gathered,
) -> Result<(), ConversationBreak> {
    let raw = Raw::whole(element.bytes)?;
    let names = ["mapping", "current_node", "is_do_not_remember"];
    let [mapping, current, forget] = raw.fields(names)?;
    if forget.is_some_and(Raw::is_true) {
        return Err((raw.at, NoMessageReason::NotToRemember));
    }
    let mapping = needed(mapping, "mapping").map_err(|reason| (raw.at, reason))?;
    let (entries, end) = up_to_break(mapping.entries()?);
    let nodes: Vec<_> = entries.into_iter().map(node).collect();
    give(element, gathered, &nodes, current);
    end
}

fn node<'a>((key, value): (Raw<'a>, Raw<'a>)) -> ChatGptNode<'a> {
    let (id, unreadable) = match key.string() {
        Ok(id) => (id.unwrap_or_default(), None),
        Err(broken) => (String::new(), Some(NoMessageReason::from(broken))),
    };
    let fields = value.fields(["message", "parent", "children"]);
    let broken = unreadable.or(fields.err().map(NoMessageReason::from));
    let [message, parent, children] = fields.unwrap_or_default();
    ChatGptNode {
        id,
        at: key.at,
        message: message.filter(|message| !message.is_null()),
        parent,
        children,
        broken,
    }
}

/// Returns the path first, in its order, then reports the rest.
fn give(
    element: &mut ExportedConversation<'_>,
    gathered: &mut Gathered,
    nodes: &[ChatGptNode<'_>],
    current: Option<Raw<'_>>,
) {
    // In the order of the file, so that lines are counted once; the path has another order.
    let places: Vec<_> = nodes
        .iter()
        .map(|node| element.place_of(node.at, Some(node.id.clone())))
        .collect();
    let mut index = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        // A second node under the same key is no parent.
        index.entry(node.id.as_str()).or_insert(at);
    }
    let parents = parents(nodes, &index);
    let last = current
        .and_then(Raw::id)
        .and_then(|id| index.get(id.as_str()).copied());
    let (path, statuses) = path(&parents, last, |at| created(nodes[at].message));
    for at in path {
        let said = said(&nodes[at]);
        gathered.take(said, places[at].clone());
    }
    for ((node, place), status) in nodes.iter().zip(places).zip(statuses) {
        if status == NodeStatus::Taken {
            continue;
        }
        // The node's own kind precedes its position: a tool's turn on another branch is a tool's turn.
        let reason = match (said(node), status) {
            (Err(reason), _) => reason,
            (Ok(_), NodeStatus::Detached) => NoMessageReason::Detached,
            (Ok(_), _) => NoMessageReason::OtherBranch,
        };
        gathered.skip(place, reason);
    }
}

/// A node that does not name its parent has the first one that names it as a child.
fn parents(nodes: &[ChatGptNode<'_>], index: &HashMap<&str, usize>) -> Vec<Parent> {
    let mut by_child: HashMap<usize, usize> = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        let children = node.children.and_then(|children| children.elements().ok());
        for child in children.into_iter().flatten().flatten() {
            if let Some(child) = child.id().and_then(|id| index.get(id.as_str()).copied()) {
                by_child.entry(child).or_insert(at);
            }
        }
    }
    let parent = |(at, node): (usize, &ChatGptNode<'_>)| {
        let named = node.parent.filter(|parent| !parent.is_null()).map(Raw::id);
        // The node's own parent precedes other nodes' children.
        match (named, by_child.get(&at)) {
            (Some(Some(id)), _) => index
                .get(id.as_str())
                .map_or(Parent::Missing, |at| Parent::Node(*at)),
            (Some(None), _) => Parent::Missing,
            (None, Some(parent)) => Parent::Node(*parent),
            (None, None) => Parent::Root,
        }
    };
    nodes.iter().enumerate().map(parent).collect()
}

fn created(message: Option<Raw<'_>>) -> Option<Timestamp> {
    let [created] = message?.fields(["create_time"]).ok()?;
    since_1970(created?.number()? * 1e6)
}

fn said(node: &ChatGptNode<'_>) -> Result<FoundMessage, NoMessageReason> {
    if let Some(reason) = node.broken {
        return Err(reason);
    }
    let message = node.message.ok_or(NoMessageReason::NoMessage)?;
    let fields = ["id", "author", "content", "metadata", "recipient", "weight"];
    let [id, author, content, metadata, recipient, weight] = message.fields(fields)?;
    let [role] = needed(author, "author")?.fields(["role"])?;
    let role = string(role, "role")?;
    match role.as_str() {
        "system" => return Err(NoMessageReason::System),
        "tool" => return Err(NoMessageReason::Tool),
        _ => {}
    }
    let weightless = weight.and_then(Raw::number) == Some(0.0);
    if weightless || is_hidden(metadata) {
        return Err(NoMessageReason::Hidden);
    }
    let content = needed(content, "content")?;
    let [content_type, parts, text] = content.fields(["content_type", "parts", "text"])?;
    let (text, left_out) = match optional(content_type).as_str() {
        "thoughts" | "reasoning_recap" => return Err(NoMessageReason::Thinking),
        "user_editable_context" | "model_editable_context" => return Err(NoMessageReason::Hidden),
        "execution_output"
        | "tether_browsing_display"
        | "tether_browsing_code"
        | "tether_quote"
        | "sonic_webpage"
        | "system_error"
        | "computer_output"
        | "citable_code_output" => return Err(NoMessageReason::Tool),
        _ if is_call(&role, recipient) => return Err(NoMessageReason::Tool),
        "code" => (string(text, "text")?, 0),
        "text" | "multimodal_text" | "" => join(needed(parts, "parts")?)?,
        _ => return Err(NoMessageReason::NotText),
    };
    Ok(FoundMessage {
        // Messages without an identifier have their node's, which is unique in the file.
        id: Some(id.and_then(Raw::id).unwrap_or_else(|| node.id.clone())),
        at: created(Some(message)),
        speaker: role,
        text,
        left_out,
    })
}

fn is_hidden(metadata: Option<Raw<'_>>) -> bool {
    let name = "is_visually_hidden_from_conversation";
    let hidden = metadata.and_then(|metadata| metadata.fields([name]).ok());
    hidden.and_then(|[hidden]| hidden).is_some_and(Raw::is_true)
}

fn is_call(role: &str, recipient: Option<Raw<'_>>) -> bool {
    let recipient = optional(recipient);
    role == "assistant" && !recipient.is_empty() && recipient != "all"
}

/// The texts of the parts, and the number of other parts.
fn join(parts: Raw<'_>) -> Result<(String, u32), NoMessageReason> {
    let mut texts = Vec::new();
    let mut left_out = 0;
    for part in parts.elements()? {
        let part = part?;
        if let Some(text) = part.string()? {
            texts.push(text);
        } else if let Some(text) = spoken(part)? {
            texts.push(text);
        } else if !part.is_null() {
            left_out += 1;
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    Ok((texts.join("\n\n"), left_out))
}

fn spoken(part: Raw<'_>) -> Result<Option<String>, NoMessageReason> {
    if !part.is_object() {
        return Ok(None);
    }
    let [content_type, text] = part.fields(["content_type", "text"])?;
    if optional(content_type) != "audio_transcription" {
        return Ok(None);
    }
    string(text, "text").map(Some)
}

//! Claude's export: an array of conversations, each with its messages in `chat_messages`.
//!
//! Older exports have no links between messages; there the conversation is all of them, in their order. Newer ones name
//! each message's parent, and mostly `current_leaf_message_uuid`. The text is that of the message's text blocks, or its
//! `text` without blocks (older exports). Tool calls, their results and thinking are left out, and so are attachments,
//! of which the export holds the text only.

use std::collections::HashMap;

use memoir_domain::Timestamp;

use crate::{
    FilePosition, NoMessageReason,
    gather::{
        ConversationBreak, ExportedConversation, FoundMessage, Gathered, needed, optional, string,
        time, up_to_break,
    },
    raw::Raw,
    tree::{NodeStatus, Parent, path},
};

/// The parent of first messages.
const BEGINNING: &str = "00000000-0000-4000-8000-000000000000";

struct ClaudeEntry {
    id: Option<String>,
    /// `None` where the message does not name one.
    parent: Option<String>,
    said: Result<FoundMessage, NoMessageReason>,
    at: Option<Timestamp>,
    place: FilePosition,
}

pub(crate) fn read(
    element: &mut ExportedConversation<'_>,
    gathered: &mut Gathered,
) -> Result<(), ConversationBreak> {
    let raw = Raw::whole(element.bytes)?;
    let [messages, current] = raw.fields(["chat_messages", "current_leaf_message_uuid"])?;
    let messages = needed(messages, "chat_messages").map_err(|reason| (raw.at, reason))?;
    let (messages, end) = up_to_break(messages.elements()?);
    let entries = messages.into_iter().map(|message| entry(element, message));
    give(gathered, entries.collect(), current.and_then(Raw::id));
    end
}

fn entry(element: &mut ExportedConversation<'_>, message: Raw<'_>) -> ClaudeEntry {
    let names = ["uuid", "parent_message_uuid", "created_at"];
    // `said` reports an error of the message.
    let [id, parent, at] = message.fields(names).unwrap_or_default();
    let id = id.and_then(Raw::id);
    ClaudeEntry {
        place: element.place_of(message.at, id.clone()),
        parent: parent.and_then(Raw::id),
        at: time(at),
        said: said(message),
        id,
    }
}

fn give(gathered: &mut Gathered, entries: Vec<ClaudeEntry>, current: Option<String>) {
    // One link is enough: without them all branches would belong to the conversation.
    let statuses = if entries.iter().any(|entry| entry.parent.is_some()) {
        statuses(&entries, current.as_deref())
    } else {
        vec![NodeStatus::Taken; entries.len()]
    };
    // A response follows its message, so that the order of the file is that of the path.
    for (entry, status) in entries.into_iter().zip(statuses) {
        let said = entry.said.and_then(|said| match status {
            NodeStatus::Taken => Ok(said),
            NodeStatus::Other => Err(NoMessageReason::OtherBranch),
            NodeStatus::Detached => Err(NoMessageReason::Detached),
        });
        gathered.take(said, entry.place);
    }
}

fn statuses(entries: &[ClaudeEntry], current: Option<&str>) -> Vec<NodeStatus> {
    let mut index = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        if let Some(id) = &entry.id {
            // Of two with one identifier the first is the parent, as it is the returned one.
            index.entry(id.as_str()).or_insert(at);
        }
    }
    let parent = |(at, entry): (usize, &ClaudeEntry)| match entry.parent.as_deref() {
        Some(BEGINNING) => Parent::Root,
        Some(id) => index
            .get(id)
            .map_or(Parent::Missing, |at| Parent::Node(*at)),
        // In a conversation that links its messages, one without a link follows the one before it.
        None if at > 0 => Parent::Node(at - 1),
        None => Parent::Root,
    };
    let parents: Vec<Parent> = entries.iter().enumerate().map(parent).collect();
    let last = current.and_then(|id| index.get(id).copied());
    path(&parents, last, |at| entries[at].at).1
}

fn said(message: Raw<'_>) -> Result<FoundMessage, NoMessageReason> {
    let fields = [
        "uuid",
        "sender",
        "text",
        "content",
        "created_at",
        "attachments",
        "files",
    ];
    let [id, sender, text, content, at, attachments, files] = message.fields(fields)?;
    let sender = string(sender, "sender")?;
    let speaker = match sender.as_str() {
        "human" | "user" => "user".to_owned(),
        "system" => return Err(NoMessageReason::System),
        "tool" => return Err(NoMessageReason::Tool),
        _ => sender,
    };
    let content = content.filter(|content| !content.is_null());
    if text.is_none() && content.is_none() {
        return Err(NoMessageReason::MissingField("text"));
    }
    let blocks = content.map_or(Ok(Blocks::default()), Blocks::read)?;
    // Beside unknown blocks, `text` holds a note that they cannot be shown.
    let text = match blocks.other {
        None if blocks.text.is_empty() => text.map_or(Ok(None), Raw::string)?.unwrap_or_default(),
        Some(reason) if blocks.text.is_empty() => return Err(reason),
        _ => blocks.text,
    };
    let attached = count(attachments).saturating_add(count(files));
    Ok(FoundMessage {
        id: id.and_then(Raw::id),
        at: time(at),
        speaker,
        text,
        left_out: blocks.left_out.saturating_add(attached),
    })
}

fn count(list: Option<Raw<'_>>) -> u32 {
    let elements = list.and_then(|list| list.elements().ok());
    let count = elements.map_or(0, |elements| elements.flatten().count());
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The marks around a program's, and its editor's, additions to the user's text for the model.
const ADDED: [(&str, &str); 4] = [
    ("<system-reminder>", "</system-reminder>"),
    ("<ide_opened_file>", "</ide_opened_file>"),
    ("<ide_selection>", "</ide_selection>"),
    ("<ide_diagnostics>", "</ide_diagnostics>"),
];

/// The blocks of a message's content, in both of Anthropic's formats.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The texts, with an empty line between them.
    pub(crate) text: String,
    /// The number of other blocks.
    pub(crate) left_out: u32,
    /// The reason for a missing text: a tool's turn precedes thinking, and thinking precedes pictures.
    pub(crate) other: Option<NoMessageReason>,
}

impl Blocks {
    pub(crate) fn read(content: Raw<'_>) -> Result<Self, NoMessageReason> {
        let mut blocks = Self::default();
        for block in content.elements()? {
            let block = block?;
            let [kind, text] = block.fields(["type", "text"])?;
            match optional(kind).as_str() {
                "text" => blocks.add(&string(text, "text")?),
                "thinking" | "redacted_thinking" => blocks.leave(NoMessageReason::Thinking),
                "tool_use"
                | "tool_result"
                | "server_tool_use"
                | "web_search_tool_result"
                | "mcp_tool_use"
                | "mcp_tool_result" => blocks.leave(NoMessageReason::Tool),
                _ => blocks.leave(NoMessageReason::NotText),
            }
        }
        Ok(blocks)
    }

    fn add(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let is_added =
            |(begin, end): &(&str, &str)| text.starts_with(*begin) && text.ends_with(*end);
        if ADDED.iter().any(is_added) {
            return self.leave(NoMessageReason::System);
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }

    fn leave(&mut self, reason: NoMessageReason) {
        let rank = |reason| match reason {
            NoMessageReason::Tool => 3,
            NoMessageReason::Thinking => 2,
            NoMessageReason::System => 1,
            _ => 0,
        };
        self.left_out = self.left_out.saturating_add(1);
        if self.other.is_none_or(|other| rank(reason) > rank(other)) {
            self.other = Some(reason);
        }
    }
}

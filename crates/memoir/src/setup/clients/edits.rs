//! The changes of each program's files.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Edit, Folders, NAME, OwnedPart, Program, lines};
use crate::hook::{Client, HookEvent, written::ProgramCall};

/// How long a program waits for a hook, in seconds, before it continues: longer than a hook ever takes.
const HOOK_SECONDS: u64 = 5;

impl Program {
    /// The changes of its files, to find Memoir's parts: by their place or by the record, so that the command is empty.
    pub(in crate::setup) fn present_edits(self, folders: &Folders) -> Vec<Edit> {
        self.edits(folders, &ProgramCall::default())
    }

    /// The changes of its files, where it calls Memoir by that command line.
    pub(in crate::setup) fn edits(self, folders: &Folders, call: &ProgramCall) -> Vec<Edit> {
        let files = ProgramFiles {
            program: self,
            folder: self.folder(folders),
            folders,
            call,
        };
        match self {
            Self::ClaudeCode => files.claude_code(),
            Self::Codex => files.codex(),
            Self::Gemini => files.gemini(),
            Self::Cursor => files.cursor(),
            Self::Copilot => files.copilot(),
            Self::Vscode => files.vscode(),
            Self::ClaudeDesktop => vec![files.servers(
                "claude_desktop_config.json",
                "mcpServers",
                files.server(json!({})),
            )],
            Self::Goose => files.goose(),
            Self::Zed => vec![files.servers(
                "settings.json",
                "context_servers",
                files.server(json!({"env": {}})),
            )],
            Self::Opencode => files.opencode(),
        }
    }
}

struct ProgramFiles<'a> {
    program: Program,
    folders: &'a Folders,
    folder: PathBuf,
    call: &'a ProgramCall,
}

impl ProgramFiles<'_> {
    fn file(&self, path: &str, parts: Vec<OwnedPart>) -> Edit {
        Edit {
            path: self.folder.join(path),
            parts,
        }
    }

    /// The file in which `list` is the list of servers of tools.
    fn servers(&self, path: &str, list: &'static str, server: Value) -> Edit {
        self.file(path, vec![OwnedPart::Member(vec![list, NAME], server)])
    }

    /// The entry of the server of tools, with `more` members.
    fn server(&self, more: Value) -> Value {
        let mut server =
            json!({"command": self.call.program(), "args": self.call.mcp(self.program)});
        if let (Value::Object(server), Value::Object(more)) = (&mut server, more) {
            server.extend(more);
        }
        server
    }

    /// The entry of the server of tools, with the type of its connection.
    fn stdio(&self) -> Value {
        self.server(json!({"type": "stdio"}))
    }

    fn claude_code(&self) -> Vec<Edit> {
        // It keeps its servers beside the default folder, but inside a configured one.
        let servers = match self.folder == self.folders.home.join(".claude") {
            true => self.folders.home.join(".claude.json"),
            false => self.folder.join(".claude.json"),
        };
        vec![
            Edit {
                path: servers,
                parts: vec![OwnedPart::Member(vec!["mcpServers", NAME], self.stdio())],
            },
            self.file("settings.json", claude_hooks(self.call, Client::ClaudeCode)),
        ]
    }

    fn codex(&self) -> Vec<Edit> {
        let words = self.call.mcp(self.program);
        let arguments: Vec<String> = words.iter().map(|word| lines::quoted(word)).collect();
        let table = format!(
            "command = {}\nargs = [{}]\n",
            lines::quoted(&self.call.program()),
            arguments.join(", ")
        );
        vec![
            self.file(
                "config.toml",
                vec![
                    OwnedPart::True("features", "hooks"),
                    OwnedPart::Table(format!("mcp_servers.{NAME}"), table),
                ],
            ),
            self.file("hooks.json", claude_hooks(self.call, Client::Codex)),
        ]
    }

    fn gemini(&self) -> Vec<Edit> {
        let server = OwnedPart::Member(vec!["mcpServers", NAME], self.server(json!({})));
        let hooks = claude_hooks(self.call, Client::Gemini);
        let parts = std::iter::once(server).chain(hooks).collect();
        vec![self.file("settings.json", parts)]
    }

    fn cursor(&self) -> Vec<Edit> {
        let command = self.call.hook(HookEvent::SessionStart, Client::Cursor);
        vec![
            self.servers("mcp.json", "mcpServers", self.server(json!({}))),
            self.file(
                "hooks.json",
                vec![
                    OwnedPart::Needed(vec!["version"], json!(1)),
                    OwnedPart::Hook(vec!["hooks", "sessionStart"], json!({"command": command})),
                ],
            ),
        ]
    }

    fn copilot(&self) -> Vec<Edit> {
        let hook = |event| {
            let command = self.call.hook(event, Client::Copilot);
            json!([{"type": "command", "bash": command, "timeoutSec": HOOK_SECONDS}])
        };
        let hooks = json!({"version": 1, "hooks": {
            "sessionStart": hook(HookEvent::SessionStart),
            "userPromptSubmitted": hook(HookEvent::UserPrompt),
            "agentStop": hook(HookEvent::Stop),
        }});
        let server = self.server(json!({"type": "local", "tools": ["*"]}));
        vec![
            self.servers("mcp-config.json", "mcpServers", server),
            // Beside the file of Visual Studio Code, which keeps its own in the same folder.
            Edit::own(self.folder.join("hooks/memoir-cli.json"), &hooks),
        ]
    }

    fn vscode(&self) -> Vec<Edit> {
        let command = self.call.hook(HookEvent::SessionStart, Client::Vscode);
        let hooks = json!({"hooks": {"SessionStart": [
            {"type": "command", "command": command, "timeout": HOOK_SECONDS}
        ]}});
        vec![
            self.servers("User/mcp.json", "servers", self.stdio()),
            Edit::own(self.folders.home.join(".copilot/hooks/memoir.json"), &hooks),
        ]
    }

    fn opencode(&self) -> Vec<Edit> {
        let command: Vec<String> = self.call.whole(self.call.mcp(self.program));
        let plugin = include_str!("../opencode.js").replace(
            // A JSON string is also a literal of JavaScript.
            "/*MEMOIR*/",
            &json!(self.call.whole(self.call.arguments.clone())).to_string(),
        );
        let server = json!({"type": "local", "command": command, "enabled": true});
        vec![
            self.servers("opencode.json", "mcp", server),
            self.file("plugin/memoir.js", vec![OwnedPart::Whole(plugin)]),
        ]
    }

    fn goose(&self) -> Vec<Edit> {
        let mut entry = vec![
            format!("name: {NAME}"),
            "type: stdio".to_owned(),
            "enabled: true".to_owned(),
            "timeout: 300".to_owned(),
            format!("cmd: {}", lines::quoted(&self.call.program())),
            "args:".to_owned(),
        ];
        let words = self.call.mcp(self.program);
        entry.extend(
            words
                .iter()
                .map(|word| format!("  - {}", lines::quoted(word))),
        );
        let command = self.call.hook(HookEvent::SessionStart, Client::Goose);
        let hooks = json!({"hooks": {"SessionStart": [{"hooks": [
            {"type": "command", "command": command, "timeout": HOOK_SECONDS}
        ]}]}});
        let plugin = json!({
            "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
            "name": NAME,
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Writes an agent's memory where Goose reads it when a session begins",
        });
        let plugins = self.folders.home.join(".agents/plugins").join(NAME);
        vec![
            self.file("config.yaml", vec![OwnedPart::Entry("extensions", entry)]),
            Edit::own(plugins.join("plugin.json"), &plugin),
            Edit::own(plugins.join("hooks/hooks.json"), &hooks),
            self.file(".goosehints", vec![OwnedPart::Hints]),
        ]
    }
}

/// The events of Claude Code, each with its name there and in Gemini CLI.
const EVENTS: [(HookEvent, &str, &str); 5] = [
    (HookEvent::SessionStart, "SessionStart", "SessionStart"),
    (HookEvent::UserPrompt, "UserPromptSubmit", "BeforeAgent"),
    (HookEvent::Stop, "Stop", "AfterAgent"),
    (HookEvent::PreCompact, "PreCompact", "PreCompress"),
    (HookEvent::SessionEnd, "SessionEnd", "SessionEnd"),
];

/// The hooks of Claude Code, and of programs with the same format.
fn claude_hooks(call: &ProgramCall, client: Client) -> Vec<OwnedPart> {
    // Codex has no event for a session's end.
    let events = EVENTS
        .into_iter()
        .filter(|(event, ..)| client != Client::Codex || *event != HookEvent::SessionEnd);
    events
        .map(|(event, name, of_gemini)| {
            let command = call.hook(event, client);
            let (name, hook) = match client {
                // It counts in milliseconds.
                Client::Gemini => {
                    let timeout = HOOK_SECONDS * 1_000;
                    (of_gemini, json!({"name": NAME, "type": "command", "command": command, "timeout": timeout}))
                }
                _ => (name, json!({"type": "command", "command": command, "timeout": HOOK_SECONDS})),
            };
            OwnedPart::Hook(vec!["hooks", name], json!({"hooks": [hook]}))
        })
        .collect()
}

//! The models of sessions: honest, hostile, and without any sense. None of them prefers one word of a vocabulary to
//! another, so that their choices are the same in other words of one shape.

use memoir_model::{ModelError, ModelMessage, ModelRequest};
use memoir_testkit::{Character, Dice, Honest, Mind, ModelScript, Turn};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::lexicon::is_planted;

/// How many calls a model without sense makes.
const SENSELESS: u64 = 14;

/// A model.
pub(crate) struct Player {
    role: Role,
    /// Whether it reads no text that an administrator may know. Models compare the texts that they read. Of two runs
    /// that are compared only one has an administrator's text that equals an agent's.
    omits_planted: bool,
}

enum Role {
    /// Follows the prompt.
    Honest(Box<Honest>),
    /// One of the characters that try to destroy a memory.
    Hostile(Box<Mind>),
    /// Calls anything with anything.
    Senseless { dice: Dice, left: u64, rows: u64 },
}

impl Player {
    /// Any of them. `rows` is the highest number that the agent has.
    pub(crate) fn any(dice: &mut Dice, rows: u64, omits_planted: bool) -> Self {
        Self {
            role: Role::any(dice, rows),
            omits_planted,
        }
    }

    pub(crate) fn begin(&mut self, prompt: &str) {
        let is_read = |line: &&str| !self.omits_planted || !is_planted(line);
        let prompt: Vec<&str> = prompt.lines().filter(is_read).collect();
        let prompt = prompt.join("\n");
        match &mut self.role {
            Role::Honest(honest) => honest.begin(&prompt),
            Role::Hostile(mind) => mind.begin(&prompt),
            Role::Senseless { .. } => {}
        }
    }

    /// The calls of the next response.
    pub(crate) fn calls(&mut self) -> Vec<(&'static str, Value)> {
        match &mut self.role {
            Role::Honest(honest) => vec![honest.call()],
            Role::Hostile(mind) => mind.calls(),
            Role::Senseless { left: 0, .. } => {
                vec![("complete_refinement", json!({"summary": "Done."}))]
            }
            Role::Senseless { dice, left, rows } => {
                *left -= 1;
                vec![senseless(dice, *rows)]
            }
        }
    }

    pub(crate) fn learn(&mut self, results: &[Value]) {
        match &mut self.role {
            Role::Honest(honest) => results.iter().for_each(|result| honest.learn(result)),
            Role::Hostile(mind) => mind.learn_all(results),
            Role::Senseless { .. } => {}
        }
    }

    /// A model that Memoir drives: it may refuse, fail, and stop without completing.
    pub(crate) fn driven(self, dice: Dice) -> ModelScript {
        let state = Mutex::new((self, dice, 0_u32));
        ModelScript::always(Turn::respond(move |request| {
            let mut state = state.lock();
            let (player, dice, asked) = &mut *state;
            *asked += 1;
            if *asked == 1 {
                let answer = ["YES", "**Yes**, gladly.", "No. Not today."];
                return Turn::text(answer[[0, 0, 0, 0, 0, 1, 1, 2][dice.roll(8) as usize]]);
            }
            match dice.roll(80) {
                0 | 1 => Turn::Error(ModelError::BadAnswer {
                    what: "simulated".to_owned(),
                    retryable: true,
                    hint: None,
                }),
                2 => Turn::Error(ModelError::BadAnswer {
                    what: "simulated".to_owned(),
                    retryable: false,
                    hint: None,
                }),
                3 | 4 => Turn::text("I have looked at all of it."),
                5 => Turn::malformed_call("delete_memory", "{\"ids\": [1"),
                _ => {
                    player.read(request);
                    Turn::calls(player.calls())
                }
            }
        }))
    }

    fn read(&mut self, request: &ModelRequest) {
        if let [ModelMessage::User(prompt)] = request.messages.as_slice() {
            return self.begin(prompt.expose());
        }
        let last = request.messages.iter().rev();
        let results = last.map_while(|message| match message {
            ModelMessage::ToolResult { content, .. } => Some(content.expose()),
            _ => None,
        });
        let mut results: Vec<Value> = results
            .filter_map(|result| serde_json::from_str(result).ok())
            .collect();
        results.reverse();
        self.learn(&results);
    }
}

impl Role {
    fn any(dice: &mut Dice, rows: u64) -> Self {
        match dice.roll(6) {
            0 | 1 => Self::Honest(Box::default()),
            2 => Self::Senseless {
                dice: Dice::new(dice.roll(1 << 32)),
                left: dice.roll(SENSELESS) + 1,
                rows,
            },
            _ => {
                let all = Character::ALL;
                let character = all[dice.roll(all.len() as u64) as usize];
                let mut mind = Mind::new(character, None);
                mind.week = dice.roll(50) + 1;
                Self::Hostile(Box::new(mind))
            }
        }
    }
}

/// A call without sense.
fn senseless(dice: &mut Dice, rows: u64) -> (&'static str, Value) {
    const TOOLS: [&str; 8] = [
        "search_memories",
        "consolidate_memories",
        "update_memory",
        "delete_memory",
        "delete_memory",
        "protect_memory",
        "unprotect_memory",
        "complete_refinement",
    ];
    let number = dice.roll(rows + 3);
    let other = dice.roll(rows + 3);
    let id = match dice.roll(6) {
        0 => json!(format!("#{number}")),
        1 => json!(number as f64),
        2 => json!(-1.5),
        3 => json!({"number": number}),
        _ => json!(number),
    };
    let ids = match dice.roll(5) {
        0 => json!(format!("{number}, {other}")),
        1 => json!([number, number]),
        2 => json!((0..12).collect::<Vec<u64>>()),
        3 => json!(null),
        _ => json!([number, other]),
    };
    let content = match dice.roll(5) {
        0 => json!(""),
        1 => json!("a\u{0}b"),
        2 => json!("x".repeat(10_001)),
        3 => json!(["words"]),
        _ => json!("spoke about it"),
    };
    let arguments = match dice.roll(12) {
        0 => json!([]),
        1 => json!("not an object"),
        _ => json!({
            "id": id, "ids": ids, "content": content, "summary": content, "query": content,
            "replaced_by": other,
        }),
    };
    let tool = TOOLS[dice.roll(TOOLS.len() as u64) as usize];
    // Otherwise a third of these sessions would end at the first calls.
    let is_early = tool == "complete_refinement" && dice.roll(3) > 0;
    (if is_early { "delete_memory" } else { tool }, arguments)
}

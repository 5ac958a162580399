//! The next step of a session that Memoir drives: events in, effects out. No store, no clock, no network; the time
//! that the session has used comes with each event.

use std::{collections::VecDeque, time::Duration};

use memoir_domain::{
    PrivateText,
    lifecycle::SessionEnding,
    memory::tokens,
    prompt::{self, Prompt},
    session::{EndReason, FailureClass, Usage},
};
use memoir_model::{Finish, ModelError, ModelMessage, ModelRequest, OfferedTool, Reply, ToolCall};

use super::{Progress, reminder, typed::typed_call, within};
use crate::{
    core::{
        cut_off::{CutOff, fitting},
        settings::{Price, SessionLimits},
    },
    sessions::bounded,
};

/// Most calls of one response that are carried out; the others get an error.
// More than a session has edits, with searches between them; each is a commit, and their results are sent with every
// further turn.
const CALLS_PER_TURN: usize = 32;
/// Consecutive responses that may be cut off at the output limit.
// The third has up to sixteen times the room: one that is cut off there too does not end.
const CUT_ANSWERS: u32 = 3;
/// The prompt size for which the default token limit allows ten edits with refused calls between them. For a longer
/// prompt the limit grows in proportion, since each turn sends the prompt again.
const PROMPT_TOKENS: u64 = 6_000;
/// Most real tokens for each of ours: a provider's count of input tokens is accepted up to there.
// One of our tokens is 4 characters, so these are 2 real tokens for each character. A provider that reports more must
// not raise the token limit by that.
const MOST_REAL_TOKENS: u64 = 8;
/// The most stored characters of a refusal.
const REFUSAL_LIMIT: usize = 2_000;

#[derive(Debug)]
pub(crate) enum SessionEvent {
    Begun {
        consent: Prompt,
    },
    Replied {
        request: Box<ModelRequest>,
        reply: Box<Reply>,
    },
    CallFailed {
        request: Box<ModelRequest>,
        error: ModelError,
    },
    /// A wait before another attempt is over.
    Waited {
        request: Box<ModelRequest>,
    },
    Opened {
        prompt: Prompt,
        tools: Vec<OfferedTool>,
    },
    ToolAnswered {
        content: PrivateText,
        ended: bool,
    },
    /// The session's time was over during a call of the model.
    DeadlinePassed,
}

#[derive(Debug)]
pub(crate) enum SessionEffect {
    Note(Progress),
    /// Carry this out, and return the resulting event. At most one.
    Act(SessionAction),
}

#[derive(Debug)]
pub(crate) enum SessionAction {
    Call(Box<ModelRequest>),
    /// Wait, then call again.
    Wait(Duration, Box<ModelRequest>),
    /// Give the session tools.
    Open,
    RunTool(ToolCall),
    End(SessionEnding),
    /// A tool has ended it.
    Finish,
}

pub(crate) struct Machine {
    limits: SessionLimits,
    price: Option<Price>,
    /// The model's context in tokens; `None` if unknown.
    context_tokens: Option<u32>,
    /// Of the model calls so far.
    pub(crate) usage: Usage,
    /// Responses since the session was open.
    pub(crate) turns: u32,
    /// Failed attempts at the present call.
    failures: u32,
    /// Whether the model was reminded of what it left out: of its answer, then of its calls.
    reminded: bool,
    /// The output limit of the next response, in tokens.
    answer_tokens: u32,
    /// Consecutive responses that were cut off there.
    cut: u32,
    /// The size of the session's prompt, in tokens: our own count, or the provider's where that is more.
    prompt_tokens: u64,
    stage: Stage,
}

/// The stage of the session: which events can come, and how they are taken.
enum Stage {
    /// The agent is asked for its consent.
    Consent,
    /// The session tools are given.
    Open(Conversation),
}

struct Conversation {
    system: PrivateText,
    tools: Vec<OfferedTool>,
    messages: Vec<ModelMessage>,
    /// Calls of the last response that wait for their turn.
    pending: VecDeque<ToolCall>,
    running: Option<ToolCall>,
}

impl Machine {
    /// For a model with a context of so many tokens; `None` if unknown. `used` and `turns` are those of the session
    /// before this worker acquired it.
    pub(crate) fn new(
        limits: SessionLimits,
        price: Option<Price>,
        context_tokens: Option<u32>,
        used: Usage,
        turns: u32,
    ) -> Self {
        Self {
            limits,
            price,
            context_tokens,
            usage: used,
            turns,
            failures: 0,
            reminded: false,
            answer_tokens: limits.answer_tokens,
            cut: 0,
            prompt_tokens: 0,
            stage: Stage::Consent,
        }
    }

    /// The effects of `event`, at which workers have had the session for so long.
    pub(crate) fn handle(&mut self, event: SessionEvent, at: Duration) -> Vec<SessionEffect> {
        use SessionEvent as Event;
        match (&mut self.stage, event) {
            (Stage::Consent, Event::Begun { consent }) => self.ask_for_consent(consent),
            (Stage::Consent, Event::Replied { request, reply }) => {
                self.consent_replied(request, *reply, at)
            }
            // Also without a request for consent: a worker that resumes an open session begins here.
            (Stage::Consent, Event::Opened { prompt, tools }) => self.opened(prompt, tools, at),
            (Stage::Open(_), Event::Replied { request, reply }) => {
                self.turn_replied(request, *reply, at)
            }
            (Stage::Open(conversation), Event::ToolAnswered { content, ended }) => {
                if ended {
                    return act(SessionAction::Finish);
                }
                if let Some(call) = conversation.running.take() {
                    conversation.push_result(call, content);
                }
                self.next_tool(at)
            }
            (Stage::Consent | Stage::Open(_), Event::CallFailed { request, error }) => {
                self.failed(request, &error, at)
            }
            (Stage::Consent | Stage::Open(_), Event::Waited { request }) => {
                act(SessionAction::Call(request))
            }
            (Stage::Consent | Stage::Open(_), Event::DeadlinePassed) => {
                abandon(EndReason::TimeLimit)
            }
            // No action of these stages returns them.
            (Stage::Consent, Event::ToolAnswered { .. })
            | (Stage::Open(_), Event::Begun { .. } | Event::Opened { .. }) => Vec::new(),
        }
    }

    fn ask_for_consent(&mut self, consent: Prompt) -> Vec<SessionEffect> {
        let mut effects = vec![SessionEffect::Note(Progress::Asked)];
        effects.extend(self.ask(ModelRequest {
            system: consent.system,
            messages: vec![ModelMessage::User(consent.user)],
            tools: Vec::new(),
            answer_schema: None,
            max_output_tokens: self.limits.answer_tokens,
            reasoning_effort: None,
        }));
        effects
    }

    fn opened(
        &mut self,
        prompt: Prompt,
        tools: Vec<OfferedTool>,
        at: Duration,
    ) -> Vec<SessionEffect> {
        self.prompt_tokens = tokens(prompt.system.expose()) + tokens(prompt.user.expose());
        self.stage = Stage::Open(Conversation {
            system: prompt.system,
            tools,
            messages: vec![ModelMessage::User(prompt.user)],
            pending: VecDeque::new(),
            running: None,
        });
        self.next_turn(at)
    }

    fn ask(&mut self, mut request: ModelRequest) -> Vec<SessionEffect> {
        let wanted = request.max_output_tokens;
        request.max_output_tokens = fitting(&request, wanted, self.context_tokens);
        // Each request has all attempts for itself.
        self.failures = 0;
        act(SessionAction::Call(Box::new(request)))
    }

    fn count_usage(&mut self, reply: &Reply) {
        let counted = reply.usage;
        self.usage
            .add_response(counted.input_tokens, counted.output_tokens);
    }

    fn consent_replied(
        &mut self,
        request: Box<ModelRequest>,
        reply: Reply,
        at: Duration,
    ) -> Vec<SessionEffect> {
        self.count_usage(&reply);
        // Consent is at the beginning, so a missing end does not change it. Any other response that was cut off is no
        // refusal: its end may be missing.
        let is_consent = prompt::is_consent(reply.text.expose());
        if reply.finish == Finish::Length && !is_consent {
            return self.ask_with_more_room(request, &reply, at);
        }
        self.cut = 0;
        // An empty answer is often one failure of the server, and no word of the agent's: it gets a second try.
        if prompt::is_empty(reply.text.expose()) && !self.reminded {
            self.reminded = true;
            return ask_at_once(request, "the model's answer was empty".to_owned());
        }
        self.reminded = false;
        if !is_consent {
            let stored = bounded(reply.text.clone(), REFUSAL_LIMIT, REFUSAL_LIMIT);
            return vec![
                SessionEffect::Note(Progress::Declined { words: reply.text }),
                SessionEffect::Act(SessionAction::End(SessionEnding::Declined(stored))),
            ];
        }
        let mut effects = vec![SessionEffect::Note(Progress::Agreed)];
        // Only the time is checked here: the other limits are checked before the first turn.
        effects.extend(match within(self.limits.time, at) {
            Ok(()) => act(SessionAction::Open),
            Err(why) => abandon(why),
        });
        effects
    }

    fn turn_replied(
        &mut self,
        request: Box<ModelRequest>,
        reply: Reply,
        at: Duration,
    ) -> Vec<SessionEffect> {
        self.count_usage(&reply);
        if request.messages.len() == 1 {
            let most = self.prompt_tokens.saturating_mul(MOST_REAL_TOKENS);
            // Of the prompt alone: later requests hold the conversation too, and the limit would grow with it.
            let read = reply.usage.input_tokens.min(most);
            self.prompt_tokens = self.prompt_tokens.max(read);
        }
        self.turns += 1;
        // A cut-off response is not a stop, and no call of it is carried out: its end may be missing.
        if reply.finish == Finish::Length {
            return self.ask_with_more_room(request, &reply, at);
        }
        self.cut = 0;
        self.take_turn(reply, at)
    }

    fn ask_with_more_room(
        &mut self,
        mut request: Box<ModelRequest>,
        reply: &Reply,
        at: Duration,
    ) -> Vec<SessionEffect> {
        self.cut += 1;
        let cut = CutOff::of(reply, request.max_output_tokens, self.context_tokens);
        let more = cut.more_room(reply, request.max_output_tokens, self.context_tokens);
        let Some(more) = more.filter(|_| self.cut < CUT_ANSWERS) else {
            let times = match self.cut {
                1 => String::new(),
                times => format!(", {times} times in a row"),
            };
            let message = format!("{cut}{times}; {}", cut.hint());
            return fail(FailureClass::UnreadableResponse, message);
        };
        if let Err(why) = self.within_limits(at) {
            return abandon(why);
        }
        // Of the next turns too, each within what the context then has left.
        self.answer_tokens = self.answer_tokens.max(more);
        request.max_output_tokens = more;
        self.failures = 0;
        ask_at_once(request, cut.to_string())
    }

    fn take_turn(&mut self, reply: Reply, at: Duration) -> Vec<SessionEffect> {
        let Stage::Open(conversation) = &mut self.stage else {
            return Vec::new();
        };
        if reply.tool_calls.is_empty() {
            let said = reply.text.expose();
            let typed = typed_call(said, &conversation.tools);
            let why = match typed {
                Some(_) => EndReason::CallsAsText,
                None if said.trim().is_empty() => EndReason::NoAnswer,
                None => EndReason::Stopped,
            };
            let reminder = reminder(typed);
            // An empty response is not echoed: some providers refuse empty messages.
            if !reply.text.expose().trim().is_empty() {
                let message = ModelMessage::Assistant(reply.message);
                conversation.messages.push(message);
            }
            return self.remind(reminder, why, at);
        }
        let message = ModelMessage::Assistant(reply.message);
        conversation.messages.push(message);
        conversation.pending = reply.tool_calls.into();
        self.next_tool(at)
    }

    /// Reminds a model that called no tool, or ends the session for that reason where it was reminded before.
    fn remind(
        &mut self,
        reminder: PrivateText,
        why: EndReason,
        at: Duration,
    ) -> Vec<SessionEffect> {
        if self.reminded {
            return abandon(why);
        }
        // Once a session, not once a response: a model that never calls a tool would be reminded up to its last turn.
        self.reminded = true;
        if let Stage::Open(conversation) = &mut self.stage {
            conversation.messages.push(ModelMessage::User(reminder));
        }
        let mut effects = vec![SessionEffect::Note(Progress::Reminded)];
        effects.extend(self.next_turn(at));
        effects
    }

    fn next_tool(&mut self, at: Duration) -> Vec<SessionEffect> {
        // Only the time limit can be reached here: the calls of one response are no turns, and use no tokens.
        if let Err(why) = within(self.limits.time, at) {
            return abandon(why);
        }
        let next = match &mut self.stage {
            Stage::Open(conversation) => conversation.next_call(),
            Stage::Consent => None,
        };
        match next {
            Some(call) => act(SessionAction::RunTool(call)),
            None => self.next_turn(at),
        }
    }

    /// Calls the model for its next response, unless a limit is reached.
    fn next_turn(&mut self, at: Duration) -> Vec<SessionEffect> {
        if let Err(why) = self.within_limits(at) {
            return abandon(why);
        }
        let Stage::Open(conversation) = &self.stage else {
            return Vec::new();
        };
        self.ask(ModelRequest {
            system: conversation.system.clone(),
            messages: conversation.messages.clone(),
            tools: conversation.tools.clone(),
            answer_schema: None,
            max_output_tokens: self.answer_tokens,
            reasoning_effort: None,
        })
    }

    fn within_limits(&self, at: Duration) -> Result<(), EndReason> {
        within(self.limits.time, at)?;
        if self.turns >= self.limits.turns {
            return Err(EndReason::TurnLimit);
        }
        if self.usage.input_tokens + self.usage.output_tokens >= self.token_limit() {
            return Err(EndReason::TokenLimit);
        }
        match self.price.zip(self.limits.cost) {
            Some((price, limit)) if price.cost(&self.usage) >= limit => Err(EndReason::CostLimit),
            _ => Ok(()),
        }
    }

    /// The limit of tokens, as long as the prompt wants it for ten edits.
    fn token_limit(&self) -> u64 {
        let limit = u128::from(self.limits.tokens);
        let grown =
            limit * u128::from(self.prompt_tokens.max(PROMPT_TOKENS)) / u128::from(PROMPT_TOKENS);
        u64::try_from(grown).unwrap_or(u64::MAX)
    }

    fn failed(
        &mut self,
        request: Box<ModelRequest>,
        error: &ModelError,
        at: Duration,
    ) -> Vec<SessionEffect> {
        self.failures += 1;
        let message = match self.cut {
            0 => error.to_string(),
            _ => format!("the model's answer was cut off, and more room was asked for: {error}"),
        };
        let fail_with = |message: String| {
            let advice = error.hint().map(|hint| format!("; {hint}"));
            let message = message + &advice.unwrap_or_default();
            fail(error.class(), message)
        };
        // A server that responded before is waited for: it may be starting again.
        let is_worth_waiting = self.usage.calls > 0 || !error.is_not_running();
        let wait = self.limits.wait_after(self.failures, error);
        let Some(wait) = wait.filter(|_| is_worth_waiting) else {
            return fail_with(match error.is_retryable() && is_worth_waiting {
                true if self.failures > 1 => {
                    format!("{message}; it was asked {} times", self.failures)
                }
                true => format!("{message}; it was asked once"),
                false => message,
            });
        };
        // Ended as failed now and not as out of time later: the cause is the provider, and the schedule retries.
        if at + wait >= self.limits.time {
            let left = self.limits.time.saturating_sub(at).as_secs();
            return fail_with(format!(
                "{message}; the session has only {left} s left to wait"
            ));
        }
        vec![
            SessionEffect::Note(Progress::Waiting {
                seconds: wait.as_secs_f64(),
                problem: message,
            }),
            SessionEffect::Act(SessionAction::Wait(wait, request)),
        ]
    }
}

impl Conversation {
    fn next_call(&mut self) -> Option<ToolCall> {
        // Results returned since the model's last response.
        let newest_first = self.messages.iter().rev();
        let carried_out = newest_first
            .take_while(|message| matches!(message, ModelMessage::ToolResult { .. }))
            .count();
        // Every call needs a result, also those beyond the limit.
        while let Some(call) = self.pending.pop_front() {
            if carried_out < CALLS_PER_TURN {
                self.running = Some(call.clone());
                return Some(call);
            }
            let refusal = serde_json::json!({
                "type": "error",
                "code": "invalid_argument",
                "error": format!("An answer can call at most {CALLS_PER_TURN} tools. Call the others in the next one."),
            });
            self.push_result(call, refusal.to_string().into());
        }
        None
    }

    fn push_result(&mut self, call: ToolCall, content: PrivateText) {
        self.messages.push(ModelMessage::ToolResult {
            call_id: call.id,
            content,
        });
    }
}

/// Another attempt without a wait.
fn ask_at_once(request: Box<ModelRequest>, problem: String) -> Vec<SessionEffect> {
    let seconds = 0.0;
    vec![
        SessionEffect::Note(Progress::Waiting { seconds, problem }),
        SessionEffect::Act(SessionAction::Call(request)),
    ]
}

fn act(action: SessionAction) -> Vec<SessionEffect> {
    vec![SessionEffect::Act(action)]
}

fn abandon(why: EndReason) -> Vec<SessionEffect> {
    act(SessionAction::End(SessionEnding::Abandoned(why)))
}

fn fail(class: FailureClass, message: String) -> Vec<SessionEffect> {
    act(SessionAction::End(SessionEnding::Failed(class, message)))
}

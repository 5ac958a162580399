//! The room of a response, and one that ends before its end: at what, whether more room can help, and what a person can
//! do (SPEC 3.16).

use memoir_domain::memory::tokens;
use memoir_model::{ModelMessage, ModelRequest, Reply};

/// How much larger the output limit gets for a response that was cut off.
// A model that reasons first takes a multiple of its final text.
const MORE_ROOM: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub(crate) enum CutOff {
    /// At the requested output limit, in tokens.
    #[display("the model's answer was cut off at its output limit of {_0} tokens")]
    Limit(u32),
    /// After so many tokens, well before the limit: at one of the server's own.
    #[display("the model's answer was cut off after {output} tokens, though {limit} were allowed")]
    Server { output: u64, limit: u32 },
    /// Prompt and response fill the model's context of so many tokens.
    #[display(
        "the model's answer was cut off, since prompt and answer fill its context of {_0} tokens"
    )]
    Context(u32),
}

impl CutOff {
    /// What cut off that reply within `limit` tokens, by a model with a context of `context_tokens`, `None` if unknown.
    pub(crate) fn of(reply: &Reply, limit: u32, context_tokens: Option<u32>) -> Self {
        let (input, output) = (reply.usage.input_tokens, reply.usage.output_tokens);
        // Where the provider counted nothing, the limit that was asked for is the only known one.
        let used = match reply.usage.measured && output > 0 {
            true => output,
            false => u64::from(limit),
        };
        let is_at_limit = is_near(used, limit);
        match context_tokens {
            Some(context)
                if is_near(input.saturating_add(used), context)
                    || is_at_limit && left(reply, context) <= limit =>
            {
                Self::Context(context)
            }
            _ if is_at_limit => Self::Limit(limit),
            _ => Self::Server { output, limit },
        }
    }

    /// The output limit of another attempt after that reply to one with `limit`; `None` where no more room can be had.
    // Never beyond the context: some servers refuse that, others drop the beginning of the conversation silently.
    pub(crate) fn more_room(
        self,
        reply: &Reply,
        limit: u32,
        context_tokens: Option<u32>,
    ) -> Option<u32> {
        let more = limit.saturating_mul(MORE_ROOM);
        match (self, context_tokens) {
            (Self::Context(_), _) => None,
            (_, Some(context)) => Some(more.min(left(reply, context))),
            (_, None) => Some(more),
        }
    }

    /// What a person can do about it.
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::Limit(_) => {
                "give it more room with `answer_tokens`, or choose a model that says less before it answers"
            }
            Self::Server { .. } => {
                "the server has a limit of its own: raise that (of Ollama `num_ctx` and `num_predict`, of vLLM \
                 `max-model-len`), and set `context_tokens` of the provider"
            }
            Self::Context(_) => {
                "no more room is left in it: start the server with a larger context and set `context_tokens` of the \
                 provider, or choose a model that reads more"
            }
        }
    }
}

/// The tokens that the context has for the answer to the same prompt.
fn left(reply: &Reply, context_tokens: u32) -> u32 {
    let input = u32::try_from(reply.usage.input_tokens).unwrap_or(u32::MAX);
    context_tokens.saturating_sub(input)
}

/// Whether it is the whole but for a twentieth: providers count some tokens apart, or not at all.
fn is_near(part: u64, whole: u32) -> bool {
    part.saturating_add(u64::from(whole / 20)) >= u64::from(whole)
}

/// The output limit of a request: `wanted`, or less where prompt and answer would exceed the model's context.
pub(crate) fn fitting(request: &ModelRequest, wanted: u32, context_tokens: Option<u32>) -> u32 {
    /// The least that is asked for: a server that has less left says so itself.
    const LEAST: u32 = 256;
    let Some(context) = context_tokens else {
        return wanted;
    };
    let said = request.messages.iter().map(|message| match message {
        ModelMessage::User(text) => tokens(text.expose()),
        ModelMessage::Assistant(message) => tokens(&message.expose().to_string()),
        ModelMessage::ToolResult { content, .. } => tokens(content.expose()),
    });
    let tools = request
        .tools
        .iter()
        .map(|tool| tokens(&tool.description) + tokens(&tool.parameters.to_string()));
    let prompt = tokens(request.system.expose()) + said.chain(tools).sum::<u64>();
    // A quarter more: a token of most models is shorter than four characters.
    let prompt = u32::try_from(prompt.saturating_add(prompt / 4)).unwrap_or(u32::MAX);
    wanted.min(context.saturating_sub(prompt).max(LEAST))
}

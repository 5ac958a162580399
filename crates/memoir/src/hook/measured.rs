//! What a session has in front of its model: the text of its start, and the memories beside its first prompt. It is
//! measured by the code that prints them, and leaves no trace: neither a session nor the bound of a context is noted.
//! The limit of a hook is left out, with what it costs to open the model of embeddings in each process.

use std::collections::BTreeSet;

use memoir_app::{Clock, ContextRequest, ContextView, OwnAgent, SystemClock};
use memoir_domain::{PrivateText, memory::tokens};

use super::{
    Client,
    length::TextLimit,
    prompt,
    reached::{self, HookMemory, Waiting, reshaped},
    session::ShownContext,
    start,
};
use crate::failure::Failure;

/// The start of a session with nothing pending but, where it is due, a session of refining.
pub(crate) struct MeasuredStart {
    /// The memories that stand in its text, also by a copy of theirs.
    pub(crate) shown: BTreeSet<u64>,
    pub(crate) tokens: u64,
    context: ShownContext,
    limit: TextLimit,
}

/// The memories that stand in an explained context, also by a copy of theirs.
pub(crate) fn shown(context: &ContextView) -> BTreeSet<u64> {
    let mut shown = start::entries(context.text.expose().lines());
    let explained = context.explained.iter();
    let copies = explained.flat_map(|explained| &explained.copies);
    let copies = copies.filter(|copy| shown.contains(&copy.shown.0));
    let copies: Vec<u64> = copies.map(|copy| copy.number.0).collect();
    shown.extend(copies);
    shown
}

impl MeasuredStart {
    pub(crate) async fn of(client: Client, agent: &OwnAgent) -> Result<Self, Failure> {
        let limit = client.dialect().limit;
        let now = SystemClock.now();
        let mut in_context = BTreeSet::new();
        let waiting = Waiting::default();
        let start = start::fitted(&waiting, limit, None, async |asked| {
            let request = ContextRequest {
                explain: true,
                ..reached::request(asked)
            };
            let context = agent.measured_context(&request).await?;
            in_context = shown(&context);
            reshaped(&context)
        });
        let start = start.await?;
        Ok(Self {
            shown: in_context,
            tokens: tokens(&start.text),
            context: ShownContext::of(&start, now),
            limit,
        })
    }

    /// The memories beside a prompt, and the size of their text in tokens: 0 where there is none.
    pub(crate) async fn prompt(
        &self,
        agent: &OwnAgent,
        prompt: &PrivateText,
    ) -> Result<(BTreeSet<u64>, u64), Failure> {
        let lens = agent.lens();
        let found = lens.recall_for_prompt(prompt, prompt::CONSIDERED).await?;
        let found: Vec<HookMemory> = reshaped(&found)?;
        let new = prompt::unseen(found, |memory| self.context.shows(memory));
        let shown = prompt::prompt(new, self.limit.beside("\n"));
        let (shown, text) = shown.unwrap_or_default();
        let shown = shown.iter().map(|memory| memory.number);
        Ok((shown.collect(), tokens(&text)))
    }
}

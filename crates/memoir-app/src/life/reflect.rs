//! Reflection: the agent's model names journal entries that become core memories (SPEC 2.5).

use memoir_domain::{
    audit::Action,
    context,
    memory::Number,
    reflection::{self, ANSWER, Promotions, ReflectionSeen},
    schedule,
};
use memoir_model::{AnswerSchema, Model};
use memoir_store::{AgentQuery, Selection};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{
        Error, Result,
        model_question::{ModelQuestion, NotAnswered, Stop},
        replies,
    },
    life::{Life, own::check_in_service},
    memory::replacing::without_replacing,
    sessions::{RefineOptions, room},
};

/// The outcome of a reflection.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[schema(as = Reflection)]
pub struct Reflected {
    /// Journal entries that the agent read.
    pub considered: usize,
    /// The numbers of those that are core memories now.
    #[schema(value_type = Vec<u64>)]
    pub promoted: Vec<Number>,
    /// The numbers of the core memories that these replaced.
    #[schema(value_type = Vec<u64>)]
    pub replaced: Vec<Number>,
    /// How many were named to be replaced and stay where they are; the record has the reasons.
    pub not_replaced: u64,
    /// Why nothing was promoted, where something went wrong; null where nothing did.
    // Without the model's text.
    #[schema(required)]
    pub failure: Option<String>,
    /// Whether it was stopped before the model had answered.
    #[serde(skip)]
    pub is_interrupted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReflectionCause {
    Asked,
    /// It still waits for one at a slot before now.
    Slot,
}

impl Life<'_> {
    /// Lets the agent's model reflect on its journal of the last week, now.
    ///
    /// # Errors
    /// No model can be used; the store fails. An unusable response is no error: nothing is promoted, and that is
    /// recorded.
    pub async fn reflect(self) -> Result<Reflected> {
        let mut for_ever: Stop<'_> = Box::pin(std::future::pending());
        self.reflect_until(&mut for_ever, ReflectionCause::Asked)
            .await
    }

    /// As [`Life::reflect`]. A stop before the model's response leaves no trace.
    pub(super) async fn reflect_until(
        self,
        stop: &mut Stop<'_>,
        cause: ReflectionCause,
    ) -> Result<Reflected> {
        let slot = &self.memoir.settings.daily_slot;
        // Before anything is written: without a usable model, the reflection stays due.
        let model = self.sessions().model(&RefineOptions::default()).await?;
        self.check_model_use().await?;
        let context_tokens = model.context_tokens();
        let week = self.week();
        let looked = self.decide(&week, |loaded, now| {
            check_in_service(&loaded)?;
            let is_due = || schedule::reflection_due(&loaded.agent, slot, now);
            // The slot is checked again here, because another process may have let the agent reflect since.
            if cause == ReflectionCause::Slot && !is_due() {
                return Err(Error::NotDue);
            }
            let own = [
                &loaded.agent.settings.system_prompt,
                &loaded.agent.settings.memory_reflection_prompt,
            ];
            let room = room(self.sessions().context_of(context_tokens), own);
            // In the decision, so that the question and the shown entries are consistent.
            let question = reflection::ask(&loaded.agent, &loaded.memories, room, now);
            let asked = question.as_ref();
            let seen = ReflectionSeen {
                entries: asked.map_or(0, |asked| asked.entries.len()),
                is_partial: asked.is_some_and(|asked| asked.left_out > 0),
                at: now,
                next_number: loaded.agent.next_number,
                last_at: loaded.agent.last_reflection_at,
            };
            let decision = match question {
                Some(_) => reflection::begin(loaded.agent, now),
                None => reflection::pass(loaded.agent, now),
            };
            Ok((Some(decision), (question, seen)))
        });
        // A request for a reflection that is interrupted here is executed again: its purpose is fulfilled with the
        // model's response.
        let looked = replies::for_no_request(looked).await?;
        let (Some(question), seen) = looked else {
            return Ok(Reflected::default());
        };
        self.finish_reflection(model.as_ref(), question, &seen, stop)
            .await
    }

    fn week(self) -> AgentQuery {
        AgentQuery::of_memories(Selection::Context {
            journal_after: context::journal_since(self.memoir.now()),
        })
        .with_prompts()
    }

    async fn finish_reflection(
        self,
        model: &dyn Model,
        reflection_question: reflection::ReflectionQuestion,
        seen: &ReflectionSeen,
        stop: &mut Stop<'_>,
    ) -> Result<Reflected> {
        let question = ModelQuestion {
            prompt: reflection_question.prompt,
            schema: AnswerSchema {
                name: ANSWER,
                schema: reflection::answer_schema(),
            },
        };
        let read = |answer: &str| reflection::read(answer, &reflection_question.entries);
        let answer = self.memoir.question(model, question, read, stop).await;
        let (code, failure) = match answer {
            Ok(promotions) => return self.promote_entries(&promotions, seen).await,
            Err(NotAnswered::Unreadable(unreadable)) => (unreadable.code, unreadable.problem),
            Err(NotAnswered::Model(failure)) => ("model_failed", failure.into_problem()),
            Err(NotAnswered::Stopped) => {
                self.decide(&AgentQuery::default(), |loaded, now| {
                    Ok((reflection::put_off(loaded.agent, seen, now), ()))
                })
                .await?;
                return Ok(Reflected {
                    considered: seen.entries,
                    failure: Some("it was interrupted".to_owned()),
                    is_interrupted: true,
                    ..Reflected::default()
                });
            }
        };
        self.decide(&AgentQuery::default(), |loaded, now| {
            Ok((Some(reflection::fail(loaded.agent, code, now)), ()))
        })
        .await?;
        Ok(Reflected {
            considered: seen.entries,
            failure: Some(failure),
            ..Reflected::default()
        })
    }

    /// Promotes the entries that the model named, with the replacements that it named for each.
    async fn promote_entries(
        self,
        promotions: &Promotions,
        seen: &ReflectionSeen,
    ) -> Result<Reflected> {
        let replaces = promotions.values().any(|replaces| !replaces.is_empty());
        let query = AgentQuery::of_memories(match replaces {
            true => Selection::All,
            false => Selection::Numbers(promotions.keys().copied().collect()),
        });
        // Loaded again: the model may have taken minutes, and other processes wrote.
        self.decide_reading(&query, |loaded, now| async move {
            let mut replacing = match replaces {
                true => self.memories().replacing(&loaded.memories).await?,
                false => without_replacing(&loaded.memories),
            };
            let (agent, replacing) = (loaded.agent, &mut replacing);
            let (decision, done) = reflection::promote(agent, promotions, replacing, seen, now);
            let records = decision.records.iter();
            let promoted = records.filter(|record| record.action == Action::MemoryPromoted);
            let reflected = Reflected {
                considered: seen.entries,
                promoted: promoted.filter_map(|record| record.memory).collect(),
                not_replaced: done.not_replaced.len() as u64,
                replaced: done.replaced,
                ..Reflected::default()
            };
            Ok((Some(decision), reflected))
        })
        .await
    }
}

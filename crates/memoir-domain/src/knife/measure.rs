//! What an edit would do to what its members stand for, and whether it may (SPEC 3.9, 3.10, 3.12, 3.14).
//!
//! Each edit is judged by `memoir-details`, and what it would let go is held against the limits of each age
//! (`loss.rs`). An answer that asks carries a code, a keyed digest of the call, the session, the texts and
//! what would go; nothing is stored until it comes back, and after any edit of these texts it says yes to
//! nothing.

use std::collections::BTreeMap;

use memoir_details::{Judgement, Loss, Reading, Replaced, judge, padding, passing};

use crate::{
    PrivateText, Timestamp,
    agent::LossGuard,
    audit::LostWords,
    knife::{KnifeCall, Refusal, View, edit::immutable_tags, refusal::LossAdvice},
    loss::{self, Losing, WordAllowance},
    memory::{Memory, Number},
    merging::{Apart, Joining, apart},
    session::{Mode, Session},
    survey::{Nearest, SoughtMemory},
    wording::{LetGo, Origin, Wording, WordingId},
};

/// Most memories that one merge unites (SPEC 3.12).
const MOST_MEMBERS: usize = 5;
/// Refusals of one memory in a session after which the answer says to leave it.
const REFUSALS_ENOUGH: u32 = 2;

/// What an edit lets go, and who takes over what a deleted memory stood for.
#[derive(Debug, Default)]
pub(super) struct EditMeasure {
    pub(super) lost: Vec<LostSentence>,
    /// The memory that says all that the deleted one stood for.
    pub(super) carrier: Option<Memory>,
    /// Whether a memory is deleted that nothing carries.
    pub(super) is_deleted: bool,
}

/// What is let go of one sentence.
#[derive(Debug)]
pub(super) struct LostSentence {
    pub(super) id: WordingId,
    origin: Origin,
    count: u64,
    pub(super) lost_words: LostWords,
}

impl EditMeasure {
    /// Words let go, in all.
    pub(super) fn words(&self) -> u64 {
        self.lost.iter().map(|lost| lost.count).sum()
    }

    /// For the record and for whoever is told.
    pub(super) fn lost_words(&self) -> Vec<LostWords> {
        self.lost
            .iter()
            .map(|lost| lost.lost_words.clone())
            .collect()
    }

    /// Marks what is let go on the wordings. `seq` is the place of the record of the edit.
    pub(super) fn mark(
        &self,
        wordings: &mut [Wording],
        session: &Session,
        seq: u64,
        at: Timestamp,
    ) {
        for wording in wordings {
            let lost = self.lost.iter().filter(|lost| lost.id == wording.id());
            let lost: Vec<&LostSentence> = lost.collect();
            if lost.is_empty() && !self.is_deleted {
                continue;
            }
            let words = lost
                .iter()
                .flat_map(|lost| lost.lost_words.words.iter().cloned());
            wording.let_go.push(LetGo {
                session: session.id,
                seq,
                at,
                words: lost.iter().map(|lost| lost.count).sum(),
                sentences: lost.len() as u64,
                lost: if self.is_deleted {
                    Vec::new()
                } else {
                    words.collect()
                },
                deleted: self.is_deleted,
            });
        }
    }
}

/// A member with the texts that it stands for, read.
struct MeasuredMemory<'a> {
    memory: &'a Memory,
    present: Reading,
    ids: Vec<WordingId>,
    origins: Vec<Origin>,
    wordings: Vec<Reading>,
}

impl<'a> MeasuredMemory<'a> {
    fn read(view: View<'a>, memory: &'a Memory) -> Self {
        // The use case gives every text that `wording::places` names, or fails, so that the
        // fallback is never taken.
        let text = |id: &WordingId| view.texts.get(id).unwrap_or(&memory.content).expose();
        let present = Reading::of(memory.content.expose());
        // What was never edited still says its wording, which is then read already.
        let read = |text: &str, language| match present.language() == language {
            true if memory.content.expose() == text => present.clone(),
            _ => Reading::in_language(text, language),
        };
        let mut wordings: Vec<Reading> = memory
            .wordings
            .iter()
            .map(|wording| read(text(&wording.id()), wording.language))
            .collect();
        let mut ids: Vec<WordingId> = memory.wordings.iter().map(Wording::id).collect();
        let mut origins: Vec<Origin> = memory.wordings.iter().map(|one| one.origin).collect();
        // What is constitutional is measured against its text when it was protected, too (SPEC 3.10).
        if let Some(seq) = memory.protected_seq {
            let id = WordingId {
                seq,
                number: memory.number,
            };
            wordings.push(Reading::of(text(&id)));
            ids.push(id);
            origins.push(memory.origin());
        }
        Self {
            memory,
            present,
            ids,
            origins,
            wordings,
        }
    }

    /// A sentence of a wording, as its author wrote it.
    fn sentence(&self, wording: usize, sentence: usize) -> PrivateText {
        let wording = self.wordings.get(wording).unwrap_or(&self.present);
        wording.sentence(sentence).into()
    }

    /// What a loss takes away, for the record and for whoever is told.
    fn lost_words(&self, loss: &Loss) -> LostWords {
        // Of a memory that stands for nothing, what its own text would lose is of no wording.
        let id = self.ids.get(loss.wording).copied().unwrap_or(WordingId {
            seq: 0,
            number: self.memory.number,
        });
        LostWords {
            number: id.number,
            seq: id.seq,
            sentence: self.sentence(loss.wording, loss.sentence),
            words: private(&loss.lost),
        }
    }

    fn refs(&self) -> Vec<&Reading> {
        self.wordings.iter().collect()
    }
}

/// Measures an edit that passed all checks before `words_added`; `None` where that takes a look at all
/// memories first.
pub(super) fn measure(
    view: View<'_>,
    session: &Session,
    call: &KnifeCall,
    members: &[&Memory],
    now: Timestamp,
) -> Result<Option<EditMeasure>, Refusal> {
    let guard = guard_of(view, session);
    let members: Vec<MeasuredMemory<'_>> = members
        .iter()
        .map(|one| MeasuredMemory::read(view, one))
        .collect();
    let case = Case {
        view,
        session,
        call,
        guard,
        members: &members,
        now,
    };
    match call {
        KnifeCall::Consolidate { content, .. } | KnifeCall::Update { content, .. } => {
            case.writing(content)
        }
        _ => case.deleting(),
    }
}

/// Whether the new text of a constitutional memory is at most tightened: nothing but free words goes, and
/// nothing comes, whatever the guard (SPEC 3.10).
pub(super) fn check_tightening(
    view: View<'_>,
    memory: &Memory,
    content: &PrivateText,
) -> Result<(), Refusal> {
    let member = MeasuredMemory::read(view, memory);
    let replaced = [Replaced {
        present: &member.present,
        wordings: &member.refs(),
    }];
    let written = Reading::of(content.expose());
    let judged = judge(&replaced, &written);
    let padding = padding(&replaced, &written);
    if judged.is_free() && padding.is_empty() {
        return Ok(());
    }
    Err(Refusal::NotTightened {
        number: memory.number,
        lost: private(judged.losses.iter().flat_map(|loss| &loss.lost)),
        added: private(judged.added.iter().chain(&padding)),
    })
}

/// The stricter of the guard that the session began with and the agent's current one.
fn guard_of(view: View<'_>, session: &Session) -> LossGuard {
    let current = view.agent.settings.effective_loss_guard();
    session
        .loss_guard
        .map_or(current, |fixed| fixed.max(current))
}

struct Case<'a> {
    view: View<'a>,
    session: &'a Session,
    call: &'a KnifeCall,
    guard: LossGuard,
    members: &'a [MeasuredMemory<'a>],
    now: Timestamp,
}

impl Case<'_> {
    fn writing(&self, content: &PrivateText) -> Result<Option<EditMeasure>, Refusal> {
        let written = Reading::of(content.expose());
        let refs: Vec<Vec<&Reading>> = self.members.iter().map(MeasuredMemory::refs).collect();
        let replaced: Vec<Replaced<'_>> = self
            .members
            .iter()
            .zip(&refs)
            .map(|(member, wordings)| Replaced {
                present: &member.present,
                wordings,
            })
            .collect();
        let judged = judge(&replaced, &written);
        // In the order of SPEC 3.8, which is told to models: the first check that fails is the one
        // that a model is sent to mend.
        if self.guard != LossGuard::Off {
            self.check_merge()?;
            // Only made for an answer that refuses: finding a text that passes takes longer than judging one.
            let passes = || passing(&replaced, &written).map(PrivateText::new);
            self.check_added(&judged, passes)?;
            self.check_gutted(&judged, &written, passes)?;
        }
        let lost = self.lost(&judged.losses);
        // A change of marks alone costs nothing, but is asked about (SPEC 3.12).
        if self.guard == LossGuard::Off || lost.is_empty() && judged.marks.is_empty() {
            return Ok(Some(EditMeasure {
                lost,
                ..EditMeasure::default()
            }));
        }
        // The limits before the question: what may not go at all is not asked about.
        if !self.check_limits(&lost)? {
            return Ok(None);
        }
        let would_say = judged.losses.iter().filter_map(|loss| loss.nearest);
        let would_say = would_say.chain(judged.marks.iter().map(|mark| mark.would_say));
        let second = || LossAdvice {
            would_say: sentences(&written, would_say),
            passes: passing(&replaced, &written).map(PrivateText::new),
            marks: judged
                .marks
                .iter()
                .map(|mark| self.members[mark.replaced].sentence(mark.wording, mark.sentence))
                .collect(),
            nearest: None,
        };
        self.check_confirmed(&lost, second)?;
        Ok(Some(EditMeasure {
            lost,
            ..EditMeasure::default()
        }))
    }

    fn deleting(&self) -> Result<Option<EditMeasure>, Refusal> {
        // Every delete looks at all other memories, since any of them may say what it says.
        let (Some(survey), [member]) = (self.view.survey, self.members) else {
            return Ok(None);
        };
        let refs = member.refs();
        let sought = SoughtMemory {
            memory: member.memory,
            wordings: &refs,
            present: &member.present,
            immutable_tags: &immutable_tags(self.view.agent, self.session),
        };
        // Where another memory says all of this one, the delete is a merge, which loses nothing and is not asked about
        // (SPEC 3.12).
        if let Some(carrier) = survey.carrier(&sought) {
            return Ok(Some(EditMeasure {
                carrier: Some(carrier.clone()),
                ..EditMeasure::default()
            }));
        }
        let replaced = [Replaced {
            present: &member.present,
            wordings: &refs,
        }];
        // A delete is an update to nothing, measured by the same function.
        let judged = judge(&replaced, &Reading::of(""));
        let lost = self.lost(&judged.losses);
        // Only for an answer that refuses: which one says most takes longer to find than one that says all.
        let nearest = || {
            let nearest = survey.nearest(&sought);
            let near = nearest.map(|nearest| self.near(member, &nearest));
            Some(near.unwrap_or_default())
        };
        // In `dedup_only` this holds whatever the guard: only what another memory says may go (SPEC 3.12).
        if self.session.mode == Mode::DedupOnly && !lost.is_empty() {
            return Err(Refusal::NotDoubled {
                number: member.memory.number,
                nearest: nearest(),
            });
        }
        if self.guard != LossGuard::Off && !lost.is_empty() {
            // The survey is there, so that the answer is never that one is needed.
            self.check_limits(&lost)?;
            let second = || LossAdvice {
                nearest: nearest(),
                ..LossAdvice::default()
            };
            self.check_confirmed(&lost, second)?;
        }
        Ok(Some(EditMeasure {
            lost,
            carrier: None,
            is_deleted: true,
        }))
    }

    fn lost(&self, losses: &[Loss]) -> Vec<LostSentence> {
        // The text that a memory was protected at is no wording, and what goes of it is none's loss: an
        // update that loses of it is refused before.
        let of_wording = |loss: &&Loss| {
            loss.wording < self.members[loss.replaced].memory.wordings.len() && loss.words > 0
        };
        losses
            .iter()
            .filter(of_wording)
            .map(|loss| {
                let member = &self.members[loss.replaced];
                LostSentence {
                    id: member.ids[loss.wording],
                    origin: member.origins[loss.wording],
                    count: u64::from(loss.words),
                    lost_words: member.lost_words(loss),
                }
            })
            .collect()
    }

    /// What can be merged with what (SPEC 3.12).
    fn check_merge(&self) -> Result<(), Refusal> {
        if self.members.len() < 2 {
            return Ok(());
        }
        if self.members.len() > MOST_MEMBERS {
            return Err(Refusal::InvalidArgument(format!(
                "ids names {} memories, and a merge unites at most {MOST_MEMBERS}",
                self.members.len()
            )));
        }
        let all: Vec<Joining<'_>> = self
            .members
            .iter()
            .map(|member| Joining {
                memory: member.memory,
                is_relative: member.present.has_relative_time(),
            })
            .collect();
        let model = self.session.model.as_deref();
        let is_by_code = model.is_some_and(crate::session::is_builtin);
        match apart(&all, is_by_code) {
            Some(Apart { numbers, why }) => Err(Refusal::NotMerged { numbers, why }),
            None => Ok(()),
        }
    }

    fn check_added(
        &self,
        judged: &Judgement,
        passes: impl Fn() -> Option<PrivateText>,
    ) -> Result<(), Refusal> {
        if judged.added.is_empty() && judged.surplus.is_none() {
            return Ok(());
        }
        Err(Refusal::WordsAdded {
            added: private(&judged.added),
            surplus: judged.surplus,
            passes: passes(),
            leave: self.leave(),
        })
    }

    fn check_gutted(
        &self,
        judged: &Judgement,
        written: &Reading,
        passes: impl Fn() -> Option<PrivateText>,
    ) -> Result<(), Refusal> {
        let gutted: Vec<&Loss> = judged.losses.iter().filter(|loss| loss.gutted).collect();
        if gutted.is_empty() {
            return Ok(());
        }
        let lost = gutted
            .iter()
            .map(|loss| self.members[loss.replaced].lost_words(loss));
        Err(Refusal::WordingGutted {
            lost: lost.collect(),
            would_say: sentences(written, gutted.iter().filter_map(|loss| loss.nearest)),
            passes: passes(),
            leave: self.leave(),
        })
    }

    /// Whether the limits allow it; `false` where that takes a look at all memories first.
    fn check_limits(&self, lost: &[LostSentence]) -> Result<bool, Refusal> {
        let all_lost = || lost.iter().map(|lost| lost.lost_words.clone()).collect();
        // Where nothing may be lost, it does not matter how much was lost before, so no look at all memories is needed.
        if self.guard == LossGuard::Refuse && !lost.is_empty() {
            return Err(Refusal::LossLimit {
                lost: all_lost(),
                allowance: WordAllowance::NONE,
                leave: self.leave(),
            });
        }
        // Per wording, as the limits are: an edit that takes a little of many sentences of one wording is
        // one loss of it.
        let mut losing: BTreeMap<WordingId, Losing> = BTreeMap::new();
        for one in lost {
            let sum = losing.entry(one.id).or_insert(Losing {
                id: one.id,
                origin: one.origin,
                words: 0,
                sentences: 0,
            });
            sum.words += one.count;
            sum.sentences += 1;
        }
        let losing: Vec<Losing> = losing.into_values().collect();
        if losing.is_empty() {
            return Ok(true);
        }
        let Some(survey) = self.view.survey else {
            return Ok(false);
        };
        let (limits, session) = (self.view.limits, self.session.id);
        match loss::check(survey.wordings(), &losing, session, limits, self.now) {
            Ok(()) => Ok(true),
            Err(allowance) => Err(Refusal::LossLimit {
                lost: all_lost(),
                allowance,
                leave: self.leave(),
            }),
        }
    }

    /// Whether what would go was asked about before.
    fn check_confirmed(
        &self,
        lost: &[LostSentence],
        second: impl FnOnce() -> LossAdvice,
    ) -> Result<(), Refusal> {
        let code = self.confirmation(lost);
        // Forty bits, and each guess costs a call. The comparison need not take the same time for
        // all: who guesses is a model, which sees answers and no durations that fine.
        if self.view.is_confirmed || self.call.confirm() == Some(code.as_str()) {
            return Ok(());
        }
        Err(Refusal::WordsLost {
            lost: lost.iter().map(|lost| lost.lost_words.clone()).collect(),
            second: Box::new(second()),
            confirm: code,
            leave: self.leave(),
        })
    }

    /// The code that says yes to exactly this call, on exactly these texts. It cannot be made without the
    /// agent's key, and after the edit the texts are others.
    fn confirmation(&self, lost: &[LostSentence]) -> String {
        let content = match self.call {
            KnifeCall::Consolidate { content, .. } | KnifeCall::Update { content, .. } => {
                content.expose()
            }
            _ => "",
        };
        let members: Vec<(u64, &str)> = self
            .members
            .iter()
            .map(|member| (member.memory.number.0, member.memory.content.expose()))
            .collect();
        let lost: Vec<(u64, u64, u64)> = lost
            .iter()
            .map(|lost| (lost.id.seq, lost.id.number.0, lost.count))
            .collect();
        let session = self.session.id.to_string();
        // As JSON, so that no content can move the border between two parts. The present texts are
        // in it: after any edit of them, an earlier yes is of another call.
        let call = serde_json::json!([session, self.call.tool().as_str(), content, members, lost]);
        self.view.digester.confirmation(&call.to_string())
    }

    /// Whether to say that the memory is better left as it is.
    fn leave(&self) -> Option<Number> {
        let refused = |member: &&MeasuredMemory<'_>| {
            let number = member.memory.number;
            self.view
                .refusals
                .get(&number)
                // This refusal is not counted yet.
                .is_some_and(|times| *times + 1 >= REFUSALS_ENOUGH)
        };
        self.members
            .iter()
            .find(refused)
            .map(|member| member.memory.number)
    }

    fn near(
        &self,
        member: &MeasuredMemory<'_>,
        nearest: &Nearest,
    ) -> super::refusal::NearestMemory {
        let lost = nearest.unsaid.iter().flat_map(|loss| &loss.lost);
        let words: u64 = member.memory.wordings.iter().map(|one| one.words).sum();
        let missing = nearest.unsaid.iter().map(|loss| u64::from(loss.gone));
        let says_some = missing.sum::<u64>() < words;
        super::refusal::NearestMemory {
            number: Some(nearest.number),
            // Enough to see what it is about; the model has both texts in its ledger.
            lacks: private(lost.take(12)),
            says_some,
        }
    }
}

/// Words that are an agent's, which print as lengths from here on.
fn private<'a>(words: impl IntoIterator<Item = &'a String>) -> Vec<PrivateText> {
    let words = words.into_iter();
    words.map(|word| word.as_str().into()).collect()
}

/// Sentences of a text, each once, in their order.
fn sentences(text: &Reading, numbers: impl Iterator<Item = usize>) -> Vec<PrivateText> {
    let numbers: std::collections::BTreeSet<usize> = numbers.collect();
    numbers
        .into_iter()
        .map(|number| text.sentence(number).into())
        .collect()
}

//! A year of one agent's life (SPEC 2.5 to 2.7, 3, 4): conversations every day, reflection, weekly sessions, one
//! of them rolled back, a week that is shredded, and the process gone in the middle of each. The books balance
//! all along.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use memoir_app::{
    HandedMessage, Job, LifeSchedule, ShownMemory, ShredWish, sessions::RefineOptions,
};
use memoir_domain::{
    SessionId,
    agent::Field,
    audit::Actor,
    audit::ActorKind,
    ledger,
    memory::{Kind, Number},
    origin::Origin,
    session::State,
};
use memoir_model::{ModelMessage, ModelRequest};
use memoir_testkit::{InstallationFolder, ModelScript, Turn};
use serde_json::json;

use crate::installation::{TestAgent, complete, delete, input, new_folder, person};

const HOUR: Duration = Duration::from_secs(3_600);
/// Messages a day.
const MESSAGES: u64 = 3;

const FIRST: [&str; 8] = [
    "Marta prefers linen thread for the spine of every book that leaves the house.",
    "The workshop opens at nine, and Joaquín is always there first, before the baker.",
    "I promised Marta to keep the ledger of orders in order, whatever else happens.",
    "The cat sleeps on the paper that was delivered in the morning by the back gate.",
    "The old press came from Lisbon and needs oil every month, and asking_waits daily.",
    "Lena brings the paper on Fridays, and stays for coffee when it rains outside.",
    "The spring fair is in the second week of May, near the river and the old mill.",
    "Ruth asked for a blue cover with silver letters on the spine of her own book.",
];

/// Words such as `d017m2q`, of which every message holds one.
fn canaries(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    words
        .filter(|word| word.len() == 7 && word.starts_with('d') && word.ends_with('q'))
        .map(str::to_owned)
        .collect()
}

fn question(request: &ModelRequest) -> &str {
    let ModelMessage::User(question) = &request.messages[0] else {
        panic!("the first message is the question");
    };
    question.expose()
}

type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

/// The conversation in a question; before it stands what the agent remembers already.
fn said(request: &ModelRequest) -> &str {
    let asked = question(request);
    asked
        .split_once("## The conversation")
        .map_or(asked, |(_, said)| said)
}

fn count(counts: &Counts, request: &ModelRequest) {
    for canary in canaries(said(request)) {
        *counts.lock().unwrap().entry(canary).or_default() += 1;
    }
}

struct Year {
    folder: InstallationFolder,
    wren: TestAgent,
    schedule: LifeSchedule,
    day: u64,
    /// What was handed over.
    handed: BTreeSet<String>,
    /// How often a message was in a question.
    shown: Counts,
    /// How often it was in one whose answer did not come, or could not be used.
    in_vain: Counts,
    /// What notes were saved of.
    noted: BTreeSet<String>,
    /// The last memory whose words were looked at.
    looked_at: u64,
    /// Memories that sessions moved to the archive.
    archived: u32,
    restarts: u32,
}

impl Year {
    async fn begin() -> Self {
        let folder = new_folder();
        let wren = TestAgent::of(&folder.open()).await;
        let guard = [(Field::LossGuard, Some("archive"))];
        wren.agent.configure(&guard, &person()).await.unwrap();
        for text in FIRST {
            folder.pass_a_minute();
            wren.agent.save(&[input(text)], &person()).await.unwrap();
        }
        Self {
            folder,
            wren,
            schedule: LifeSchedule::default(),
            day: 0,
            handed: BTreeSet::new(),
            shown: Counts::default(),
            in_vain: Counts::default(),
            noted: BTreeSet::new(),
            // Before them is the entry that reports the guard.
            looked_at: FIRST.len() as u64 + 1,
            archived: 0,
            restarts: 0,
        }
    }

    /// The process is gone, and another one opens what is on the disk.
    async fn restart(self) -> Self {
        let Self {
            folder,
            wren,
            restarts,
            day,
            handed,
            shown,
            in_vain,
            noted,
            looked_at,
            archived,
            ..
        } = self;
        drop(wren);
        let wren = TestAgent::of(&folder.open()).await;
        let mut year = Self {
            wren,
            folder,
            schedule: LifeSchedule::default(),
            day,
            handed,
            shown,
            in_vain,
            noted,
            looked_at,
            archived,
            restarts: restarts + 1,
        };
        year.verify().await;
        year.balance().await;
        year
    }

    /// Begins something, and ends it from outside once the model has been asked so often.
    async fn broken_off<T>(
        &self,
        script: &ModelScript,
        asked: usize,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let was_asked = async {
            while script.requests().len() < asked {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            done = work => Some(done),
            () = was_asked => None,
        }
    }

    async fn memories(&self) -> Vec<ShownMemory> {
        self.wren.seen().memories(true).await.unwrap()
    }

    /// What can be counted is what is there, and what is there is all that ever was saved.
    async fn balance(&mut self) {
        let memories = self.memories().await;
        let of =
            |is: &dyn Fn(&ShownMemory) -> bool| memories.iter().filter(|each| is(each)).count();
        let shredded = of(&|each| each.shredded_at.is_some());
        let kept = of(&|each| each.shredded_at.is_none() && each.discarded_at.is_none());
        let discarded = of(&|each| each.shredded_at.is_none() && each.discarded_at.is_some());
        let saved = memories.iter().map(|each| each.number.0).max().unwrap();
        assert_eq!(
            (kept + discarded + shredded) as u64,
            saved,
            "day {}",
            self.day
        );
        let is_core = |each: &&ShownMemory| each.kind == Kind::Core && each.discarded_at.is_none();
        let mass: u64 = memories
            .iter()
            .filter(is_core)
            .map(|each| each.tokens)
            .sum();
        let shown = self.wren.agent.show().await.unwrap();
        assert_eq!(shown.counts.core_tokens, mass, "day {}", self.day);
        for memory in &memories {
            if memory.number.0 <= self.looked_at || memory.origin != Origin::Conversation {
                continue;
            }
            for canary in canaries(memory.content()) {
                let is_new = self.noted.insert(canary.clone());
                assert!(is_new, "day {}: {canary} was absorbed twice", self.day);
            }
        }
        self.looked_at = saved;
    }

    async fn verify(&self) {
        let found = self.wren.agent.verify().await.unwrap();
        assert!(found.valid, "day {}: {:?}", self.day, found.first_bad);
        self.wren.check().await;
    }

    fn conversation(&self) -> Vec<HandedMessage> {
        let day = self.day;
        (0..MESSAGES)
            .map(|place| HandedMessage {
                id: format!("{day}/{place}").into(),
                at: Some(self.folder.now()),
                speaker: "Ann".into(),
                text: format!("About d{day:03}m{place}q there is this to say.").into(),
            })
            .collect()
    }

    async fn talk(&mut self) {
        let conversation = self.conversation();
        let texts = conversation.iter();
        let said: Vec<String> = texts
            .flat_map(|each| canaries(each.text.expose()))
            .collect();
        let agent = &self.wren.agent;
        let handed = agent
            .hand_over(conversation.clone(), false, ActorKind::Agent)
            .await
            .unwrap();
        assert_eq!(handed.received + handed.known, MESSAGES);
        self.handed.extend(said);
        if self.day % 30 == 7 {
            let again = agent
                .hand_over(conversation, true, ActorKind::Agent)
                .await
                .unwrap();
            assert_eq!(again.received, 0);
        }
    }

    /// A model that notes every message, now and then as a core memory.
    fn noting(&self) -> Turn {
        let (shown, is_core) = (self.shown.clone(), self.day.is_multiple_of(10));
        Turn::respond(move |request| {
            count(&shown, request);
            let canaries = canaries(said(request));
            let notes: Vec<String> = canaries
                .iter()
                .map(|canary| format!("Ann told me about {canary}, and I was glad to hear it."))
                .collect();
            let (core, journal) = notes.split_at(usize::from(is_core));
            Turn::text(&json!({"journal": journal, "core": core}).to_string())
        })
    }

    /// A model that promotes the oldest entry of the week now and then, and mostly none.
    fn promoting(&self) -> Turn {
        if !self.day.is_multiple_of(5) {
            return Turn::text(r#"{"promote": []}"#);
        }
        Turn::respond(|request| {
            let (_, journal) = question(request)
                .split_once("## Your journal of the last week")
                .unwrap();
            let oldest = ledger::parse_rows(journal)[0].number;
            Turn::text(&json!({"promote": [oldest]}).to_string())
        })
    }

    /// What is due now; the model notes, or promotes.
    async fn live(&mut self) -> usize {
        let due = self.schedule.due(&self.wren.memoir, 4).await.unwrap();
        for job in &due {
            self.wren.script([match job {
                Job::Absorb(_) => self.noting(),
                Job::Reflect(_) => self.promoting(),
            }]);
            let done = self.wren.memoir.do_job(*job, pending()).await.unwrap();
            assert!(done, "day {}", self.day);
        }
        due.len()
    }

    /// A job that is due, broken off while the model thinks.
    async fn live_broken_off(&mut self, wanted: fn(&Job) -> bool) {
        let due = self.schedule.due(&self.wren.memoir, 4).await.unwrap();
        let job = *due.iter().find(|job| wanted(job)).unwrap();
        let script = self.wren.script([Turn::Never]);
        let work = self.wren.memoir.do_job(job, pending());
        assert!(self.broken_off(&script, 1, work).await.is_none());
        let asked = &script.requests()[0];
        if matches!(job, Job::Absorb(_)) {
            count(&self.shown, asked);
            count(&self.in_vain, asked);
        }
    }

    /// An answer that cannot be used, and neither can the second one.
    async fn nonsense(&mut self) {
        let due = self.schedule.due(&self.wren.memoir, 4).await.unwrap();
        let nonsense = || Turn::text("What a lovely talk that was.");
        let script = self.wren.script([nonsense(), nonsense()]);
        assert!(!self.wren.memoir.do_job(due[0], pending()).await.unwrap());
        for request in script.requests() {
            count(&self.shown, &request);
            count(&self.in_vain, &request);
        }
    }

    /// A model that archives the newest of the memories that it noted and that may leave; none where all of them stay.
    fn archiving() -> Turn {
        Turn::respond(|request| {
            let rows = ledger::parse_rows(question(request));
            let is_noted =
                |row: &&ledger::ParsedRow| !row.stays && !canaries(row.content.expose()).is_empty();
            match rows.iter().rfind(is_noted) {
                Some(row) => delete(row.number.0),
                None => complete(),
            }
        })
    }

    /// The weekly session where it is due.
    async fn refine(&mut self) -> Option<(SessionId, u32)> {
        let account = self.wren.memoir.account("default").await.unwrap();
        let (agent, trigger) = account.due_agents().await.unwrap().into_iter().next()?;
        self.wren
            .script([Turn::text("YES"), Self::archiving(), complete()]);
        let options = RefineOptions {
            trigger: Some(trigger),
            ..RefineOptions::default()
        };
        let driven = agent
            .seen_by(memoir_app::Viewer::Agent)
            .refine(&options, &mut |_| {})
            .await
            .unwrap();
        assert_eq!(driven.state, State::Completed);
        // How much of every age stays bounds how many weeks have one (SPEC 3.14).
        let (archived, edits) = (driven.archived, driven.edits);
        assert!(archived == edits && edits <= 1, "day {}", self.day);
        self.archived += edits;
        Some((driven.id, edits))
    }

    /// A session that is broken off after its first edit.
    async fn refine_broken_off(&mut self) {
        // In form only: that is an edit, whatever may leave.
        let (number, text) = (FIRST.len() as u64 + 1, FIRST[FIRST.len() - 1]);
        let form = json!({"id": number, "content": text.trim_end_matches('.')});
        let edit = Turn::call("update_memory", form);
        let script = self.wren.script([Turn::text("YES"), edit, Turn::Never]);
        let options = RefineOptions::default();
        let mut observer = |_: &memoir_app::sessions::Progress| {};
        let lens = self.wren.seen();
        let work = lens.refine(&options, &mut observer);
        assert!(self.broken_off(&script, 3, work).await.is_none());
    }

    /// The entries of the last week lose their words, and the process dies beside one of them.
    async fn shred_week(mut self) -> Self {
        let now = self.folder.now();
        let of_week = |each: &ShownMemory| {
            each.kind == Kind::Journal
                && each.created_at > now.plus_days(-7)
                && each.shredded_at.is_none()
        };
        let memories = self.memories().await;
        let week: Vec<Number> = memories
            .iter()
            .filter(|each| of_week(each))
            .map(|each| each.number)
            .collect();
        assert!(week.len() as u64 >= MESSAGES, "there is a week to shred");
        let actor = Actor::agent("wren");
        for (place, number) in week.into_iter().enumerate() {
            if place == 2 {
                let agent = self.wren.agent.clone();
                let actor = actor.clone();
                let work = async move {
                    let shredded = agent
                        .shred(ShredWish::of(number, "I was asked to"), &actor)
                        .await;
                    drop(shredded);
                };
                let work = tokio::spawn(work);
                tokio::task::yield_now().await;
                work.abort();
                let _ = work.await;
                self = self.restart().await;
            }
            let memory = self.wren.agent.memory(number).await.unwrap();
            if memory.shredded_at.is_none() {
                let shredded = self
                    .wren
                    .agent
                    .shred(ShredWish::of(number, "I was asked to"), &actor);
                shredded.await.unwrap();
            }
        }
        self
    }

    /// A rollback that is begun, and done by the next process where the first one came too short.
    async fn roll_back(mut self, session: SessionId) -> Self {
        let before = self.wren.agent.show().await.unwrap().counts.core_count;
        let agent = self.wren.agent.clone();
        let work = tokio::spawn(async move {
            let undone = agent.roll_back(session, true, &person()).await;
            drop(undone);
        });
        tokio::task::yield_now().await;
        work.abort();
        let _ = work.await;
        self = self.restart().await;
        let agent = &self.wren.agent;
        let found = agent.session(session).await.unwrap();
        if found.undone_at.is_none() {
            agent.roll_back(session, true, &person()).await.unwrap();
        }
        assert_eq!(agent.show().await.unwrap().counts.core_count, before + 1);
        self
    }
}

#[tokio::test]
async fn spec_2_6_a_year_of_one_agent_balances_at_every_step() {
    let mut year = Year::begin().await;
    let mut sessions = Vec::new();
    let mut reflections = 0;
    let mut is_rolled_back = false;
    for day in 0..365 {
        year.day = day;
        // Noon: people talk.
        if day == 45 {
            let conversation = year.conversation();
            let agent = year.wren.agent.clone();
            let work = tokio::spawn(async move {
                drop(agent.hand_over(conversation, false, ActorKind::Agent).await);
            });
            tokio::task::yield_now().await;
            work.abort();
            let _ = work.await;
            year = year.restart().await;
        }
        year.talk().await;
        // Seven in the evening: nobody has said anything for seven hours.
        year.folder.clock.advance(7 * HOUR);
        match day {
            20 => {
                year.live_broken_off(|job| matches!(job, Job::Absorb(_)))
                    .await;
                year = year.restart().await;
                assert_eq!(year.live().await, 0, "somebody may still be reading");
                year.folder.clock.advance(HOUR);
            }
            70 => {
                year.nonsense().await;
                year.folder.clock.advance(HOUR);
                year.schedule = LifeSchedule::default();
            }
            _ => {}
        }
        assert_eq!(year.live().await, 1, "day {day}: what was said is read");
        // Half past three at night: the journal.
        let evening = year.folder.now();
        let night = evening.plus_seconds(9 * 3_600);
        let early = (night.seconds_since(evening) as u64).saturating_sub(1_800);
        year.folder.clock.advance(Duration::from_secs(early));
        if day == 120 {
            year.live_broken_off(|job| matches!(job, Job::Reflect(_)))
                .await;
            year = year.restart().await;
            assert_eq!(year.live().await, 0, "it is tried again on the next day");
        } else {
            reflections += year.live().await;
        }
        // Six in the morning: the week.
        year.folder
            .clock
            .advance(Duration::from_secs(2 * 3_600 + 1_800));
        if day == 205 {
            year.refine_broken_off().await;
            year = year.restart().await;
            year.folder.clock.advance(Duration::from_secs(60));
            assert_eq!(year.wren.memoir.close_lapsed_sessions().await.unwrap(), 1);
        }
        if let Some((session, edits)) = year.refine().await {
            sessions.push(session);
            year.verify().await;
            if sessions.len() >= 25 && edits > 0 && !is_rolled_back {
                year = year.roll_back(session).await;
                is_rolled_back = true;
            }
            if sessions.len() == 40 {
                year = year.shred_week().await;
            }
        }
        year.balance().await;
        // Noon again.
        let noon = year.folder.now().to_string();
        let hour: u64 = noon[11..13].parse().unwrap();
        let minute: u64 = noon[14..16].parse().unwrap();
        let passed = hour * 3_600 + minute * 60;
        year.folder
            .clock
            .advance(Duration::from_secs(12 * 3_600 - passed));
    }
    year.balance().await;
    year.verify().await;
    let found = year.wren.agent.verify().await.unwrap();
    let originals = found.originals.unwrap();
    // One of them was rolled back.
    assert_eq!(
        originals.archived + 1,
        u64::from(year.archived),
        "{originals}"
    );
    assert!(
        originals.archived > 10 && originals.lost == 0,
        "{originals}"
    );
    assert_eq!(year.restarts, 6);
    assert!((51..=53).contains(&sessions.len()), "{}", sessions.len());
    assert!(reflections > 350, "{reflections}");
    // None was lost, and none was read twice.
    assert_eq!(year.handed.len() as u64, 365 * MESSAGES);
    assert_eq!(year.noted, year.handed);
    let shown = year.shown.lock().unwrap().clone();
    let in_vain = year.in_vain.lock().unwrap().clone();
    for canary in &year.handed {
        let in_vain = in_vain.get(canary).copied().unwrap_or(0);
        assert_eq!(shown[canary] - in_vain, 1, "{canary}");
    }
    let transcript = year.wren.agent.transcript().await.unwrap();
    assert_eq!(
        (transcript.pending, transcript.failed, transcript.absorbed),
        (0, 0, 365 * MESSAGES)
    );
}

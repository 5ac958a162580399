//! Back to any moment, and forward again (SPEC 4.3), through the use cases and on a real store.

use std::{collections::BTreeSet, time::Duration};

use memoir_app::{
    Error, Handling, MemoryCounts, MemoryInput, Point, ShownMemory, ShredWish,
    sessions::RefineOptions,
};
use memoir_domain::{
    SessionId, Timestamp,
    agent::Field,
    manage::ChangeRefusal,
    memory::{Kind, Number},
    session::{Mode, State},
};
use memoir_testkit::{Dice, Turn, input};
use serde_json::{Value, json};

use crate::{
    installation::{TestAgent, complete, delete, handle_by, new_folder, person, save_by, shred_by},
    story,
};

/// A moment to return to, and the kept memories then.
struct Moment {
    at: Timestamp,
    kept: Vec<Value>,
    tally: MemoryCounts,
}

/// The kept memories, oldest first, but those of `without`.
async fn kept(wren: &TestAgent, without: &[u64]) -> Vec<Value> {
    let memories = wren.seen().memories(false).await.unwrap();
    memories
        .into_iter()
        .filter(|memory| !without.contains(&memory.number.0))
        .map(|memory| serde_json::to_value(memory).unwrap())
        .collect()
}

fn others(moment: &Moment, without: &[u64]) -> Vec<Value> {
    let is_left = |memory: &&Value| !without.contains(&memory["number"].as_u64().unwrap());
    moment.kept.iter().filter(is_left).cloned().collect()
}

const WORDS: [&str; 8] = [
    "river", "paper", "quiet", "Marta", "4711", "spring", "not", "thread",
];

fn text(dice: &mut Dice) -> String {
    let length = 8 + dice.roll(8);
    let words: Vec<&str> = (0..length).map(|_| WORDS[dice.roll(8) as usize]).collect();
    words.join(" ")
}

/// The actions of a walk, so that none passes without any.
#[derive(Debug, Default)]
struct Done {
    rewinds: u32,
    completed: u32,
    tripped: u32,
    undone: u32,
    cascades: u32,
    restored: u32,
    shredded: u32,
    redone: u32,
    rehearsed: u32,
}

async fn session(wren: &TestAgent, dice: &mut Dice, done: &mut Done) {
    let kept: Vec<u64> = wren.kept().await;
    let mut turns = Vec::new();
    for _ in 0..=dice.roll(4) {
        let Some(&id) = dice.one_of(&kept) else { break };
        let other = *dice.one_of(&kept).unwrap_or(&id);
        turns.push(match dice.roll(6) {
            0 => delete(id),
            1 => Turn::call("protect_memory", json!({"id": id})),
            2 => Turn::call(
                "consolidate_memories",
                json!({"ids": [id, other], "content": text(dice)}),
            ),
            _ => Turn::call("update_memory", json!({"id": id, "content": text(dice)})),
        });
    }
    turns.push(complete());
    let options = RefineOptions {
        rehearsal: dice.roll(6) == 0,
        ..RefineOptions::default()
    };
    let (driven, _) = wren.refine_with(&options, turns).await;
    match driven.state {
        _ if options.rehearsal => done.rehearsed += 1,
        State::Completed => done.completed += 1,
        State::RolledBack => done.tripped += 1,
        other => panic!("{other:?}"),
    }
}

async fn undo(wren: &TestAgent, dice: &mut Dice, done: &mut Done) {
    let sessions = wren.seen().session_page(None, u32::MAX).await.unwrap();
    let ended: Vec<SessionId> = sessions
        .iter()
        .filter(|session| {
            session.state == State::Completed && !session.rehearsal && session.undone_at.is_none()
        })
        .map(|session| session.id)
        .collect();
    let Some(id) = dice.one_of(&ended) else {
        return;
    };
    match wren.try_roll_back(*id, false).await {
        Ok(_) => done.undone += 1,
        Err(Error::InTheWay { obstacles, .. }) => {
            assert!(!obstacles.is_empty());
            wren.roll_back(*id, true).await;
            done.cascades += 1;
        }
        Err(error) => panic!("{error}"),
    }
}

/// The sessions that are undone.
async fn undone(wren: &TestAgent) -> BTreeSet<SessionId> {
    let sessions = wren.seen().session_page(None, u32::MAX).await.unwrap();
    let undone = sessions
        .iter()
        .filter(|session| session.undone_at.is_some());
    undone.map(|session| session.id).collect()
}

/// Goes to a moment, checks the state, and returns to the previous one on request.
async fn rewind(wren: &TestAgent, moment: &Moment, shredded: &[u64], stay: bool, done: &mut Done) {
    let before = kept(wren, shredded).await;
    let just_before = wren.memoir.now();
    wren.clock.advance(Duration::from_secs(1));
    let preview = wren
        .agent
        .log()
        .preview_rewind(Point::Time(moment.at), &person())
        .await
        .unwrap();
    assert_eq!(
        kept(wren, shredded).await,
        before,
        "a preview changes nothing"
    );
    let point = Some(Point::Time(moment.at));
    let seen = wren.agent.log().look_back(point).await.unwrap();
    // A memory shredded since has no replacement, at any time.
    assert_eq!(
        MemoryCounts::from(seen.then),
        moment.tally,
        "what was counted then"
    );
    let undone = undone(wren).await;
    let rewound = wren.agent.log().rewind(moment.at, &person()).await.unwrap();
    assert_eq!(rewound.changes, preview.changes);
    assert_eq!(seen.foresight.changes, rewound.changes);
    assert_eq!(seen.foresight.is_nothing(), rewound.seq.is_none());
    assert_eq!(seen.seq, rewound.to_seq);
    let undone_now = self::undone(wren).await;
    let foreseen = [
        seen.foresight.sessions_undone,
        seen.foresight.sessions_reinstated,
    ];
    let happened = [
        undone_now.difference(&undone).count() as u64,
        undone.difference(&undone_now).count() as u64,
    ];
    assert_eq!(foreseen, happened, "sessions");
    assert_eq!(kept(wren, shredded).await, others(moment, shredded));
    done.rewinds += 1;
    if stay {
        return;
    }
    wren.clock.advance(Duration::from_secs(1));
    wren.agent
        .log()
        .rewind(just_before, &person())
        .await
        .unwrap();
    assert_eq!(kept(wren, shredded).await, before, "forward again");
    done.redone += 1;
}

/// A walk of `steps`, which at random moments records the kept memories, and returns there later.
async fn walk(seed: u64, steps: u32) -> Done {
    let (mut dice, mut done) = (Dice::new(seed), Done::default());
    let wren = TestAgent::new(&[]).await;
    let random = std::sync::Arc::new(memoir_app::clock::SystemRandom);
    let wren = TestAgent::of(&wren.installation.clone().with_random(random)).await;
    let threshold = if seed.is_multiple_of(2) {
        "0.85"
    } else {
        "0.6"
    };
    let threshold = [(Field::RefinementThreshold, Some(threshold))];
    wren.configure(&threshold).await;
    for _ in 0..6 {
        wren.remember(&text(&mut dice)).await;
    }
    let (mut moments, mut shredded): (Vec<Moment>, Vec<u64>) = (Vec::new(), Vec::new());
    for _ in 0..steps {
        wren.clock.advance(Duration::from_secs(60));
        match dice.roll(16) {
            0..3 => drop(wren.remember(&text(&mut dice)).await),
            3..8 => session(&wren, &mut dice, &mut done).await,
            8..11 => undo(&wren, &mut dice, &mut done).await,
            11 | 12 => {
                let all = wren.memories().await;
                let discarded: Vec<u64> = all
                    .iter()
                    .filter(|memory| !memory["discarded_at"].is_null())
                    .map(|memory| memory["number"].as_u64().unwrap())
                    .filter(|number| !shredded.contains(number))
                    .collect();
                if let Some(number) = dice.one_of(&discarded) {
                    wren.handle(Number(*number), Handling::Restore).await;
                    done.restored += 1;
                }
            }
            13 => {
                let kept = wren.kept().await;
                if let Some(&number) = dice.one_of(&kept).filter(|_| shredded.len() < 3) {
                    let wish = ShredWish::of(Number(number), "a slip");
                    shred_by(&wren.agent, wish, &person()).await;
                    shredded.push(number);
                    done.shredded += 1;
                }
            }
            _ => {
                let stay = dice.roll(2) == 0;
                if let Some(moment) = dice.one_of(&moments) {
                    rewind(&wren, moment, &shredded, stay, &mut done).await;
                }
            }
        }
        if dice.roll(3) == 0 {
            moments.push(Moment {
                at: wren.memoir.now(),
                kept: kept(&wren, &[]).await,
                tally: wren.agent.views().show().await.unwrap().counts,
            });
        }
        if dice.roll(3) == 0 {
            let verified = wren.agent.log().verify().await.unwrap();
            assert!(verified.valid, "seed {seed}: {verified:?}");
        }
    }
    for moment in moments.iter().rev().step_by(3) {
        wren.clock.advance(Duration::from_secs(60));
        rewind(&wren, moment, &shredded, false, &mut done).await;
    }
    let verified = wren.agent.log().verify().await.unwrap();
    assert!(verified.valid, "seed {seed}: {verified:?}");
    wren.check().await;
    done
}

#[tokio::test]
async fn spec_4_3_any_moment_of_any_story_can_be_returned_to() {
    let mut all = Done::default();
    for seed in 1..=6 {
        let done = walk(seed, 36).await;
        all.rewinds += done.rewinds;
        all.completed += done.completed;
        all.tripped += done.tripped;
        all.undone += done.undone;
        all.cascades += done.cascades;
        all.restored += done.restored;
        all.shredded += done.shredded;
        all.redone += done.redone;
        all.rehearsed += done.rehearsed;
    }
    let counts = [
        all.rewinds,
        all.completed,
        all.tripped,
        all.undone,
        all.cascades,
        all.restored,
        all.shredded,
        all.redone,
        all.rehearsed,
    ];
    assert!(counts.iter().all(|count| *count > 2), "{all:?}");
}

/// The actions of a walk through the archive.
#[derive(Debug, Default)]
struct ArchiveDone {
    done: Done,
    archived: u32,
    summaries: u32,
    promoted: u32,
    replaced: u32,
    /// Processes that ended amid a session.
    ended: u32,
}

/// A text of about 120 tokens.
fn long_text(dice: &mut Dice) -> String {
    let words: Vec<&str> = (0..80).map(|_| WORDS[dice.roll(8) as usize]).collect();
    words.join(" ")
}

/// A session under the guard `archive`, with edits of each kind.
async fn archiving_session(wren: &TestAgent, dice: &mut Dice, all: &mut ArchiveDone) {
    let memories = wren.seen().memories(false).await.unwrap();
    let core: Vec<_> = memories
        .iter()
        .filter(|memory| memory.kind == Kind::Core)
        .collect();
    let mut turns = Vec::new();
    for _ in 0..=dice.roll(5) {
        let (Some(one), Some(other)) = (dice.one_of(&core), dice.one_of(&core)) else {
            break;
        };
        let (id, text) = (one.number.0, one.content());
        let ids = [id, other.number.0];
        let words: Vec<&str> = text.split(' ').collect();
        let beginning = |count: usize| words[..count.min(words.len())].join(" ");
        turns.push(match dice.roll(6) {
            0 => Turn::call("delete_memory", json!({"ids": [id]})),
            1 if ids[0] != ids[1] => {
                let arguments = json!({"ids": [id], "replaced_by": ids[1]});
                Turn::call("delete_memory", arguments)
            }
            2 => Turn::call("consolidate_memories", json!({"ids": ids, "content": text})),
            3 => Turn::call(
                "consolidate_memories",
                json!({"ids": ids, "content": beginning(12)}),
            ),
            4 => Turn::call(
                "update_memory",
                json!({"id": id, "content": beginning(words.len() - 1)}),
            ),
            _ => Turn::call("protect_memory", json!({"id": id})),
        });
    }
    turns.push(complete());
    let options = RefineOptions {
        rehearsal: dice.roll(6) == 0,
        ..RefineOptions::default()
    };
    wren.script(std::iter::once(Turn::text("YES")).chain(turns));
    let driven = match wren.seen().refine(&options, &mut |_| {}).await {
        Ok(driven) => driven,
        // Everything may be constitutional by now.
        Err(error) if error.code() == "nothing_to_refine" => return,
        Err(error) => panic!("{error}"),
    };
    match driven.state {
        _ if options.rehearsal => all.done.rehearsed += 1,
        State::Completed => {
            all.done.completed += 1;
            all.archived += driven.archived;
            all.summaries += driven.summaries;
        }
        State::RolledBack => all.done.tripped += 1,
        other => panic!("{other:?}"),
    }
}

/// A process opens a session and ends without a word after some edits; the next one closes the session, whose edits
/// are undone or stay as a whole (SPEC 3.2, 3.16).
async fn a_process_ends(wren: TestAgent, dice: &mut Dice, all: &mut ArchiveDone) -> TestAgent {
    let core = |memory: &&ShownMemory| memory.kind == Kind::Core;
    if let Ok((session, _)) = wren.agent.open_own(Mode::Full).await {
        let memories = wren.seen().memories(false).await.unwrap();
        for memory in memories.iter().filter(core).take(dice.roll(6) as usize) {
            let ids = json!({"ids": [memory.number.0]});
            let call = wren
                .agent
                .call_tool(session.id, "delete_memory", Some(&ids));
            call.await.unwrap();
        }
        all.ended += 1;
    }
    let next = TestAgent::of(&wren.installation.another_process()).await;
    next.clock.advance(Duration::from_secs(3_600));
    next.memoir.close_lapsed_sessions().await.unwrap();
    let latest = next.agent.views().session_page(None, 1).await.unwrap();
    assert!(latest.iter().all(|session| !session.state.is_running()));
    next
}

/// A walk under the guard `archive`, over and within the budget, in which nothing is ever lost.
async fn archive_walk(seed: u64, steps: u32, all: &mut ArchiveDone) {
    let mut dice = Dice::new(seed);
    let wren = TestAgent::new(&[]).await;
    let random = std::sync::Arc::new(memoir_app::clock::SystemRandom);
    let mut wren = TestAgent::of(&wren.installation.clone().with_random(random)).await;
    let settings = [
        (Field::LossGuard, None),
        (Field::CoreTokenBudget, Some("1000")),
        (Field::RefinementThreshold, Some("0.7")),
    ];
    wren.configure(&settings).await;
    for _ in 0..9 {
        wren.remember(&long_text(&mut dice)).await;
    }
    let mut moments: Vec<Moment> = Vec::new();
    for _ in 0..steps {
        wren.clock.advance(Duration::from_secs(60));
        let memories = wren.seen().memories(true).await.unwrap();
        let numbers = |keep: &dyn Fn(&memoir_app::MemoryFacts) -> bool| -> Vec<Number> {
            let kept = memories.iter().filter(|memory| keep(&memory.facts));
            kept.map(|memory| memory.number).collect()
        };
        let handle = async |number: Number, handling| {
            let actor = person();
            handle_by(&wren.agent, number, handling, &actor).await
        };
        match dice.roll(18) {
            0..2 => drop(wren.remember(&long_text(&mut dice)).await),
            2..8 => archiving_session(&wren, &mut dice, all).await,
            8 | 9 => undo(&wren, &mut dice, &mut all.done).await,
            10 => {
                let discarded = numbers(&|one| {
                    one.discarded_at.is_some() && !one.is_summary && one.kind != Kind::Journal
                });
                if let Some(number) = dice.one_of(&discarded) {
                    handle(*number, Handling::Restore).await;
                    all.done.restored += 1;
                }
            }
            11 => {
                let archival =
                    numbers(&|one| one.kind == Kind::Archival && one.discarded_at.is_none());
                if let Some(number) = dice.one_of(&archival) {
                    handle(*number, Handling::Promote).await;
                    all.promoted += 1;
                }
            }
            12 => {
                let core = numbers(&|one| one.kind == Kind::Core && one.discarded_at.is_none());
                let replaces: Vec<Number> =
                    (0..2).filter_map(|_| dice.one_of(&core).copied()).collect();
                let newer = MemoryInput {
                    replaces,
                    ..input(&long_text(&mut dice))
                };
                let saved = wren.save(&[newer]).await;
                let replaced = saved[0].replaced.as_ref().map_or(0, Vec::len);
                all.replaced += replaced as u32;
            }
            13 | 14 => wren = a_process_ends(wren, &mut dice, all).await,
            _ => {
                let stay = dice.roll(2) == 0;
                if let Some(moment) = dice.one_of(&moments) {
                    rewind(&wren, moment, &[], stay, &mut all.done).await;
                }
            }
        }
        if dice.roll(3) == 0 {
            moments.push(Moment {
                at: wren.memoir.now(),
                kept: kept(&wren, &[]).await,
                tally: wren.agent.views().show().await.unwrap().counts,
            });
        }
        let verified = wren.agent.log().verify().await.unwrap();
        assert!(verified.valid, "seed {seed}: {verified:?}");
        let counted = verified.originals.unwrap();
        let shown = wren.agent.views().show().await.unwrap().counts.originals;
        assert_eq!((counted.lost, counted.removed_off), (0, 0), "seed {seed}");
        assert_eq!(
            (counted.total, counted.in_prompt, counted.archived),
            (shown.total, shown.in_prompt, shown.archived)
        );
    }
    for moment in moments.iter().rev().step_by(3) {
        wren.clock.advance(Duration::from_secs(60));
        rewind(&wren, moment, &[], false, &mut all.done).await;
    }
    let verified = wren.agent.log().verify().await.unwrap();
    assert!(verified.valid, "seed {seed}: {verified:?}");
    wren.check().await;
}

#[tokio::test]
async fn spec_3_12_nothing_is_lost_in_any_story_of_the_archive() {
    let mut all = ArchiveDone::default();
    for seed in 11..=15 {
        archive_walk(seed, 36, &mut all).await;
    }
    let done = &all.done;
    let counts = [
        done.rewinds,
        done.completed,
        done.undone,
        done.redone,
        done.rehearsed,
        all.archived,
        all.summaries,
        all.promoted,
        all.replaced,
        all.ended,
    ];
    assert!(counts.iter().all(|count| *count > 2), "{all:?}");
}

#[tokio::test]
async fn spec_4_3_whether_a_session_is_undone_follows_the_time() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let agent = &wren.agent;
    wren.save(&story::memories()).await;
    let undone = async |id: SessionId| agent.views().session(id).await.unwrap().undone_at;
    let start = folder.now();
    folder.pass_a_minute();
    let (driven, _) = wren.refine(story::edits()).await;
    let (id, end) = (driven.id, driven.ended_at);
    let done = folder.now();
    assert_eq!(undone(id).await, None);

    folder.pass_a_minute();
    let before_rewind = folder.now();
    folder.pass_a_minute();
    let at = folder.now();
    agent.log().rewind(start, &person()).await.unwrap();
    assert_eq!(undone(id).await, Some(at));
    let again = wren.try_roll_back(id, true).await.unwrap_err();
    assert!(matches!(again, Error::NotUndoable { .. }), "{again}");
    folder.pass_a_minute();
    agent.log().rewind(before_rewind, &person()).await.unwrap();
    assert_eq!(undone(id).await, None, "it is effective again");

    folder.pass_a_minute();
    let at = folder.now();
    wren.roll_back(id, false).await;
    assert_eq!(undone(id).await, Some(at));
    folder.pass_a_minute();
    agent.log().rewind(done, &person()).await.unwrap();
    assert_eq!(undone(id).await, None, "the undo was undone");
    let shown = agent.views().session(id).await.unwrap();
    assert_eq!(
        (shown.state, shown.ended_at),
        (State::Completed, end),
        "it keeps its end"
    );
    assert!(agent.log().verify().await.unwrap().valid);

    // To the current state: only the record of the administrator's act is written.
    folder.pass_a_minute();
    let count = wren.actions().await.len();
    let idle = agent.log().rewind(folder.now(), &person()).await.unwrap();
    assert_eq!((idle.seq, idle.changes.changed), (None, 0));
    assert_eq!(wren.actions().await.len(), count + 1);

    // To before the beginning: all is discarded, and can be restored.
    folder.pass_a_minute();
    let full = kept(&wren, &[]).await;
    let before = folder.now();
    folder.pass_a_minute();
    let long_ago: Timestamp = "1999-01-01T00:00:00Z".parse().unwrap();
    let emptied = agent.log().rewind(long_ago, &person()).await.unwrap();
    assert_eq!((emptied.to_seq, emptied.changes.core_tokens_after), (0, 0));
    assert_eq!(kept(&wren, &[]).await, [] as [Value; 0]);
    assert_eq!(
        agent.views().show().await.unwrap().name,
        "wren",
        "settings stay"
    );
    folder.pass_a_minute();
    agent.log().rewind(before, &person()).await.unwrap();
    assert_eq!(kept(&wren, &[]).await, full);
    assert!(agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

#[tokio::test]
async fn spec_4_3_only_what_was_shown_is_gone_back_to() {
    let wren = TestAgent::new(&["One thing.", "Another thing."]).await;
    let agent = &wren.agent;
    let newest = agent.log().look_back(None).await.unwrap();
    assert_eq!(newest.seq, newest.history.newest_seq);
    assert!(newest.foresight.is_nothing());
    wren.remember("A third thing.").await;
    let stale = agent
        .as_seen(newest.seq)
        .log()
        .rewind(Point::Record(2), &person())
        .await;
    assert!(matches!(stale, Err(Error::Changed)), "{stale:?}");
    assert_eq!(wren.kept().await, [1, 2, 3]);
    let first = newest.seq - 1;
    let point = Some(Point::Record(first));
    let seen = agent.log().look_back(point).await.unwrap();
    let rewound = agent
        .as_seen(seen.history.newest_seq)
        .log()
        .rewind(Point::Record(first), &person())
        .await
        .unwrap();
    assert_eq!(rewound.changes, seen.foresight.changes);
    assert_eq!((rewound.changes.discarded, wren.kept().await), (2, vec![1]));
    let back = rewound.seq.unwrap();
    let back = agent
        .as_seen(back)
        .log()
        .rewind(Point::Record(back - 1), &person())
        .await
        .unwrap();
    assert_eq!(
        (back.changes.returning, wren.kept().await),
        (2, vec![1, 2, 3])
    );
    wren.check().await;
}

/// Of a long log the curve has a bounded number of points, and no dip is lost.
#[tokio::test]
async fn spec_5_1_the_whole_log_is_told_in_a_few_points() {
    let wren = TestAgent::new(&["A first thing, which stays."]).await;
    let agent = &wren.agent;
    for number in 0..300 {
        let number = Number(wren.remember(&format!("Thing {number} of many.")).await);
        let handling = Handling::Discard;
        handle_by(agent, number, handling, &person()).await;
        handle_by(agent, number, Handling::Restore, &person()).await;
    }
    let (driven, _) = wren.refine([delete(2), complete()]).await;
    let seen = agent.log().look_back(None).await.unwrap();
    let history = &seen.history;
    assert!(history.newest_seq > 900, "{}", history.newest_seq);
    let points = &history.core_size;
    assert!((300..=memoir_app::CORE_SIZE_POINTS as usize).contains(&points.len()));
    let (first, last) = (points[0], points[points.len() - 1]);
    assert_eq!((first.seq, first.core_tokens), (0, 0));
    assert_eq!(
        (last.seq, last.core_tokens),
        (seen.seq, seen.now.core_tokens)
    );
    assert!(points.is_sorted_by(|before, after| before.seq < after.seq));
    let dips = points
        .iter()
        .filter(|point| point.lowest_core_tokens < point.core_tokens);
    assert!(dips.count() > 100, "each discarding is there");
    let span = &history.sessions[0];
    let newest = (span.session.id, span.last_seq);
    assert_eq!(newest, (driven.id, history.newest_seq));
    assert_eq!(span.first_seq, history.newest_seq - 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_4_3_there_is_no_way_back_while_a_session_runs() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("Marta prefers linen thread for every book.")
        .await;
    let before = folder.now();
    folder.pass_a_minute();
    let agent = wren.agent.clone();
    let (told, answer) = std::sync::mpsc::channel();
    let runtime = tokio::runtime::Handle::current();
    let during = Turn::respond(move |_| {
        let (agent, told, runtime) = (agent.clone(), told.clone(), runtime.clone());
        let thread = std::thread::spawn(move || {
            let refused = runtime.block_on(agent.log().rewind(before, &person()));
            told.send(refused.map(drop)).unwrap();
        });
        thread.join().unwrap();
        complete()
    });
    let (driven, _) = wren.refine([during]).await;
    assert_eq!(driven.state, State::Completed);
    let refused = answer.recv().unwrap().unwrap_err();
    let running = driven.id;
    assert!(
        matches!(&refused, Error::Change(ChangeRefusal::SessionRunning(id)) if *id == running),
        "{refused:?}"
    );
    assert_eq!(refused.code(), "session_open");
    assert!(wren.agent.log().rewind(before, &person()).await.is_ok());
}

/// A memory that a rewind returns to the prompt does not count as removed (SPEC 3.12), until the rewind is undone.
#[tokio::test]
async fn spec_3_12_what_was_removed_under_off_follows_the_time() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    let agent = &wren.agent;
    let lax = [
        (Field::RefinementThreshold, Some("0.2")),
        (Field::LossGuard, Some("off")),
    ];
    for number in 0..10 {
        let text = format!("A long and quiet memory number {number} of a day at the sea.");
        save_by(agent, &[input(&text)], &person()).await;
    }
    agent.settings().configure(&lax, &person()).await.unwrap();
    let start = folder.now();
    folder.pass_a_minute();
    let deletes = (1..=6).map(delete).chain([complete()]);
    let (first, _) = wren.refine(deletes).await;
    assert_eq!((first.state, first.edits), (State::Completed, 6));
    let originals = async || {
        let verified = agent.log().verify().await.unwrap();
        assert!(verified.valid, "{verified:?}");
        verified.originals.unwrap()
    };
    let counted = originals().await;
    assert_eq!(
        (counted.total, counted.in_prompt, counted.removed_off),
        (10, 4, 6)
    );
    assert_eq!((counted.archived, counted.lost), (0, 0));
    let after = folder.now();
    // Memories that a rewind discards again were removed by the rewind, and are not counted.
    for (to, in_prompt, removed_off) in [(start, 10, 0), (after, 4, 0)] {
        folder.pass_a_minute();
        agent.log().rewind(to, &person()).await.unwrap();
        let counted = originals().await;
        assert_eq!(
            (counted.in_prompt, counted.removed_off),
            (in_prompt, removed_off)
        );
    }
}

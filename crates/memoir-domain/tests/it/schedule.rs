//! SPEC 3.1: when an agent is due.

use jiff::{civil, tz::TimeZone};
use memoir_domain::{
    SessionId, Timestamp,
    agent::{self, Agent, Attempt, Field},
    audit::Actor,
    lifecycle::{self, SessionEnding, Start},
    schedule::{SkipReason, WeeklySlot, due, left_alone, next, prospect},
    session::{Driver, FailureClass, Mode, Session, Trigger},
};

use crate::world::{World, time};

fn slot(weekday: civil::Weekday, at: civil::Time, time_zone: &str) -> WeeklySlot {
    WeeklySlot {
        weekday,
        time: at,
        time_zone: TimeZone::get(time_zone).unwrap(),
    }
}

#[track_caller]
fn check_slot(found: Option<Timestamp>, expected: &str) {
    assert_eq!(found, Some(time(expected)));
}

#[test]
fn spec_3_1_the_default_slot_is_monday_at_four() {
    let slot = WeeklySlot::default();
    for (now, latest, next) in [
        (
            "2026-03-02T04:00:00Z",
            "2026-03-02T04:00:00Z",
            "2026-03-09T04:00:00Z",
        ),
        (
            "2026-03-02T03:59:59Z",
            "2026-02-23T04:00:00Z",
            "2026-03-02T04:00:00Z",
        ),
        (
            "2026-03-08T23:59:59Z",
            "2026-03-02T04:00:00Z",
            "2026-03-09T04:00:00Z",
        ),
    ] {
        assert_eq!(slot.latest(time(now)), Some(time(latest)), "{now}");
        assert_eq!(slot.next(time(now)), Some(time(next)), "{now}");
    }
}

#[test]
fn spec_3_1_the_slot_keeps_its_local_time_where_clocks_change() {
    use civil::Weekday::{Monday, Sunday};
    let berlin = slot(Monday, civil::time(4, 0, 0, 0), "Europe/Berlin");
    // Winter and summer time.
    check_slot(berlin.latest(time("2026-03-24")), "2026-03-23T03:00:00Z");
    check_slot(berlin.latest(time("2026-03-31")), "2026-03-30T02:00:00Z");
    let night = slot(Sunday, civil::time(2, 30, 0, 0), "Europe/Berlin");
    // On 29 March there is no 02:30; on 25 October there are two.
    check_slot(night.latest(time("2026-03-30")), "2026-03-29T01:30:00Z");
    check_slot(night.next(time("2026-03-28")), "2026-03-29T01:30:00Z");
    check_slot(
        night.latest(time("2026-10-25T00:29:59Z")),
        "2026-10-18T00:30:00Z",
    );
    for now in [
        "2026-10-25T00:30:00Z",
        "2026-10-25T01:29:00Z",
        "2026-10-25T02:00:00Z",
    ] {
        assert_eq!(
            night.latest(time(now)),
            Some(time("2026-10-25T00:30:00Z")),
            "{now}"
        );
        assert_eq!(
            night.next(time(now)),
            Some(time("2026-11-01T01:30:00Z")),
            "{now}"
        );
    }
    // Far east and far west of Greenwich the weekday is another.
    let east = slot(Monday, civil::time(4, 0, 0, 0), "Pacific/Kiritimati");
    check_slot(east.latest(time("2026-03-02")), "2026-03-01T14:00:00Z");
    let west = slot(Monday, civil::time(23, 0, 0, 0), "Pacific/Pago_Pago");
    check_slot(
        west.latest(time("2026-03-03T11:00:00Z")),
        "2026-03-03T10:00:00Z",
    );
}

#[test]
fn spec_3_1_a_slot_that_a_change_of_clocks_moves_over_midnight_is_found() {
    // In 2022 Santiago's clocks went from Saturday 24:00 to Sunday 01:00.
    let santiago = slot(
        civil::Weekday::Sunday,
        civil::time(0, 30, 0, 0),
        "America/Santiago",
    );
    check_slot(
        santiago.latest(time("2022-09-11T05:00:00Z")),
        "2022-09-11T04:30:00Z",
    );
    // In 1988 those of St. John's went back from Sunday 00:01 to Saturday 22:01.
    let johns = slot(
        civil::Weekday::Sunday,
        civil::time(0, 0, 0, 0),
        "America/St_Johns",
    );
    let slot_at = time("1988-10-30T01:30:00Z");
    assert_eq!(johns.latest(slot_at), Some(slot_at));
    assert_eq!(johns.latest(slot_at.plus_seconds(600)), Some(slot_at));
    // Samoa left out a whole Friday.
    let apia = slot(
        civil::Weekday::Friday,
        civil::time(12, 0, 0, 0),
        "Pacific/Apia",
    );
    let moved = time("2011-12-30T22:00:00Z");
    assert_eq!(apia.latest(moved), Some(moved));
    assert_eq!(apia.next(moved.plus_seconds(-3_600)), Some(moved));
}

#[test]
fn spec_3_1_slots_at_the_ends_of_time_are_no_error() {
    for zone in ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"] {
        let slot = slot(civil::Weekday::Monday, civil::time(4, 0, 0, 0), zone);
        assert_eq!(slot.next(Timestamp::MAX), None);
        assert!(slot.latest(Timestamp::MAX).is_some());
        assert!(slot.next(Timestamp::MIN).is_some());
        let _ = slot.latest(Timestamp::MIN);
    }
}

/// Whether an agent of `size` tokens with a trigger of 100 is due at `now`, given its last attempt.
#[track_caller]
fn check(size: usize, attempt: Option<(&str, u64)>, now: &str, expected: Option<Trigger>) {
    let mut world = World::with(&["x".repeat(size * 4).as_str()]);
    world.set(Field::RefinementTriggerTokens, "100");
    world.agent.last_attempt = attempt.map(|(at, core_tokens)| Attempt {
        at: time(at),
        core_tokens,
        failures: 0,
        retry_at: None,
    });
    assert_eq!(
        due(&world.agent, &WeeklySlot::default(), time(now)),
        expected,
        "{now}"
    );
}

#[test]
fn spec_3_1_a_weekly_slot_since_the_last_attempt_makes_due() {
    let weekly = Some(Trigger::Weekly);
    // The world's agent was made on Sunday 1 March at noon.
    check(50, None, "2026-03-02T03:59:59Z", None);
    check(50, None, "2026-03-02T04:00:00Z", weekly);
    check(50, None, "2026-05-06", weekly);
    check(
        50,
        Some(("2026-03-02T04:00:00Z", 50)),
        "2026-03-02T04:00:01Z",
        None,
    );
    check(
        50,
        Some(("2026-03-02T03:59:59Z", 50)),
        "2026-03-02T04:00:01Z",
        weekly,
    );
    // Missed while the service was down; one session makes up for all of them.
    check(50, Some(("2026-03-02T05:00:00Z", 50)), "2026-03-25", weekly);
    check(
        50,
        Some(("2026-03-25T00:00:00Z", 50)),
        "2026-03-25T00:00:01Z",
        None,
    );
}

#[test]
fn spec_3_1_budget_pressure_takes_growth_and_a_day() {
    let budget = Some(Trigger::Budget);
    let at = "2026-03-03T12:00:00Z";
    check(101, None, "2026-03-01T12:00:00Z", budget);
    check(100, None, "2026-03-01T12:00:00Z", None);
    check(210, Some((at, 200)), "2026-03-04T12:00:00Z", budget);
    check(210, Some((at, 200)), "2026-03-04T11:59:59Z", None);
    check(209, Some((at, 200)), "2026-03-04T12:00:00Z", None);
    // 5 % of 101 is 5.05: 106 is not enough, 107 is.
    check(106, Some((at, 101)), "2026-03-05T12:00:00Z", None);
    check(107, Some((at, 101)), "2026-03-05T12:00:00Z", budget);
    // A clock that was moved back does not make due.
    check(500, Some((at, 100)), "2026-03-02T12:00:00Z", None);
    // But for one that was so far ahead that it would not come for long.
    check(
        500,
        Some(("2100-03-03", 100)),
        "2026-03-02T00:00:00Z",
        budget,
    );
}

#[test]
fn spec_3_1_paused_inactive_and_empty_agents_are_not_due() {
    let now = time("2026-04-01");
    let is_due = |world: &World| due(&world.agent, &WeeklySlot::default(), now).is_some();
    assert!(is_due(&World::with(&["tea"])));
    assert!(!is_due(&World::with(&[])));
    assert!(!is_due(&World::with(&["~tea"])));
    for (field, value) in [(Field::Paused, "true"), (Field::Active, "false")] {
        let mut world = World::with(&["tea"]);
        world.set(field, value);
        assert!(!is_due(&world));
    }
}

#[test]
fn spec_2_2_a_slot_of_its_own_takes_the_place_of_the_weekly_one() {
    let mut world = World::with(&["tea"]);
    world.set(Field::RefinementSchedule, "thursday 3:30");
    assert_eq!(
        agent::field_value("wren", &world.agent.settings, Field::RefinementSchedule),
        "Thu 03:30"
    );
    let berlin = slot(
        civil::Weekday::Monday,
        civil::time(4, 0, 0, 0),
        "Europe/Berlin",
    );
    let own = time("2026-03-05T02:30:00Z");
    for (now, expected) in [
        ("2026-03-02T04:00:00Z", None),
        ("2026-03-05T02:29:59Z", None),
        ("2026-03-05T02:30:00Z", Some(Trigger::Weekly)),
        ("2026-03-09T04:00:00Z", Some(Trigger::Weekly)),
    ] {
        assert_eq!(due(&world.agent, &berlin, time(now)), expected, "{now}");
    }
    assert_eq!(
        next(&world.agent, &berlin, time("2026-03-02T04:00:00Z")),
        Some(own)
    );
    // What the store looks for says the same.
    let prospect = prospect(&world.agent, &berlin.time_zone);
    assert_eq!((prospect.weekly_after, prospect.due_at), (None, Some(own)));
}

#[test]
fn spec_2_2_a_schedule_that_is_off_leaves_reflection_as_it_is() {
    let mut world = World::with(&["tea", "~met Lena"]);
    let waits = |world: &World| prospect(&world.agent, &TimeZone::UTC).reflect_after;
    world.set(Field::RefinementSchedule, "off");
    assert!(waits(&world).is_some());
    assert_eq!(left_alone(&world.agent), Some(SkipReason::ScheduleOff));
    let now = time("2026-04-01");
    assert_eq!(due(&world.agent, &WeeklySlot::default(), now), None);
    assert_eq!(next(&world.agent, &WeeklySlot::default(), now), None);
    world.set(Field::Paused, "true");
    assert_eq!(waits(&world), None);
    assert_eq!(left_alone(&world.agent), Some(SkipReason::Paused));
}

#[test]
fn spec_3_16_a_scheduled_session_that_failed_is_tried_after_1_4_and_12_hours() {
    let mut world = World::with(&["tea"]);
    let slot = WeeklySlot::default();
    world.now = time("2026-03-02T04:00:00Z");
    for (wait, trigger) in [
        (Some(1), Trigger::Weekly),
        (Some(4), Trigger::Weekly),
        (Some(12), Trigger::Weekly),
        (None, Trigger::Weekly),
    ] {
        fail(&mut world, trigger);
        let Some(hours) = wait else { break };
        let again = world.now.plus_seconds(hours * 3_600);
        assert_eq!(next(&world.agent, &slot, world.now), Some(again));
        assert_eq!(due(&world.agent, &slot, again.plus_seconds(-1)), None);
        assert_eq!(due(&world.agent, &slot, again), Some(Trigger::Weekly));
        let due_at = prospect(&world.agent, &TimeZone::UTC).due_at;
        assert_eq!(due_at, Some(again));
        world.now = again;
    }
    // The fourth failure leaves it at that until the next slot, from which it counts anew.
    let monday = time("2026-03-09T04:00:00Z");
    assert_eq!(next(&world.agent, &slot, world.now), Some(monday));
    world.now = monday;
    fail(&mut world, Trigger::Weekly);
    let again = Some(monday.plus_seconds(3_600));
    assert_eq!(next(&world.agent, &slot, monday), again);
}

#[test]
fn spec_3_16_what_somebody_asked_for_or_edited_is_not_tried_again() {
    let mut world = World::with(&["tea"]);
    world.now = time("2026-03-02T04:00:00Z");
    let retry = |world: &World| world.agent.last_attempt.unwrap().retry_at;
    fail(&mut world, Trigger::Request);
    assert_eq!(retry(&world), None);
    fail(&mut world, Trigger::Weekly);
    assert!(retry(&world).is_some());
    // A session by request in between takes its place.
    fail(&mut world, Trigger::Request);
    assert_eq!(retry(&world), None);
    let (agent, mut session) = begin(&world, Trigger::Weekly);
    session.edits = 1;
    world.agent = failed(&world, agent, session);
    assert_eq!(retry(&world), None);
}

/// A session that the provider fails immediately.
fn fail(world: &mut World, trigger: Trigger) {
    let (agent, session) = begin(world, trigger);
    world.agent = failed(world, agent, session);
}

fn failed(world: &World, agent: Agent, session: Session) -> Agent {
    let ending = SessionEnding::Failed(FailureClass::Unreachable, "down".to_owned());
    lifecycle::end(agent, session, ending, &Actor::system(), world.now).agent
}

fn begin(world: &World, trigger: Trigger) -> (Agent, Session) {
    let start = Start {
        id: SessionId::from_bytes([7; 16]),
        mode: Mode::Full,
        driver: Driver::Model,
        trigger,
        rehearsal: false,
        model: None,
        lease: None,
        started_by: Actor::administrator("Petra"),
    };
    let begun = lifecycle::begin(world.agent.clone(), None, start, None, world.now).unwrap();
    (begun.agent, begun.sessions[0].clone())
}

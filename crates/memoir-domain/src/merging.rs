//! Which memories cannot become one, by a merge or because a delete finds one that says it all (SPEC 3.12).

use crate::{
    memory::{Memory, Number},
    wording::Origin,
};

/// One of the memories that are to become one.
#[derive(Clone, Copy)]
pub(crate) struct Joining<'a> {
    pub(crate) memory: &'a Memory,
    /// Whether its present text has a word of relative time.
    pub(crate) is_relative: bool,
}

/// Memories that must stay apart from the others.
#[derive(Debug)]
pub(crate) struct Apart {
    /// Those at fault, in the order in which they were given.
    pub(crate) numbers: Vec<Number>,
    /// What is at fault, to stand after their numbers.
    pub(crate) why: &'static str,
}

/// Which of these cannot become one with the others; `None` where all can. `is_by_code` where no model read
/// them: code must not tell an administrator by its doing whether a text of theirs is one of the agent's
/// (SPEC 3.4).
pub(crate) fn apart(all: &[Joining<'_>], is_by_code: bool) -> Option<Apart> {
    let fault = |is: &dyn Fn(&Joining<'_>) -> bool, why| {
        let numbers: Vec<Number> = all
            .iter()
            .filter(|one| is(one))
            .map(|one| one.memory.number)
            .collect();
        (!numbers.is_empty()).then_some(Apart { numbers, why })
    };
    let mixed = |is: &dyn Fn(&Joining<'_>) -> bool, why| {
        fault(is, why).filter(|apart| apart.numbers.len() < all.len())
    };
    let is_external = |one: &Joining<'_>| one.memory.origin() == Origin::External;
    // What a wording says counts even where the present text has let the word go: the wording can be read
    // and brought back, and then stands at the merged memory's date.
    let is_relative = |one: &Joining<'_>| {
        let mut wordings = one.memory.wordings.iter();
        one.is_relative || wordings.any(|wording| wording.relative)
    };
    let is_planted = |one: &Joining<'_>| one.memory.is_added_by_administrator();
    let mut days = all.iter().map(|one| one.memory.created_at.day_number());
    let first = days.next();
    let is_one_day = days.all(|day| Some(day) == first);
    mixed(
        &is_external,
        "quotes an outside source (origin external) and is merged with such memories only",
    )
    .or_else(|| {
        let relative = fault(
            &is_relative,
            "has a word such as \"yesterday\" or \"now\", which would point to another day in a merge of memories of different days",
        );
        relative.filter(|_| !is_one_day)
    })
    .or_else(|| {
        // External first: it is asked of every merge, whoever makes it and of whatever days.
        let planted = mixed(
            &is_planted,
            "was added by an administrator and is not merged with others by code",
        );
        planted.filter(|_| is_by_code)
    })
}

//! The keys of the configuration file, read from the reference (`reference.toml`): the checks, `memoir config` and the
//! documentation are made from that one file.

use std::{fmt::Display, ops::RangeInclusive, sync::LazyLock};

/// The reference: a file with every key behind `#`, each below what it sets.
pub(crate) const REFERENCE: &str = include_str!("reference.toml");

/// What a key's text ends with where nothing holds that is not set.
const UNSET: &str = " Not set by default.";
/// The keys whose values may hold a secret.
const SECRET: [&str; 3] = ["keys.url", "telemetry.otlp_endpoint", "webhooks[].url"];

#[derive(Debug)]
pub(crate) struct ConfigKey {
    /// With its section, such as `schedule.weekly`. `NAME` and `MODEL` are the user's, `[]` is an item of a list.
    pub(crate) name: String,
    /// What holds where it is not set, in TOML; `None` for nothing.
    pub(crate) default: Option<&'static str>,
    /// The least and the most of a number; `None` for other values.
    bounds: Option<RangeInclusive<f64>>,
    pub(crate) help: String,
}

/// All keys, in the order of the reference.
pub(crate) static KEYS: LazyLock<Vec<ConfigKey>> = LazyLock::new(|| {
    let (mut keys, mut section, mut help) = (Vec::new(), String::new(), String::new());
    for line in REFERENCE.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let space = if help.is_empty() { "" } else { " " };
            help = format!("{help}{space}{comment}");
        } else if line.is_empty() {
            help.clear();
        } else if let Some((name, value)) = line.split_once(" = ") {
            keys.push(ConfigKey::new(
                &section,
                name,
                value,
                &std::mem::take(&mut help),
            ));
        } else {
            let list = if line.ends_with("]]") { "[]." } else { "." };
            let name = line.trim_matches(['#', '[', ']']);
            let users = name
                .replace("mine", "NAME")
                .replace("\"NAME:qwen3-30b\"", "MODEL");
            section = users + list;
        }
    }
    keys
});

impl ConfigKey {
    fn new(section: &str, name: &str, value: &'static str, help: &str) -> Self {
        let (help, default) = match help.strip_suffix(UNSET) {
            Some(help) => (help, None),
            None => (help, Some(value)),
        };
        let bounds = || {
            let (_, bounds) = help.trim_end_matches(").").rsplit_once(" (")?;
            let (least, most) = bounds.split_once(" to ")?;
            Some(least.parse().ok()?..=most.parse().ok()?)
        };
        Self {
            name: format!("{section}{}", name.trim_start_matches('#')),
            default,
            bounds: bounds(),
            help: help.to_owned(),
        }
    }

    /// Whether the file can have it several times, for each of the user's names or items.
    pub(crate) fn is_repeated(&self) -> bool {
        let marks = [".NAME.", ".MODEL.", "[]."];
        marks.iter().any(|mark| self.name.contains(mark))
    }

    /// Whether its value may hold a secret, and is not shown.
    pub(crate) fn is_secret(&self) -> bool {
        SECRET.contains(&self.name.as_str())
    }

    /// Whether it is the key of a place in the file, such as `providers.mine.kind` or `webhooks[1].url`.
    pub(crate) fn is_at(&self, place: &str) -> bool {
        let marks = ["NAME", "MODEL", "[]"];
        let split = marks.iter().find_map(|mark| self.name.split_once(mark));
        let Some((before, after)) = split else {
            return self.name == place;
        };
        // The user's own name may have dots: it is all between the two.
        let own = place
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after));
        let is_item = |own: &str| own.starts_with('[') && own.ends_with(']');
        own.is_some_and(|own| !own.is_empty() && (is_item(own) || !self.name.contains("[]")))
    }
}

/// Checks a number against the bounds of its key.
///
/// # Errors
/// Names the key, the value and the bounds.
pub(crate) fn check_bounds(name: &str, value: &dyn Display) -> Result<(), String> {
    // By its text, since no whole number of 64 bits converts itself. No number near the bounds is rounded.
    let number: f64 = value.to_string().parse().unwrap_or(f64::NAN);
    let key = KEYS.iter().find(|key| key.is_at(name));
    match key.and_then(|key| key.bounds.as_ref()) {
        // `nan` is within no bounds.
        Some(bounds) if !bounds.contains(&number) => Err(format!(
            "`{name}` is {number}; it must be {} to {}",
            bounds.start(),
            bounds.end()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_6_7_a_place_in_the_file_has_its_key() {
        for (place, name) in [
            ("model", Some("model")),
            ("schedule.weekly", Some("schedule.weekly")),
            ("providers.mine.kind", Some("providers.NAME.kind")),
            (
                "prices.a:b.c.input_per_million",
                Some("prices.MODEL.input_per_million"),
            ),
            ("webhooks[3].url", Some("webhooks[].url")),
            ("oauth.clients[0].id", Some("oauth.clients[].id")),
            ("providers..kind", None),
            ("schedule.weekday", None),
            ("webhooks.url", None),
        ] {
            let key = KEYS.iter().find(|key| key.is_at(place));
            assert_eq!(key.map(|key| key.name.as_str()), name, "{place}");
        }
    }
}

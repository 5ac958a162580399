//! Reading the arguments of tools, in each form in which models and clients write them (SPEC 3.8). Errors name the
//! argument, never its words.

use std::borrow::Cow;

use memoir_domain::{
    PrivateText, Timestamp,
    memory::{Invalid, Kind, Number},
    tools::{read_count, read_list, read_number, read_numbers, read_words},
};
use serde_json::{Map, Value};

use crate::tools;

pub(crate) struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// # Errors
    /// They are no object, or have one that the schema of the tool does not name.
    pub(crate) fn of_tool(tool: &str, value: &'a Value) -> Result<Self, Invalid> {
        let tool = tools::all().iter().find(|one| one.name == tool);
        let known = tool.and_then(|tool| tool.input_schema.get("properties")?.as_object());
        let known = known.into_iter().flat_map(Map::keys);
        let known: Vec<&str> = known.map(String::as_str).collect();
        Self::of(value, &known)
    }

    /// # Errors
    /// They are no object, or have one that is not among `known`.
    pub(crate) fn of(value: &'a Value, known: &[&str]) -> Result<Self, Invalid> {
        let Value::Object(map) = value else {
            return Err(Invalid::new("arguments", "must be a JSON object"));
        };
        // A misspelt name must not be ignored: the agent would believe that it had an effect.
        match map.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self(map)),
            // Not its name: the model chose it, and it may be words.
            Some(_) => Err(Invalid::new(
                "arguments",
                format!(
                    "has one that is unknown; the known ones are {}",
                    known.join(", ")
                ),
            )),
        }
    }

    /// An optional argument; `None` where it is absent, null or blank: models fill every argument that the schema names.
    fn value(&self, name: &str) -> Option<&'a Value> {
        let is_blank = |value: &Value| value.as_str().is_some_and(|text| text.trim().is_empty());
        let value = self.0.get(name);
        value.filter(|value| !value.is_null() && !is_blank(value))
    }

    /// An optional argument as `read` takes it; `None` where it is absent, null or blank.
    fn read<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
        problem: &str,
    ) -> Result<Option<T>, Invalid> {
        let read = |value| read(value).ok_or_else(|| Invalid::new(name, problem));
        self.value(name).map(read).transpose()
    }

    /// An optional text; `None` where it is absent, null or blank.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<&'a str>, Invalid> {
        self.read(name, Value::as_str, "must be a text")
    }

    /// A text that must be there, and may be blank.
    pub(crate) fn needed(&self, name: &'static str) -> Result<&'a str, Invalid> {
        match self.0.get(name) {
            None | Some(Value::Null) => Err(Invalid::new(name, "is missing")),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(Invalid::new(name, "must be a text")),
        }
    }

    /// Words such as tags; none where they are absent, null or blank.
    pub(crate) fn words(&self, name: &'static str) -> Result<Vec<PrivateText>, Invalid> {
        let problem = "must be a list of texts, such as [\"bees\", \"hives\"] or \"bees, hives\"";
        Ok(self.read(name, read_words, problem)?.unwrap_or_default())
    }

    /// The items of a list; none where it is absent, null or blank.
    pub(crate) fn items(
        &self,
        name: &'static str,
        what: &'static str,
    ) -> Result<Cow<'a, [Value]>, Invalid> {
        let problem = format!("must be a list of {what}");
        Ok(self.read(name, read_list, &problem)?.unwrap_or_default())
    }

    /// Whole texts, which may have commas; none where they are absent, null or blank.
    pub(crate) fn texts(&self, name: &'static str) -> Result<Vec<PrivateText>, Invalid> {
        let items = self.items(name, "texts")?;
        let text = |item: &Value| item.as_str().map(PrivateText::from);
        let texts: Option<_> = items.iter().map(text).collect();
        texts.ok_or_else(|| Invalid::new(name, "must be a list of texts"))
    }

    /// An argument as it is there, null or not; `None` where it is absent.
    pub(crate) fn given(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    /// Whether an argument is there, and neither null nor blank.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// A flag; false where it is absent, null or blank.
    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, Invalid> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("true") => Ok(true),
            Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("false") => Ok(false),
            Some(_) => Err(Invalid::new(name, "must be true or false")),
        }
    }

    /// A count; `None` where it is absent, null or blank.
    pub(crate) fn count(&self, name: &'static str) -> Result<Option<u64>, Invalid> {
        self.read(name, read_count, "must be a whole number, 0 or more")
    }

    /// A time; `None` where it is absent, null or blank.
    pub(crate) fn time<E>(
        &self,
        name: &'static str,
        parse: impl Fn(&str) -> Result<Timestamp, E>,
    ) -> Result<Option<Timestamp>, Invalid> {
        let wrong = |_| Invalid::new(name, "must be a time such as 2026-05-03T14:00:00Z");
        let text = self.text(name)?;
        text.map(|text| parse(text).map_err(wrong)).transpose()
    }

    /// A memory's number in each of its written forms.
    pub(crate) fn number(&self, name: &'static str) -> Result<Number, Invalid> {
        let problem = "must be the number of one memory, such as 17 or \"#17\"";
        let number = self.read(name, read_number, problem)?;
        number.ok_or_else(|| Invalid::new(name, "is missing"))
    }

    /// Memories' numbers in each of their written forms; none where they are absent, null or blank.
    pub(crate) fn numbers(&self, name: &'static str) -> Result<Vec<Number>, Invalid> {
        let problem = "must be a list of memories' numbers, such as [17, 21] or \"17, 21\"";
        Ok(self.read(name, read_numbers, problem)?.unwrap_or_default())
    }

    /// A kind of memory; `None` where it is absent, null or blank.
    pub(crate) fn kind(&self) -> Result<Option<Kind>, Invalid> {
        self.text("kind")?.map(str::parse).transpose()
    }
}

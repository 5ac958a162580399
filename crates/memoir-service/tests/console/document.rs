//! A page as a browser reads it, and what must be true of every one.

use std::collections::BTreeSet;

use html5ever::{parse_document, tendril::TendrilSink};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use memoir_testkit::HttpAnswer;

/// A page, read by the rules of HTML.
pub struct Document {
    elements: Vec<Element>,
    /// The forms that are sent by POST: where to, and with what, as they stand.
    filled_in: Vec<(String, Vec<(String, String)>)>,
    errors: Vec<String>,
    /// The text that people read, but for that of agents and of programs.
    visible: String,
}

/// An element with its attributes.
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    /// The text in it, and in what is in it.
    pub text: String,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// An answer that is a page.
pub trait ReadDocument {
    fn document(&self) -> Document;
}

impl ReadDocument for HttpAnswer {
    fn document(&self) -> Document {
        Document::read(&self.text)
    }
}

impl Document {
    pub fn read(text: &str) -> Self {
        let dom = parse_document(RcDom::default(), Default::default()).one(text);
        let mut elements = Vec::new();
        gather(&dom.document, &mut elements);
        let mut filled_in = Vec::new();
        gather_forms(&dom.document, &mut filled_in);
        let mut visible = String::new();
        gather_visible(&dom.document, &mut visible);
        let errors = dom
            .errors
            .borrow()
            .iter()
            .map(ToString::to_string)
            .collect();
        Self {
            elements,
            filled_in,
            errors,
            visible,
        }
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &Element> {
        self.elements
            .iter()
            .filter(move |element| element.name == name)
    }

    /// The attributes of all elements.
    pub fn attributes(&self) -> Vec<&(String, String)> {
        let attributes = self.elements.iter().map(|element| &element.attributes);
        attributes.flatten().collect()
    }

    /// Where the links of the page lead to, on this host.
    pub fn links(&self) -> Vec<String> {
        let links = self.all("a");
        // What is saved as a file is no page.
        let pages = links.filter(|link| link.attribute("download").is_none());
        let paths = pages.filter_map(|link| link.attribute("href"));
        let own = paths.filter(|path| path.starts_with('/'));
        own.map(|path| path.split('#').next().unwrap().to_owned())
            .collect()
    }

    /// What a hidden field of the page holds, in the first form that has it.
    pub fn hidden(&self, name: &str) -> Option<&str> {
        let mut inputs = self.all("input");
        let found = inputs.find(|input| input.attribute("name") == Some(name))?;
        found.attribute("value")
    }

    /// Where the forms of the page are sent to, by POST.
    pub fn forms(&self) -> Vec<String> {
        let posted = self
            .all("form")
            .filter(|form| form.attribute("method") == Some("post"));
        posted
            .map(|form| form.attribute("action").unwrap().to_owned())
            .collect()
    }

    /// The untouched content of the form for that path.
    #[track_caller]
    pub fn filled_in(&self, path: &str) -> &[(String, String)] {
        let found = self.filled_in.iter().find(|(action, _)| action == path);
        &found.unwrap_or_else(|| panic!("no form for {path}")).1
    }

    /// The element of that identifier.
    #[track_caller]
    pub fn by_id(&self, id: &str) -> &Element {
        let mut elements = self.elements.iter();
        let found = elements.find(|element| element.attribute("id") == Some(id));
        found.unwrap_or_else(|| panic!("nothing is named {id}"))
    }

    /// What must be true of every page.
    #[track_caller]
    pub fn check(&self, path: &str) {
        assert_eq!(self.errors, Vec::<String>::new(), "{path}");
        self.check_names(path);
        self.check_labels(path);
        self.check_words(path);
        for (name, least) in [("html", 1), ("main", 1), ("h1", 1), ("title", 1)] {
            assert_eq!(self.all(name).count(), least, "{path}: {name}");
        }
        let root = self.all("html").next().unwrap();
        assert_eq!(root.attribute("lang"), Some("en"), "{path}");
        for table in self.all("table") {
            assert!(!table.text.is_empty(), "{path}");
        }
        assert_eq!(
            self.all("table").count(),
            self.all("caption").count(),
            "{path}"
        );
        for heading in self.all("th") {
            assert!(
                heading.attribute("scope").is_some(),
                "{path}: {}",
                heading.text
            );
        }
        let inline = |element: &&Element| {
            element.name == "style"
                || element.name == "script"
                    && (element.attribute("src").is_none() || !element.text.is_empty())
                || element
                    .attributes
                    .iter()
                    .any(|(name, _)| name == "style" || name.starts_with("on"))
        };
        assert!(
            !self.elements.iter().any(|element| inline(&element)),
            "{path}"
        );
    }

    /// Identifiers are unique, and what is named is there.
    #[track_caller]
    fn check_names(&self, path: &str) {
        let ids: Vec<&str> = self
            .elements
            .iter()
            .filter_map(|element| element.attribute("id"))
            .collect();
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len(), "{path}: {ids:?}");
        for name in ["for", "list", "aria-labelledby", "aria-describedby"] {
            for element in &self.elements {
                for id in element
                    .attribute(name)
                    .into_iter()
                    .flat_map(str::split_whitespace)
                {
                    assert!(unique.contains(id), "{path}: {name}={id}");
                }
            }
        }
        for link in self.all("a") {
            let place = link
                .attribute("href")
                .and_then(|path| path.strip_prefix('#'));
            assert!(
                place.is_none_or(|id| unique.contains(id)),
                "{path}: {place:?}"
            );
        }
    }

    /// Words of programs, such as wire names and blank values, are in `code` alone; whole identifiers in titles too.
    #[track_caller]
    fn check_words(&self, path: &str) {
        let is_in_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let words = self.visible.split(|letter: char| !is_in_word(letter));
        let of_programs = words.filter(|word| {
            word.trim_matches('_').contains('_') || ["null", "undefined", "NaN"].contains(word)
        });
        assert_eq!(of_programs.collect::<Vec<_>>(), [""; 0], "{path}");
        let is_in_identifier = |letter: char| letter.is_ascii_hexdigit() || letter == '-';
        let parts = self.visible.split(|letter: char| !is_in_identifier(letter));
        let mut whole = parts.filter(|part| part.len() == 36 && part.matches('-').count() == 4);
        if let Some(part) = whole.next() {
            let (before, _) = self.visible.split_once(part).unwrap_or_default();
            let near: String = before.chars().rev().take(60).collect();
            let near: String = near.chars().rev().collect();
            panic!("{path} shows {part} after: {near}");
        }
    }

    /// Whatever is filled in or pressed has a name.
    #[track_caller]
    fn check_labels(&self, path: &str) {
        let labelled: BTreeSet<&str> = self
            .all("label")
            .filter_map(|label| label.attribute("for"))
            .collect();
        let fields = ["input", "select", "textarea"];
        for field in fields.into_iter().flat_map(|name| self.all(name)) {
            let is_hidden = field.attribute("type") == Some("hidden");
            let is_labelled = field
                .attribute("id")
                .is_some_and(|id| labelled.contains(id));
            assert!(is_hidden || is_labelled, "{path}: {:?}", field.attributes);
        }
        for named in self.all("a").chain(self.all("button")) {
            let label = named.attribute("aria-label").unwrap_or(&named.text);
            assert!(!label.trim().is_empty(), "{path}: {:?}", named.attributes);
        }
        for nav in self.all("nav") {
            assert!(nav.attribute("aria-label").is_some(), "{path}");
        }
    }
}

fn gather(node: &Handle, elements: &mut Vec<Element>) {
    if let NodeData::Element { name, attrs, .. } = &node.data {
        let attributes = attrs.borrow();
        let attributes = attributes.iter().map(|attribute| {
            (
                attribute.name.local.to_string(),
                attribute.value.to_string(),
            )
        });
        let mut text = String::new();
        read_text(node, &mut text);
        // The titles of a picture's parts are not those of the page.
        let is_of_picture = *name.ns == *"http://www.w3.org/2000/svg" && *name.local == *"title";
        elements.push(Element {
            name: match is_of_picture {
                true => "svg:title".to_owned(),
                false => name.local.to_string(),
            },
            attributes: attributes.collect(),
            text,
        });
    }
    for child in node.children.borrow().iter() {
        gather(child, elements);
    }
}

fn gather_visible(node: &Handle, visible: &mut String) {
    // Without scripts shown is what a parser with scripts takes for text.
    let programs = ["code", "noscript", "pre", "script", "style", "textarea"];
    let class = attribute(node, "class").unwrap_or_default();
    let mut classes = class.split(' ');
    if programs.iter().any(|name| is_named(node, name))
        || classes.any(|class| ["said", "tags"].contains(&class))
    {
        return;
    }
    let read = ["aria-label", "title", "placeholder", "data-label"];
    let read = read.iter().filter_map(|name| attribute(node, name));
    visible.extend(read.map(|text| format!(" {} ", text.replace('-', " "))));
    if let NodeData::Text { contents } = &node.data {
        visible.push_str(&contents.borrow());
    }
    for child in node.children.borrow().iter() {
        gather_visible(child, visible);
    }
}

fn gather_forms(node: &Handle, forms: &mut Vec<(String, Vec<(String, String)>)>) {
    let attribute = |name| attribute(node, name);
    if is_named(node, "form") && attribute("method").as_deref() == Some("post") {
        let mut fields = Vec::new();
        gather_fields(node, &mut fields);
        forms.push((attribute("action").unwrap(), fields));
    }
    for child in node.children.borrow().iter() {
        gather_forms(child, forms);
    }
}

/// What a browser sends of the fields in a form.
fn gather_fields(node: &Handle, fields: &mut Vec<(String, String)>) {
    let attribute = |name| attribute(node, name);
    if let Some(name) = attribute("name") {
        let is_box = attribute("type").as_deref() == Some("checkbox");
        let is_left_out = is_box && attribute("checked").is_none();
        let mut text = String::new();
        read_text(node, &mut text);
        if is_named(node, "select") {
            fields.push((name, chosen(node).unwrap_or_default()));
        } else if is_named(node, "textarea") {
            fields.push((name, text));
        } else if is_named(node, "input") && !is_left_out {
            fields.push((name, attribute("value").unwrap_or_default()));
        }
    }
    for child in node.children.borrow().iter() {
        gather_fields(child, fields);
    }
}

/// The value of the option that is selected, or else of the first one.
fn chosen(node: &Handle) -> Option<String> {
    let children = node.children.borrow();
    let options = || children.iter().filter(|child| is_named(child, "option"));
    let selected = options().find(|option| attribute(option, "selected").is_some());
    attribute(selected.or_else(|| options().next())?, "value")
}

fn is_named(node: &Handle, wanted: &str) -> bool {
    matches!(&node.data, NodeData::Element { name, .. } if *name.local == *wanted)
}

fn attribute(node: &Handle, wanted: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    let attributes = attrs.borrow();
    let found = attributes.iter().find(|found| *found.name.local == *wanted);
    found.map(|found| found.value.to_string())
}

fn read_text(node: &Handle, text: &mut String) {
    if let NodeData::Text { contents } = &node.data {
        text.push_str(&contents.borrow());
    }
    for child in node.children.borrow().iter() {
        read_text(child, text);
    }
}

#[test]
#[should_panic(expected = "01890c5e")]
fn a_whole_identifier_outside_of_titles_is_noticed() {
    let id = "01890c5e-0000-7000-8000-00009c1e4b7a";
    Document::read(&format!("<p title=\"{id}\">…9c1e4b7a</p>")).check_words("a page");
    Document::read(&format!("<p>token {id}</p>")).check_words("a page");
}

#[test]
#[should_panic(expected = "over_budget")]
fn a_wire_name_outside_of_code_is_noticed() {
    let page = "<p>It is over_budget.</p><code>in_order</code>";
    Document::read(page).check_words("a page");
}

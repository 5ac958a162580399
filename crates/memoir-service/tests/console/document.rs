//! A page as a browser reads it, and what must be true of every one.

use std::collections::BTreeSet;

use html5ever::{parse_document, tendril::TendrilSink};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// A page, read by the rules of HTML.
pub struct Document {
    elements: Vec<Element>,
    errors: Vec<String>,
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

impl Document {
    pub fn read(text: &str) -> Self {
        let dom = parse_document(RcDom::default(), Default::default()).one(text);
        let mut elements = Vec::new();
        gather(&dom.document, &mut elements);
        let errors = dom
            .errors
            .borrow()
            .iter()
            .map(ToString::to_string)
            .collect();
        Self { elements, errors }
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &Element> {
        self.elements
            .iter()
            .filter(move |element| element.name == name)
    }

    /// Where the links of the page lead to, on this host.
    pub fn links(&self) -> Vec<String> {
        let paths = self.all("a").filter_map(|link| link.attribute("href"));
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

    /// What must be true of every page.
    #[track_caller]
    pub fn check(&self, path: &str) {
        assert_eq!(self.errors, Vec::<String>::new(), "{path}");
        self.check_names(path);
        self.check_labels(path);
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
        for name in ["for", "aria-labelledby", "aria-describedby"] {
            for element in &self.elements {
                if let Some(id) = element.attribute(name) {
                    assert!(unique.contains(id), "{path}: {name}={id}");
                }
            }
        }
    }

    /// Whatever is filled in or pressed has a name.
    #[track_caller]
    fn check_labels(&self, path: &str) {
        let labelled: BTreeSet<&str> = self
            .all("label")
            .filter_map(|label| label.attribute("for"))
            .collect();
        for field in self.all("input").chain(self.all("select")) {
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
        elements.push(Element {
            name: name.local.to_string(),
            attributes: attributes.collect(),
            text,
        });
    }
    for child in node.children.borrow().iter() {
        gather(child, elements);
    }
}

fn read_text(node: &Handle, text: &mut String) {
    if let NodeData::Text { contents } = &node.data {
        text.push_str(&contents.borrow());
    }
    for child in node.children.borrow().iter() {
        read_text(child, text);
    }
}

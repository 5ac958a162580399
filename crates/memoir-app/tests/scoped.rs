//! SPEC 5.6: private data is requested for one agent, or it does not compile. SPEC 5.1: nor does code that shows text
//! to viewers without access to it.
//!
//! The cases are compiled against the library with a target folder of their own, `target/tests`: the first run takes a
//! minute, every other one seconds. `TRYBUILD=overwrite` rewrites the expected compiler output.

#[path = "ui/scoped.rs"]
mod scoped;

#[test]
fn spec_5_6_what_is_not_scoped_to_one_agent_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/app/*.rs");
    cases.compile_fail("tests/ui/store/*.rs");
}

#[test]
fn spec_5_1_views_without_an_authorized_viewer_have_no_text() {
    trybuild::TestCases::new().compile_fail("tests/ui/shown/*.rs");
}

/// The cases fail for the reason that they are there for, and not for one that would stop these too.
#[test]
fn the_scoped_forms_compile() {
    let _ = (scoped::read_one, scoped::read_rows);
    let _ = (scoped::look, scoped::of_its_own, scoped::facts);
}

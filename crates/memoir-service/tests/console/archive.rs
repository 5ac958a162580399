//! The archive on the pages: what is in it, under what, and back (SPEC 2.4, 3.12), without text.

use memoir_domain::session::Mode;
use memoir_testkit::TestedText;
use serde_json::json;

use crate::{
    document::Document,
    installation::{CANARY, Installation},
};

/// The text of the row of a memory.
fn row(page: &Document, number: u64) -> Option<String> {
    let mut rows = page.all("tr");
    let start = format!("#{number}");
    let own = |text: &str| {
        let rest = text.strip_prefix(&start);
        rest.is_some_and(|rest| !rest.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    rows.find(|row| own(&row.text)).map(|row| row.text.clone())
}

#[tokio::test]
async fn spec_3_12_archived_memories_are_shown_with_what_they_are_under_and_promoted() {
    let installation = Installation::open().await;
    let agent = installation.agent_over_budget().await;
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        (
            "consolidate_memories",
            json!({"ids": [3, 5], "content": format!("Two, three, tide tables: {CANARY}")}),
        ),
        ("delete_memory", json!({"id": 7})),
        (
            "complete_refinement",
            json!({"summary": format!("Done, {CANARY}.")}),
        ),
    ] {
        let called = agent.call_tool(session.id, tool, Some(&arguments)).await;
        let called = called.unwrap();
        assert_eq!(called.refusal(), None, "{called:?}");
    }
    let browser = installation.ada().await;
    let path = format!("/agents/{}", agent.scope().agent);
    let memories = format!("{path}/memories");
    let page = browser.page(&memories).await;
    page.check(&memories);
    let text = |number| row(&page, number).unwrap();
    text(3).tells("archival");
    text(3).tells("now #11");
    text(7).tells("under none");
    text(11).tells("summary of 2 memories");
    // A summary is not protected, and a journal entry neither.
    let forms = page.forms();
    assert!(forms.contains(&format!("{memories}/4/protect")));
    for offered in ["11/protect", "3/protect", "4/promote", "11/promote"] {
        assert!(
            !forms.contains(&format!("{memories}/{offered}")),
            "{offered}"
        );
    }
    // The sources of the summary, by the link on its row.
    let sources = format!("{memories}?under=11");
    assert!(page.links().contains(&sources), "{:?}", page.links());
    let page = browser.page(&sources).await;
    page.check(&sources);
    let shown: Vec<u64> = (1..=12)
        .filter(|number| row(&page, *number).is_some())
        .collect();
    assert_eq!(shown, [3, 5]);
    let archive = browser.page(&format!("{memories}?kind=archival")).await;
    let shown: Vec<u64> = (1..=12)
        .filter(|number| row(&archive, *number).is_some())
        .collect();
    assert_eq!(shown, [3, 5, 7]);
    // What is in the prompt has no archival memory, and no discarded one.
    for query in ["only=shown", "only=shown&discarded=yes"] {
        let in_prompt = browser.page(&format!("{memories}?{query}")).await;
        let shown: Vec<u64> = (1..=9)
            .filter(|number| row(&in_prompt, *number).is_some())
            .collect();
        assert_eq!(shown, [1, 4, 6, 8, 9], "{query}");
    }

    // The session and the overview count it.
    let of_session = format!("/sessions/{}", session.id);
    let page = browser.page(&of_session).await;
    page.check(&of_session);
    let outcome = "2 memories archived under 1 summary, 1 alone; ";
    assert!(page.all("dd").any(|one| one.text.starts_with(outcome)));
    let guard = "Loss guardto the archive, within limits";
    assert!(page.all("div").any(|pair| pair.text == guard));
    let page = browser.page(&path).await;
    page.check(&path);
    let originals = "8 originals: 5 in the prompt, 3 in the archive.";
    assert!(page.all("p").any(|one| one.text == originals));
    assert!(page.all("tr").any(|row| row.text == "2026-Q1853"));
    let fleet = browser.page("/?sort=archived").await;
    fleet.check("/?sort=archived");
    assert!(fleet.all("td").any(|cell| cell.text == "5 / 3"));
    let erase = browser.page(&format!("{path}/erase")).await;
    let counted = "3 archival memories, ";
    assert!(erase.all("p").any(|one| one.text.contains(counted)));

    // And back.
    let pressed = browser
        .press(&memories, &format!("{memories}/3/promote"), &[])
        .await;
    assert!(pressed.leads_to().contains("done=promote"));
    assert_eq!(
        agent.log().originals().await.unwrap().originals.in_prompt,
        6
    );
    let summary = browser.page(&memories).await;
    assert!(row(&summary, 11).unwrap().contains("of 1 memory"));
    // The last source takes the summary away, and it cannot be restored by itself.
    let pressed = browser
        .press(&memories, &format!("{memories}/5/promote"), &[])
        .await;
    pressed.leads_to();
    let all = format!("{memories}?discarded=yes");
    let page = browser.page(&all).await;
    assert!(row(&page, 11).unwrap().contains("discarded"));
    assert!(!page.forms().contains(&format!("{memories}/11/restore")));
    assert!(page.forms().contains(&format!("{memories}/2/restore")));
}

/** The console in a browser that runs no scripts: everything can be reached, told and done. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Installation, PASSWORD, askToRead, holdsNoWords, openRow, until } from "./support/installation.mjs";
import { isTold, told } from "./support/witness.mjs";

const MEMORIES = [
  "The harbour lies to the west of the old town",
  "the harbour lies to the west of the old town",
  "Ivo taught me how to read the tide tables",
  "We promised each other to come back in spring",
  "Marta prefers linen thread",
  "The ferry runs again from the third of May",
];

/** Whether a page is one for reading under an agent's permission. */
const isReading = (path) => /^\/access\/[^/]+\/memories/.test(path);

let installation;
let wren;
before(async () => {
  installation = await Installation.open();
  wren = await installation.agent("Wren", MEMORIES);
});
after(() => installation?.close());

/** A test with a window that Ada has signed in with, and without scripts. */
function silently(name, body) {
  test(name, async () => {
    const page = await installation.ada({ javaScriptEnabled: false });
    try {
      await body(page);
      await holdsNoWords(page);
      assert.deepEqual(installation.complaints, []);
      installation.witness.sawNoWords(0, isReading);
    } finally {
      await page.context().close();
    }
  });
}

/** Loads the page again until it shows that. */
async function refreshed(page, shown) {
  await until("what the page is to show", async () => (await shown.isVisible()) || void (await page.reload()));
}

/** The row of a table that begins with that. */
function row(page, name) {
  return page.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
}

/** Makes Wren refine, from its page on; the page of the session once it is over. */
async function refine(page, { rehearse = false } = {}) {
  await page.goto(wren.path);
  if (rehearse) await page.getByLabel("Rehearse on a copy").check();
  await page.getByRole("button", { name: "Refine now" }).click();
  await page.getByRole("heading", { name: /^Session of/ }).waitFor();
  await refreshed(page, page.getByText("completed", { exact: true }));
}

test("somebody signs in, comes to where they wanted, and signs out", async () => {
  const page = await installation.window({ javaScriptEnabled: false });
  await page.goto(`${wren.path}/memories`);
  await page.getByLabel("Name", { exact: true }).fill("Ada");
  await page.getByLabel("Password").fill("a wrong password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Ada");
  assert.equal(await page.getByLabel("Password").inputValue(), "");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Wren", level: 1 }).waitFor();
  assert.equal(new URL(page.url()).pathname, `${wren.path}/memories`);
  await page.getByText("Ada", { exact: true }).click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByText("You are signed out.").waitFor();
  await page.goto("/");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await page.context().close();
  installation.isCalm();
});

silently("the fleet is sorted, searched and paged", async (page) => {
  const names = Array.from({ length: 60 }, (_, number) => `agent ${String(number).padStart(2, "0")}`);
  await Promise.all(names.map((name) => installation.call("POST", "/v1/agents", { name })));
  await page.goto("/");
  await page.getByText("61 agents").waitFor();
  const first = () => page.getByRole("rowheader").first().innerText();
  const sorted = (name, order) =>
    page.getByRole("columnheader", { name }).and(page.locator(`[aria-sort=${order}]`)).waitFor();
  assert.equal(await first(), "agent 00");
  await page.getByRole("link", { name: "Next page" }).click();
  await page.getByText("Page 2 of 2").waitFor();
  assert.equal(await first(), "agent 50");
  await page.getByRole("link", { name: "Core size of budget" }).click();
  await sorted("Core size of budget", "descending");
  assert.equal(await first(), "Wren");
  await page.getByRole("link", { name: "Core size of budget" }).click();
  await sorted("Core size of budget", "ascending");
  await page.getByRole("searchbox", { name: "Name of an agent" }).fill("WR");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("1 agent with “WR” in the name").waitFor();
  await page.getByRole("link", { name: "Wren" }).click();
  await page.getByRole("heading", { name: "Wren", level: 1 }).waitFor();
});

silently("an agent is paused, and asked again", async (page) => {
  await page.goto(wren.path);
  await page.getByRole("button", { name: "Pause the schedule" }).click();
  await page.getByRole("status").getByText("skips it").waitFor();
  await page.goto("/?q=wren");
  await row(page, "Wren").getByText("paused").waitFor();
  await page.goto(wren.path);
  await page.getByRole("button", { name: "Resume the schedule" }).click();
  await page.getByRole("status").getByText("is not paused any more").waitFor();
});

silently("memories are protected, discarded and restored", async (page) => {
  await page.goto(wren.path);
  await page.getByRole("link", { name: "Memories" }).click();
  await openRow(page, 3);
  await page.getByRole("button", { name: "Protect memory 3" }).click();
  await row(page, "#3").getByText("constitutional").waitFor();
  await openRow(page, 3);
  await page.getByRole("button", { name: "Unprotect memory 3" }).click();
  await row(page, "#3").getByText("none").waitFor();
  await openRow(page, 4);
  await page.getByRole("button", { name: "Discard memory 4" }).click();
  await page.getByText("it can be restored").waitFor();
  assert.equal(await row(page, "#4").count(), 0);
  await page.getByLabel("Discarded ones too").check();
  await page.getByLabel("Kind").selectOption({ label: "Core" });
  await page.getByRole("button", { name: "Show" }).click();
  await row(page, "#4").getByText("discarded").waitFor();
  await openRow(page, 4);
  await page.getByRole("button", { name: "Restore memory 4" }).click();
  await openRow(page, 4);
  await page.getByRole("button", { name: "Discard memory 4" }).waitFor();
});

silently("a session is rehearsed and applied", async (page) => {
  await refine(page, { rehearse: true });
  const { core_count: before } = await installation.call("GET", `/v1/agents/${wren.id}`);
  assert.equal(before, MEMORIES.length);
  await page.getByRole("button", { name: "Apply the rehearsal" }).click();
  await page.getByText("The rehearsal was applied").waitFor();
  const { core_count: count } = await installation.call("GET", `/v1/agents/${wren.id}`);
  assert.equal(count, MEMORIES.length - 1);
  await page.getByRole("link", { name: "Roll back…" }).click();
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByText("The session was rolled back.").waitFor();
});

silently("a session is run, followed by looking again, and rolled back past a conflict", async (page) => {
  await refine(page);
  // The newest record is on top: below it are the edits.
  const gone = page.getByRole("cell", { name: /^#\d+$/ }).last();
  const number = (await gone.innerText()).replace(/\D/g, "");
  await page.getByRole("row").filter({ hasText: "session completed" }).waitFor();
  const session = page.url().replace(/\?.*/, "");
  // Somebody changes the same memory afterwards.
  const { items } = await wren.call("GET", `/v1/agents/${wren.id}/memories?include=discarded&limit=50`);
  const { discarded_at } = items.find((memory) => memory.number === Number(number));
  const change = discarded_at === null ? "discard" : "restore";
  await installation.call("POST", `/v1/agents/${wren.id}/memories/${number}/${change}`);
  await page.goto(session);
  await page.getByRole("link", { name: "Roll back…" }).click();
  await page.getByText("1 later change of the same memories conflicts with it").waitFor();
  await page.getByLabel("Undo these later changes too").check();
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByText("The session was rolled back.").waitFor();
  await page.locator(".badge").getByText("undone", { exact: true }).waitFor();
});

silently("a session that the agent runs is cancelled", async (page) => {
  const { id } = await wren.call("POST", `/v1/agents/${wren.id}/sessions`, { driver: "agent" });
  await page.goto(`/sessions/${id}`);
  await page.getByRole("button", { name: "Cancel the session" }).click();
  await page.getByText("The session was cancelled; its edits stay.").waitFor();
  await page.getByText("abandoned", { exact: true }).waitFor();
});

silently("the audit is filtered and verified, and a checkpoint is taken", async (page) => {
  await page.goto("/");
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByLabel("Name of the agent").fill("Wren");
  await page.getByRole("button", { name: "Show" }).click();
  const records = page.getByRole("table").getByRole("rowheader");
  await records.first().waitFor();
  const all = await records.count();
  await page.getByLabel("Action").selectOption("memory_saved");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("cell", { name: "saved", exact: true }).first().waitFor();
  assert.ok((await records.count()) < all);
  await page.getByRole("button", { name: "Verify the chain" }).click();
  await page.getByRole("status").getByText("Everything matches").waitFor();
  await page.goto("/audit");
  await page.getByRole("button", { name: "Take a checkpoint" }).click();
  await page.getByRole("heading", { name: "The signed note" }).waitFor();
});

silently("an agent is made, set and erased, and what is wrong is told beside what was typed", async (page) => {
  await page.goto("/");
  await page.getByRole("link", { name: "New agent" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Wren");
  await page.getByLabel("Core token budget").fill("many");
  await page.getByRole("button", { name: "Make the agent" }).click();
  await page.getByRole("alert").getByRole("link", { name: "Core token budget" }).waitFor();
  assert.equal(await page.getByLabel("Core token budget").inputValue(), "many");
  await page.getByLabel("Core token budget").fill("4000");
  await page.getByRole("button", { name: "Make the agent" }).click();
  await page.getByRole("alert").getByText("Another agent of the account has this name already.").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("Finch");
  await page.getByRole("button", { name: "Make the agent" }).click();
  await page.getByRole("heading", { name: "Finch", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Settings", exact: true }).click();
  await page.getByLabel("Refinement threshold").fill("0.8");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("status").waitFor();
  assert.equal(await page.getByLabel("Refinement threshold").inputValue(), "0.8");
  await page.getByRole("link", { name: "Erase this agent…" }).click();
  await page.getByLabel("Name of the agent").fill("Finch");
  await page.getByRole("button", { name: "Erase it for good" }).click();
  await page.getByRole("heading", { name: "Fleet" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Finch" }).count(), 0);
});

silently("an agent is returned to an earlier point, and back", async (page) => {
  const lark = await installation.agent("Lark", MEMORIES);
  await installation.call("POST", `/v1/agents/${lark.id}/memories/2/discard`);
  await page.goto(lark.path);
  await page.getByRole("link", { name: "Time machine" }).click();
  const record = page.getByLabel("Record", { exact: true });
  const newest = Number(await record.inputValue());
  await record.fill(String(newest - 1));
  await page.getByRole("button", { name: "Look" }).click();
  await page.getByRole("heading", { name: `After record ${newest - 1}` }).waitFor();
  await page.getByRole("button", { name: `Go back to record ${newest - 1}` }).click();
  await page.waitForURL(/done=rewound/);
  const { core_count: count } = await installation.call("GET", `/v1/agents/${lark.id}`);
  assert.equal(count, MEMORIES.length);
});

silently("an archival memory is shown with what it is under, and promoted", async (page) => {
  const swift = await installation.agent("Swift", MEMORIES.slice(2));
  const save = (memory) => swift.call("POST", `/v1/agents/${swift.id}/memories`, memory);
  const { number } = await save({ content: told("The ferry runs again from June"), replaces: [4] });
  await page.goto(swift.path);
  await page.getByRole("link", { name: "Memories" }).click();
  await page.getByLabel("Kind").selectOption({ label: "Archival" });
  await page.getByRole("button", { name: "Show" }).click();
  await row(page, "#4").getByRole("link", { name: `now #${number}` }).click();
  await row(page, `#${number}`).getByText("took the place of 1").click();
  await page.getByText(`Archival memories under #${number}.`).waitFor();
  await openRow(page, 4);
  await page.getByRole("button", { name: "Promote memory 4" }).click();
  await page.getByRole("status").getByText("core again").waitFor();
  assert.equal(await row(page, "#4").count(), 0);
  const { originals } = await installation.call("GET", `/v1/agents/${swift.id}`);
  assert.deepEqual(originals, { total: 5, in_prompt: 5, archived: 0 });
});

silently("an agent is asked to let somebody in, answers, and its words close by themselves", async (page) => {
  const robin = await installation.agent("Robin", MEMORIES);
  await page.goto(robin.path);
  await page.getByRole("link", { name: "Access", exact: true }).click();
  await page.getByLabel("Purpose").fill("To see whether the ferry is noted");
  await page.getByLabel("Minutes").fill("61");
  await page.getByRole("button", { name: "Ask the agent" }).click();
  await page.getByRole("alert").getByText("60").waitFor();
  assert.equal(await page.getByLabel("Purpose").inputValue(), "To see whether the ferry is noted");
  const request = await askToRead(page, robin, "To see whether the ferry is noted");
  await robin.call("POST", `/v1/access-requests/${request}/answer`, { granted: true, reason: "You may look." });
  await page.reload();
  await page.getByText("You may look.").waitFor();
  await page.getByRole("link", { name: "Read", exact: true }).click();
  const banner = page.getByRole("complementary", { name: "Access" });
  await banner.getByText("To see whether the ferry is noted").waitFor();
  await page.getByText(told(MEMORIES[5])).waitFor();
  assert.ok(isTold(await page.content()));
  // The browser itself goes elsewhere at the end of the time.
  await page.getByText("Its time is over.").waitFor({ timeout: 90_000 });
  await holdsNoWords(page);
  await page.goBack();
  await holdsNoWords(page);
});

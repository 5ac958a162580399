/**
 * The whole story of an administrator and an agent, in one browser: from the first sign-in to words that
 * are read and are gone again. On the way every page, and every answer that the browser was given, is
 * searched for the agent's words: there are none before the agent lets somebody in, none but on the pages
 * for reading while it does, and none afterwards.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { code } from "./support/device.mjs";
import { Installation, PASSWORD, askToRead, holdsNoWords, openRow, until } from "./support/installation.mjs";
import { barriers, isSound, settled } from "./support/looks.mjs";
import { CANARY, isTold, told } from "./support/witness.mjs";

/** Two of them differ by their letters' size alone, so that there is something to refine. */
const MEMORIES = [
  "The harbour lies to the west of the old town",
  "the harbour lies to the west of the old town",
  "Ivo taught me how to read the tide tables, on the pier, with a pencil behind his ear",
  "We promised each other to come back in spring, when the ferry runs again",
  "Marta prefers linen thread for the spines and cotton for the rest",
  "The keys of the boat shed are in the blue tin beside the door of the workshop",
  "Lene calls on Thursdays and wants to hear how the seedlings fare",
  "Aiko asked for the invoices to be sent on the first of the month",
];

/** Whether a page is one for reading under an agent's permission. */
const isReading = (path) => /^\/access\/[^/]+\/(memories|sessions|records|prompts)/.test(path);

let installation;
let page;
/** The agent, as its own program knows it. */
const wren = { name: "Wren" };
/** What the browser was given by then: how many answers. */
let now = () => installation.witness.answers.length;

before(async () => {
  installation = await Installation.open({ administrator: false });
  page = await installation.window();
});
after(() => installation?.close());

let isBroken = false;

/** A step of the story. After it no word is on the page, unless it is one for reading. */
function step(name, body) {
  test(name, async () => {
    assert.ok(!isBroken, "a step before this one failed");
    isBroken = true;
    await body();
    await settled(installation, page);
    if (!isReading(new URL(page.url()).pathname)) await holdsNoWords(page);
    assert.deepEqual(installation.complaints, []);
    installation.witness.sawNoWords(0, isReading);
    isBroken = false;
  });
}

/** A request of the agent's own program. */
const call = (method, path, body) => installation.call(method, path, body, wren.token);

/** Every page of the agent that shows no words. */
async function tour() {
  const paths = ["", "/memories?discarded=yes", "/sessions", "/time", "/settings", "/access", "/mass"].map(
    (path) => wren.path + path,
  );
  for (const path of ["/", ...paths, ...wren.sessions, `/audit?agent=${wren.id}`]) {
    await page.goto(path);
    await settled(installation, page);
    await holdsNoWords(page);
  }
}

/** Asks the agent on its page to show the core memories for a minute, and has it answer. */
async function letIn(purpose, reason) {
  const id = await askToRead(page, wren, purpose);
  const { items } = await call("GET", `/v1/agents/${wren.id}/access-requests`);
  const [request] = items;
  assert.deepEqual([request.id, request.purpose, request.state], [id, purpose, "asked"]);
  await call("POST", `/v1/access-requests/${id}/answer`, { granted: true, reason });
  // The open page notices.
  await page.getByText(reason).waitFor();
  return id;
}

/** Opens what the agent shows, and checks that it is there, under the banner. */
async function read(purpose) {
  await page.getByRole("link", { name: "Read", exact: true }).click();
  const banner = page.getByRole("complementary", { name: "Access" });
  await banner.getByText(purpose).waitFor();
  await banner.getByText("Ada").waitFor();
  assert.match(await banner.getByRole("timer").innerText(), /^[01]:\d\d$/);
  for (const text of [MEMORIES[2], MEMORIES[6]]) await page.getByText(told(text)).waitFor();
  assert.ok(isTold(await page.content()));
  return banner;
}

/** That the open page closes by itself, and nothing in the browser gives the words back. */
async function closes(request, why) {
  await page.getByRole("alert").getByText(why).waitFor({ timeout: 90_000 });
  await holdsNoWords(page);
  // The page may be up to a second ahead of the service.
  assert.deepEqual(await barriers(page), []);
  await until("the end of the permission", async () => {
    const { items } = await call("GET", `/v1/agents/${wren.id}/access-requests`);
    return items.find(({ id }) => id === request).state !== "granted";
  });
  const reading = page.url();
  const closed = now();
  assert.equal(await page.getByRole("complementary", { name: "Access" }).count(), 0);
  await page.getByRole("link", { name: "Back to the request" }).click();
  await settled(installation, page);
  await holdsNoWords(page);
  // Neither the way back nor the address opens it again.
  await page.goBack();
  await settled(installation, page);
  await holdsNoWords(page);
  await page.goto(reading);
  await settled(installation, page);
  await holdsNoWords(page);
  installation.witness.sawNoWords(closed);
}

step("the first administrator is made by the link that the service prints", async () => {
  const said = "First administrator: ";
  const line = await until("the link", () => installation.service.printed.find((line) => line.startsWith(said)));
  const { pathname } = new URL(line.slice(said.length));
  await page.goto(pathname);
  await isSound(page, "the page of the first administrator");
  await page.getByLabel("Your name").fill("Ada");
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByLabel("The password again").fill(PASSWORD);
  await page.getByRole("button", { name: "Become the administrator" }).click();
  await page.getByRole("heading", { name: "Your account" }).waitFor();
  // It makes nobody else.
  const stranger = await installation.window();
  await stranger.goto(pathname);
  await stranger.getByRole("heading", { name: "This link opens nothing" }).waitFor();
  await stranger.context().close();
});

/** What the administrator's device was told. */
let device;

step("who takes a second factor", async () => {
  await page.getByRole("link", { name: "Turn it on" }).click();
  await page.getByRole("img", { name: "The secret, for the camera of the device" }).waitFor();
  device = await page.locator("code.typed").innerText();
  await page.getByLabel("Code of the new device").fill(code(device));
  await page.getByLabel("Your password").fill(PASSWORD);
  await page.getByRole("button", { name: "Turn it on" }).click();
  await page.getByRole("heading", { name: "The second factor is on" }).waitFor();
  await isSound(page, "the page with the recovery codes");
  await page.getByRole("link", { name: "I have them" }).click();
  await page.getByText("10 of 10 recovery codes are left").waitFor();
});

step("signs out everywhere, and signs in with the password and a code", async () => {
  await page.getByRole("button", { name: "Sign out everywhere, this browser included" }).click();
  await page.getByText("You are signed out everywhere").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("Ada");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Code").fill("000000");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  // No code counts twice.
  await page.getByLabel("Code").fill(code(device, 1));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("There are no agents yet.").waitFor();
});

step("makes an agent, and its token", async () => {
  await page.getByRole("link", { name: "New agent" }).click();
  await page.getByLabel("Name", { exact: true }).fill(wren.name);
  await page.getByLabel("Model", { exact: true }).fill("builtin:careful");
  await page.getByRole("button", { name: "Make the agent" }).click();
  await page.getByRole("heading", { name: wren.name, level: 1 }).waitFor();
  wren.path = new URL(page.url()).pathname;
  wren.id = wren.path.split("/").at(-1);
  await page.getByRole("link", { name: "Settings", exact: true }).click();
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByText("It is shown only once.").waitFor();
  wren.token = (await page.locator("pre").first().innerText()).trim();
  // Shown once: it is not there again.
  await page.goto(`${wren.path}/settings`);
  assert.ok(!(await page.content()).includes(wren.token));
});

step("the agent saves memories and writes its own prompt", async () => {
  const memories = MEMORIES.map((text) => ({
    content: told(text),
    kind: "core",
    tags: [CANARY],
    source: `a letter from ${CANARY}`,
  }));
  await call("POST", `/v1/agents/${wren.id}/memories/batch`, { memories });
  // So that a session can remove enough to trip the breaker.
  await installation.call("PATCH", `/v1/agents/${wren.id}`, { loss_guard: "off" });
  for (const field of ["system_prompt", "refinement_prompt"]) {
    await call("PUT", `/v1/agents/${wren.id}/self/${field}`, { value: `I live in ${CANARY}.` });
  }
  await page.goto(wren.path);
  await page.getByText("8", { exact: true }).first().waitFor();
});

step("a session of the built-in refiner is seen to its end without loading the page again", async () => {
  await page.getByRole("button", { name: "Refine now" }).click();
  await page.waitForURL(/\/sessions\/[^/]+$/);
  wren.sessions = [new URL(page.url()).pathname];
  let loads = 0;
  page.on("load", () => loads++);
  await page.getByText("completed", { exact: true }).waitFor();
  await page.getByRole("row").filter({ hasText: "session completed" }).waitFor();
  assert.ok(loads <= 1, "the page was loaded again");
  await isSound(page, "the page of a session that Memoir drove");
  const session = await installation.call("GET", `/v1${wren.sessions[0]}`);
  assert.equal(session.edits, 1);
});

step("a session that the agent runs is watched edit by edit, and closed by the breaker", async () => {
  const { id } = await call("POST", `/v1/agents/${wren.id}/sessions`, { driver: "agent" });
  wren.sessions.push(`/sessions/${id}`);
  await page.goto(`/sessions/${id}`);
  await page.getByText("This page follows the session.").waitFor();
  let loads = 0;
  page.on("load", () => loads++);
  const tool = (name, body) => call("POST", `/v1/sessions/${id}/tools/${name}`, body);
  const rows = page.getByRole("row");
  const [first] = (await call("GET", `/v1/agents/${wren.id}/memories?kind=core`)).items;
  await tool("delete_memory", { id: first.number });
  await rows.filter({ hasText: "taken out of the prompt" }).filter({ hasText: `#${first.number}` }).waitFor();
  await tool("update_memory", { id: 5, content: told("Marta prefers linen thread") });
  await rows.filter({ hasText: "rewritten" }).filter({ hasText: "#5" }).waitFor();
  await page.getByText("running", { exact: true }).waitFor();
  const tripped = await tool("consolidate_memories", { ids: [3, 4, 6], content: told("So it was") });
  assert.equal(tripped.type, "refinement_rolled_back");
  await rows.filter({ hasText: "session rolled back" }).waitFor();
  await page.getByText("rolled back", { exact: true }).waitFor();
  assert.equal(loads, 0, "the page was loaded again");
  // What came with the stream is searched like every other answer.
  // The page may show the end first: it was loading itself for an earlier event.
  const { answers } = installation.witness;
  const streams = () => answers.filter((answer) => answer.type.startsWith("text/event-stream"));
  await until("the end in the stream", () => streams().some((stream) => stream.text.includes("rolled_back")));
  await isSound(page, "the page of a session that was watched");
});

step("the first session is rolled back, past a conflict", async () => {
  const merged = await installation.call("GET", `/v1${wren.sessions[0]}`);
  assert.equal(merged.state, "completed");
  const { items } = await call("GET", `/v1/agents/${wren.id}/memories?include=discarded&limit=50`);
  const changed = items.find((memory) => memory.discarded_at !== null);
  await installation.call("POST", `/v1/agents/${wren.id}/memories/${changed.number}/restore`);
  await page.goto(wren.sessions[0]);
  await page.getByRole("link", { name: "Roll back…" }).click();
  await page.getByText("1 later change of the same memories conflicts with it").waitFor();
  await holdsNoWords(page);
  await page.getByLabel("Undo these later changes too").check();
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByText("The session was rolled back.").waitFor();
  const undone = await installation.call("GET", `/v1${wren.sessions[0]}`);
  assert.notEqual(undone.undone_at, null);
});

step("a memory is protected", async () => {
  await page.goto(`${wren.path}/memories`);
  await openRow(page, 3);
  await page.getByRole("button", { name: "Protect memory 3" }).click();
  await page.getByRole("status").getByText("constitutional now").waitFor();
  await openRow(page, 3);
  await page.getByRole("button", { name: "Unprotect memory 3" }).waitFor();
});

step("no page shows a word, and the log verifies", async () => {
  await tour();
  await page.goto(`/audit?agent=${wren.id}`);
  await page.getByRole("button", { name: "Verify the chain" }).click();
  await page.getByRole("status").getByText("Everything matches").waitFor();
  // Not even on a page for reading, as long as nobody was let in.
  installation.witness.sawNoWords();
});

step("the agent lets the administrator in, and closes the open page by taking it back", async () => {
  const request = await letIn("To see why the first session was undone", "Look, but not for long.");
  await read("To see why the first session was undone");
  await call("POST", `/v1/access-requests/${request}/revoke`);
  await closes(request, "Wren revoked it.");
});

step("a second permission runs out in the open page", async () => {
  const begun = now();
  const request = await letIn("To see whether the keys are still in the tin", "Once more, then.");
  const banner = await read("To see whether the keys are still in the tin");
  const left = () => banner.getByRole("timer").innerText();
  const first = await left();
  await until("the next second", async () => (await left()) !== first);
  await closes(request, "Its time is over.");
  const words = installation.witness.answers.slice(begun).filter((answer) => isTold(answer.text));
  assert.deepEqual([...new Set(words.map((answer) => isReading(answer.path)))], [true]);
});

step("nothing is left of it, but that it was read is on the record, and told to the agent", async () => {
  const after = now();
  await tour();
  installation.witness.sawNoWords(after);
  await page.goto(`/audit?agent=${wren.id}&action=access_used`);
  await page.getByRole("cell", { name: "access used" }).first().waitFor();
  const { items } = await call("GET", `/v1/agents/${wren.id}/memories?kind=journal&limit=50`);
  const entries = items.filter((entry) => entry.content.includes("To see whether the keys are still in the tin"));
  assert.equal(entries.length, 1);
});

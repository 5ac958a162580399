/** What an open page asks of the service by itself: no more than somebody looks at. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Installation, until } from "./support/installation.mjs";

/** Longer than a script waits before it asks, in milliseconds of the browser's own clock. */
const A_WHILE = 600;

let installation;
let wren;
let page;
before(async () => {
  installation = await Installation.open();
  wren = await installation.agent("Wren", [
    "The harbour lies to the west of the old town",
    "Ivo taught me how to read the tide tables",
    "We promised each other to come back in spring",
  ]);
  page = await installation.ada();
});
after(() => installation?.close());

test("the slider asks for one place at a time, and passes over those that it went past", async () => {
  const asked = [];
  let isHeld = true;
  let go;
  const released = new Promise((release) => (go = release));
  await page.goto(`${wren.path}/time`);
  await page.route(/\/time\?record=/, async (route) => {
    asked.push(new URL(route.request().url()).searchParams.get("record"));
    if (isHeld) await released;
    await route.continue();
  });
  const slider = page.getByRole("slider", { name: "Point in its history" });
  const newest = Number(await slider.inputValue());
  await slider.press("ArrowLeft");
  await until("the first question", () => asked.length === 1);
  for (let times = 0; times < 2; times++) {
    await slider.press("ArrowLeft");
    await page.evaluate((time) => new Promise((over) => setTimeout(over, time)), A_WHILE);
  }
  assert.deepEqual(asked, [`${newest - 1}`]);
  isHeld = false;
  go();
  await page.getByRole("heading", { name: `After record ${newest - 3}` }).waitFor();
  assert.deepEqual(asked, [`${newest - 1}`, `${newest - 3}`]);
  installation.isCalm();
});

test("the page of an agent shows by itself that its program has called", async () => {
  const { id } = await installation.call("POST", "/v1/agents", { name: "Lark" });
  const { token } = await installation.call("POST", `/v1/agents/${id}/tokens`, {});
  await page.goto(`/agents/${id}`);
  await page.getByText("no call yet").waitFor();
  await installation.call("GET", `/v1/agents/${id}/context`, undefined, token);
  await page.getByRole("status").getByText("connected", { exact: true }).waitFor();
  installation.isCalm();
});

test("a page that nobody looks at holds no stream, and has caught up when somebody does", async () => {
  const { id } = await wren.call("POST", `/v1/agents/${wren.id}/sessions`, { driver: "agent" });
  const open = new Set();
  const isStream = (request) => request.url().endsWith("/events");
  page.on("request", (request) => isStream(request) && open.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
  await page.goto(`/sessions/${id}`);
  await page.getByText("This page follows the session.").waitFor();
  await until("the stream", () => open.size === 1);
  /** As if another tab was chosen, or this one again: headless windows are all in sight. */
  const turn = (isHidden) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
  await turn(true);
  await until("the end of the stream", () => open.size === 0);
  await wren.call("POST", `/v1/sessions/${id}/tools/protect_memory`, { id: 2 });
  await turn(false);
  await page.getByRole("row").filter({ hasText: "protected" }).waitFor();
  await turn(true);
  await wren.call("POST", `/v1/sessions/${id}/tools/complete_refinement`, { summary: "Nothing to do." });
  await turn(false);
  await page.getByText("completed", { exact: true }).waitFor();
  assert.equal(await page.getByRole("row").filter({ hasText: "session completed" }).count(), 1);
  installation.isCalm();
});

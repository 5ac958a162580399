/**
 * Every page, light and dark, at a desk and on a phone: nobody is barred from it, nothing moves, nothing
 * is cut off, and it weighs little. Leaves a picture of each in target/screenshots, or in the folder that
 * MEMOIR_SCREENSHOTS names.
 */

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";

import { settle } from "./support/fleet.mjs";
import { DESKTOP, House, PHONE } from "./support/house.mjs";
import { barriers, isSound, overhang, settled, shift } from "./support/looks.mjs";

const pictures =
  process.env.MEMOIR_SCREENSHOTS ?? fileURLToPath(new URL("../../target/screenshots", import.meta.url));

/** What the first page may weigh, with all that it loads. */
const MOST_BYTES = 100_000;

const looks = ["light", "dark"].flatMap((colorScheme) => [
  { look: `${colorScheme}-desktop`, options: { colorScheme, viewport: DESKTOP } },
  {
    look: `${colorScheme}-phone`,
    options: { colorScheme, viewport: PHONE, deviceScaleFactor: 1, isMobile: true, hasTouch: true },
  },
]);

let house;
/** The addresses of what is looked at. */
const at = {};
before(async () => {
  await mkdir(pictures, { recursive: true });
  house = await House.open({ clock: true });
  const fleet = await settle(house);
  const { wren } = fleet;
  at.agent = `/agents/${wren.id}`;
  at.empty = `/agents/${fleet["old-lighthouse"].id}`;
  at.session = await latest(wren);
  at.rolledBack = await latest(fleet["field-notes"]);
  at.running = `/sessions/${await working(fleet["harbour-desk"])}`;
});
after(() => house?.close());

/** The page of an agent's latest session. */
async function latest(agent) {
  const { items } = await house.call("GET", `/v1/agents/${agent.id}/sessions?limit=1`);
  return `/sessions/${items[0].id}`;
}

/** A session that the agent is in the middle of. */
async function working(agent) {
  const session = await agent.open();
  for (const id of [3, 9, 12, 15]) await agent.use(session, "delete_memory", { id });
  return session;
}

/** Every page: its name, where it is, and whether one has to be signed in. */
const pages = [
  ["sign-in", () => "/sign-in", false],
  ["fleet", () => "/"],
  ["fleet-searched", () => "/?q=o&sort=mass"],
  ["fleet-nobody", () => "/?q=nobody+of+this+name"],
  ["agent", () => at.agent],
  ["agent-empty", () => at.empty],
  ["memories", () => `${at.agent}/memories`],
  ["memories-discarded", () => `${at.agent}/memories?discarded=yes&done=protect#memory-2`],
  ["sessions", () => `${at.agent}/sessions`],
  ["session", () => at.session],
  ["session-rolled-back", () => at.rolledBack],
  ["session-running", () => at.running],
  ["roll-back", () => `${at.session}/roll-back`],
  ["audit", () => "/audit"],
  ["audit-of-an-agent", () => `/audit?agent=${at.agent.split("/").at(-1)}`],
  ["not-there", () => "/agents/nobody"],
];

/** What stands for the parts of an address that name one thing among many. */
function kind(address) {
  const { pathname } = new URL(address, house.url);
  return pathname.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID").replace(/\/memories\/\d+/, "/memories/N");
}

test("what measures the pages notices what is wrong", async () => {
  const wrong = `<html><head><title></title></head><body><input><div style="width:3000px">wide</div>
    <p id="late" style="height:0"></p><p>This moves down.</p>
    <script>setTimeout(() => { late.style.height = "300px"; }, 100)</script>`;
  const server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(wrong));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const page = await (await house.browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction(() => document.getElementById("late").style.height === "300px");
  const found = (await barriers(page)).map((line) => line.split(":")[0]);
  for (const rule of ["document-title", "html-has-lang", "label"]) assert.ok(found.includes(rule), found.join());
  assert.ok((await overhang(page)) > 1000);
  assert.notDeepEqual(await shift(page), []);
  await page.context().close();
  server.close();
});

for (const { look, options } of looks) {
  test(`every page, ${look}`, async (t) => {
    const stranger = await house.window(options);
    const ada = await house.ada(options);
    for (const [name, path, isSignedIn = true] of pages) {
      await t.test(name, async () => {
        const page = isSignedIn ? ada : stranger;
        await page.goto(path());
        await settled(house, page);
        await page.screenshot({ path: join(pictures, `${name}-${look}.png`), fullPage: true });
        await isSound(page, `${name}, ${look}`);
      });
    }
    await stranger.context().close();
    await ada.context().close();
    house.isCalm();
  });
}

test("no page is forgotten above", async () => {
  const page = await house.ada();
  const known = new Set(pages.map(([, path]) => kind(path())));
  for (const [name, path] of pages) {
    await page.goto(path());
    const links = await page.locator("main a[href], header a[href]").evaluateAll((found) => found.map((link) => link.href));
    for (const link of links) assert.ok(known.has(kind(link)), `${name} leads to ${link}, which is not looked at`);
  }
  await page.context().close();
});

test("the first page weighs less than 100 kB, and what it loads is loaded once", async () => {
  const page = await house.ada();
  const first = house.witness.answers.length;
  await page.goto("/");
  await settled(house, page);
  const loaded = house.witness.answers.slice(first);
  const bytes = loaded.reduce((sum, answer) => sum + answer.bytes, 0);
  assert.ok(bytes < MOST_BYTES, `${bytes} bytes: ${loaded.map((answer) => `${answer.path} ${answer.bytes}`).join(", ")}`);
  const second = house.witness.answers.length;
  await page.getByRole("link", { name: "wren" }).click();
  await settled(house, page);
  const again = house.witness.answers.slice(second).map((answer) => answer.path);
  const once = new Set(loaded.map((answer) => answer.path));
  assert.deepEqual(again.filter((path) => once.has(path)), []);
  await page.context().close();
});

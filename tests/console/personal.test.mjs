/**
 * The personal page of the owner of an open installation: opened by the link that `memoir ui` prints, searched as one
 * types, by keys alone and without scripts, in both colours and on six screens.
 */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { after, before, test } from "node:test";

import { DESKTOP, PATIENCE, PHONE, launch } from "./support/installation.mjs";
import { barriers, overhang, shift } from "./support/looks.mjs";
import { binary } from "../support/memoir-service.mjs";

const run = promisify(execFile);
/** Where a picture of each page is left; nowhere unless it is named. */
const pictures = process.env.MEMOIR_SCREENSHOTS;

/** What the list may weigh, with all that it loads. */
const MOST_BYTES = 100_000;
const NARROW = { width: 320, height: 640 };
/** The widths of windows, by name. */
const WIDTHS = { desktop: DESKTOP.width, wide: 1440, laptop: 1024, tablet: 768 };

let folder;
let environment;
let page;
let link;
let browser;
/** The cookies of a browser that has opened the link. */
let opened;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "memoir-personal-"));
  environment = { PATH: process.env.PATH ?? "", HOME: folder };
  await memoir("agent", "create", "wren", "--model", "builtin:careful");
  for (const text of [
    "The harbour lies to the west of the old town",
    "Ivo taught me how to read the tide tables",
    "Marta prefers linen thread",
  ]) {
    await memoir("remember", "wren", text, "--tag", "letters");
  }
  await memoir("remember", "wren", "Marta prefers silk thread", "--replaces", "3");
  await memoir("remember", "wren", "A walk along the harbour", "--kind", "journal");
  page = spawn(binary, ["ui", "--json"], { env: environment, stdio: ["ignore", "pipe", "ignore"] });
  const [line] = await once(createInterface({ input: page.stdout }), "line");
  link = JSON.parse(String(line)).link;
  browser = await launch();
  const window = await browser.newPage();
  await window.goto(link);
  await window.getByRole("heading", { name: "wren" }).waitFor();
  opened = await window.context().storageState();
  await window.context().close();
});
after(async () => {
  await browser?.close();
  page?.kill("SIGTERM");
  if (page && page.exitCode === null) await once(page, "exit");
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
});

/** What a command prints with `--json`. */
async function memoir(...args) {
  const { stdout } = await run(binary, [...args, "--json"], { env: environment });
  return JSON.parse(stdout);
}

/** A window of the owner; with the complaints of its pages. */
async function window(options = {}) {
  const context = await browser.newContext({ baseURL: new URL(link).origin, viewport: DESKTOP, storageState: opened, ...options });
  context.setDefaultTimeout(PATIENCE);
  const opening = await context.newPage();
  opening.complaints = [];
  opening.on("pageerror", (error) => opening.complaints.push(error.message));
  opening.on("console", (message) => message.type() === "error" && opening.complaints.push(message.text()));
  return opening;
}

/** The agent's memories, opened. */
async function memories(options) {
  const shown = await window(options);
  await shown.goto("/memory");
  await shown.getByRole("heading", { name: "wren" }).waitFor();
  return shown;
}

/** The numbers of the listed memories. */
async function listed(shown) {
  return (await shown.locator("#found h3").allInnerTexts()).map((number) => Number(number.slice(1)));
}

test("a browser without the link sees nothing, and no name of the link is in the address afterwards", async () => {
  const stranger = await window({ storageState: undefined });
  for (const path of ["/memory", "/"]) {
    await stranger.goto(path);
    await stranger.getByRole("heading", { name: "This page opens by its link" }).waitFor();
    assert.ok(!(await stranger.content()).includes("harbour"));
  }
  await stranger.goto(link);
  await stranger.getByRole("heading", { name: "wren" }).waitFor();
  assert.ok(!stranger.url().includes(new URL(link).pathname));
  await stranger.context().close();
});

test("memories are searched as one types", async () => {
  const shown = await memories();
  assert.deepEqual(await listed(shown), [5, 4, 3, 2, 1]);
  const search = shown.getByRole("searchbox", { name: "Words or a question" });
  await search.pressSequentially("harbour");
  // A part of the word is searched too, where the machine types slowly: the address tells which result is shown.
  await shown.waitForURL((address) => address.search === "?q=harbour");
  await shown.locator("#found", { hasText: "the best first" }).waitFor();
  assert.deepEqual((await listed(shown)).sort(), [1, 5]);
  assert.equal(await shown.locator("#stated").innerText(), "2 memories, the best first");
  await shown.reload();
  assert.deepEqual((await listed(shown)).sort(), [1, 5]);
  await search.fill("");
  await shown.locator("#found", { hasText: "the newest first" }).waitFor();
  await shown.getByText("Filters and order").click();
  await shown.getByLabel("Kind").selectOption("archival");
  await shown.locator("#found", { hasText: "1 memory" }).waitFor();
  assert.deepEqual(await listed(shown), [3]);
  assert.deepEqual(shown.complaints, []);
  await shown.context().close();
});

test("the list weighs little, and the page is the same without scripts", async () => {
  const shown = await window({ javaScriptEnabled: false });
  const responses = [];
  shown.on("response", (response) => responses.push(response));
  await shown.goto("/memory", { waitUntil: "networkidle" });
  // The address of the one agent is given by a redirect, whose body no browser keeps.
  const loaded = responses.filter((response) => response.status() < 300 || response.status() >= 400);
  const bodies = await Promise.all(loaded.map((response) => response.body()));
  const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
  assert.ok(bytes > 0 && bytes < MOST_BYTES, `${bytes} bytes`);
  await shown.getByRole("searchbox").fill("tide tables");
  await shown.getByRole("button", { name: "Search" }).click();
  await shown.waitForURL((address) => address.searchParams.get("q") === "tide tables");
  assert.equal((await listed(shown))[0], 2);
  await shown.getByRole("link", { name: "#2", exact: true }).click();
  await shown.getByText("Edit", { exact: true }).click();
  await shown.getByLabel("Its text").fill("Ivo taught me how to read tide tables, in Brest");
  await shown.getByRole("button", { name: "Save" }).click();
  await shown.getByText("The new text is saved").waitFor();
  await shown.getByRole("link", { name: "This week" }).click();
  await shown.getByRole("button", { name: /^Undo the edit/ }).click();
  await shown.getByText("The edit is undone").waitFor();
  await shown.getByRole("link", { name: "What it sees now" }).click();
  await shown.getByRole("button", { name: "Show" }).waitFor();
  await shown.context().close();
  const ledger = await memoir("ledger", "wren");
  assert.ok(ledger.items.some((memory) => memory.number === 2));
});

test("a memory is found, opened and protected by keys alone", async () => {
  const shown = await memories();
  const reach = async (name) => {
    await shown.waitForLoadState("load");
    for (let times = 0; times < 60; times++) {
      await shown.keyboard.press("Tab");
      const focused = await shown.evaluate(() => {
        const element = document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        const label = element.labels?.[0]?.textContent ?? element.getAttribute("aria-label") ?? element.textContent;
        return { is: label.trim(), isMarked: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 };
      });
      assert.ok(focused.isMarked, `it is not seen that ${focused.is} has the focus`);
      if (focused.is === name) return;
    }
    assert.fail(`${name} is not reached`);
  };
  await reach("Skip to the content");
  await reach("Words or a question");
  await shown.keyboard.type("old town");
  // A part of it may be searched first, and the whole then replaces what has the focus.
  await shown.waitForURL((address) => address.searchParams.get("q") === "old town");
  await shown.locator("#found", { hasText: "1 memory" }).waitFor();
  await reach("#1");
  await shown.keyboard.press("Enter");
  await shown.getByRole("heading", { name: "History" }).waitFor();
  await reach("Protect memory #1");
  await shown.keyboard.press("Enter");
  await shown.getByText("The memory is constitutional now").waitFor();
  const { stdout } = await run(binary, ["audit", "list", "wren", "--json"], { env: environment });
  const records = stdout.trim().split("\n").map((line) => JSON.parse(line));
  const last = records.find((record) => record.action === "memory_protected");
  assert.deepEqual(last.actor, { kind: "owner", name: "browser" });
  await shown.context().close();
});

test("the slider shows what is left out", async () => {
  for (let times = 0; times < 12; times++) {
    await memoir("remember", "wren", `Letter ${times}: ${"the lamps were lit by the water ".repeat(6)}`);
  }
  const shown = await memories();
  await shown.getByRole("link", { name: "What it sees now" }).click();
  // The script of the slider has run by then.
  await shown.waitForURL((address) => address.pathname.endsWith("/prompt"));
  const slider = shown.getByRole("slider", { name: "At most so many tokens" });
  await slider.focus();
  await slider.press("Home");
  await shown.waitForURL((address) => address.search === "?max=100");
  await shown.getByRole("heading", { name: "Left out" }).waitFor();
  await slider.press("End");
  await shown.getByRole("heading", { name: "Without a bound of the whole" }).waitFor();
  assert.deepEqual(shown.complaints, []);
  await shown.context().close();
});

const looks = ["light", "dark"].flatMap((colorScheme) => [
  ...Object.entries(WIDTHS).map(([name, width]) => ({
    look: `${colorScheme}-${name}`,
    options: { colorScheme, viewport: { ...DESKTOP, width } },
  })),
  { look: `${colorScheme}-phone`, options: { colorScheme, viewport: PHONE, isMobile: true, hasTouch: true } },
  { look: `${colorScheme}-narrow`, options: { colorScheme, viewport: NARROW, isMobile: true, hasTouch: true } },
]);

for (const { look, options } of looks) {
  test(`every page is usable, and nothing on it moves: ${look}`, async () => {
    const shown = await memories(options);
    const home = new URL(shown.url()).pathname;
    const pages = ["", "?q=harbour", "?kind=journal&tag=none", "/1", "/3", "/2/shred", "/prompt", "/prompt?max=150", "/week", "/archive", "/waiting", "/999"];
    for (const path of pages) {
      await shown.goto(home + path);
      await shown.waitForLoadState("load");
      await shown.evaluate(() => document.fonts.ready);
      const name = path.replace(/\W+/g, "-");
      if (pictures) await shown.screenshot({ path: join(pictures, `personal${name}-${look}.png`), fullPage: true });
      const where = `${path}, ${look}`;
      assert.deepEqual(await barriers(shown), [], where);
      assert.equal(await overhang(shown), 0, `${where} is wider than its window`);
      assert.deepEqual(await shift(shown), [], `${where} moves`);
    }
    await shown.context().close();
  });
}

test("programs keep their memory while the page is open, and nothing is closed", async () => {
  const { closed } = await memoir("installation", "show");
  assert.equal(closed, false);
  const event = ["hook", "session-start", "--client", "claude-code", "--agent", "wren", "--within", String(PATIENCE)];
  const hook = spawn(binary, event, { env: environment, stdio: ["pipe", "pipe", "ignore"] });
  hook.stdin.end(JSON.stringify({ session_id: "x", cwd: folder, hook_event_name: "SessionStart", source: "startup" }));
  let told = "";
  hook.stdout.on("data", (part) => (told += part));
  await once(hook, "close");
  assert.match(told, /harbour/);
});

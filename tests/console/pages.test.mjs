/**
 * Every page, light and dark, in windows of every width and on a phone: nobody is barred from it, nothing
 * moves, nothing is cut off, Tab goes through it, and it weighs little. Leaves a picture of each
 * in the folder that MEMOIR_SCREENSHOTS names.
 */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, describe, test } from "node:test";

import { settle } from "./support/fleet.mjs";
import { code } from "./support/device.mjs";
import { DESKTOP, Installation, PASSWORD, PHONE, askToRead, openRow, signIn, until } from "./support/installation.mjs";
import { barriers, isSound, isWalked, overhang, settled, shift } from "./support/looks.mjs";
import { told } from "./support/witness.mjs";

/** Where a picture of each page is left; nowhere unless it is named. */
const pictures = process.env.MEMOIR_SCREENSHOTS;

/** Where the pictures of docs/console.md are made anew; nowhere unless it is named. */
const shown = process.env.MEMOIR_PICTURES && resolve(fileURLToPath(new URL("../..", import.meta.url)), process.env.MEMOIR_PICTURES);
/** Which they are, and how much of each is on them from above. */
const SHOWN = {
  "fleet-light-desktop": 730,
  "agent-dark-desktop": 1140,
  "session-rolled-back-light-desktop": 1010,
  "reading-memories-light-phone": PHONE.height,
};

/** What the first page may weigh, with all that it loads. */
const MOST_BYTES = 100_000;

/** The widths at which a page is looked at beside that of a desk. */
const WIDTHS = [1440, 1024, 768, 320];

const looks = ["light", "dark"].flatMap((colorScheme) => [
  { look: `${colorScheme}-desktop`, options: { colorScheme, viewport: DESKTOP } },
  {
    look: `${colorScheme}-phone`,
    options: { colorScheme, viewport: PHONE, deviceScaleFactor: 1, isMobile: true, hasTouch: true },
  },
]);

/** Whether a page is one for reading under an agent's permission. */
const isReading = (path) => /^\/access\/[^/]+\/(memories|sessions|records|prompts)/.test(path);

let installation;
/** The addresses of what is looked at. */
const at = {};
/** What Grace's browser holds, of an account without agents. */
let grace;
before(async () => {
  installation = await Installation.open({ clock: true });
  const fleet = await settle(installation);
  const { wren, greenhouse, "studio-mina": mina, "night-archivist": archivist } = fleet;
  at.agent = wren.path;
  at.id = wren.id;
  at.empty = fleet["old-lighthouse"].path;
  at.session = await latest(wren);
  at.rolledBack = await latest(fleet["field-notes"]);
  await archivist.save(["Silas reads the almanac", "silas reads the almanac"].map(told));
  await archivist.refine({ rehearsal: true });
  at.rehearsal = await latest(archivist);
  at.blocked = await blocked(fleet["tutor-anselm"]);
  at.running = `/sessions/${await working(greenhouse)}`;
  const ada = await installation.ada();
  at.waiting = `/access/${await askToRead(ada, wren, "To see why the last session was so short", { minutes: 15 })}`;
  const request = await askToRead(ada, mina, "A customer says that her wishes were mixed up with another’s", {
    scope: "all",
    minutes: 60,
  });
  at.granted = `/access/${request}`;
  const answer = { granted: true, reason: "Look at the letters, and leave the diary alone." };
  await mina.call("POST", `/v1/access-requests/${request}/answer`, answer);
  at.readSession = `${at.granted}${await latest(mina)}`;
  at.connect = await connecting("https://connector.example/callback");
  await ada.context().close();
  grace = await newcomer();
});
after(() => installation?.close());

/** The page on which a program is connected that is answered there. */
async function connecting(callback) {
  const { url } = installation.service;
  const registered = await fetch(`${url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "A hosted program", redirect_uris: [callback] }),
  });
  const { client_id } = await registered.json();
  const parameters = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: callback,
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    resource: `${url}/mcp`,
  });
  return `/oauth/authorize?${parameters}`;
}

/** The page of an agent's latest session. */
async function latest(agent) {
  const { items } = await installation.call("GET", `/v1/agents/${agent.id}/sessions?limit=1`);
  return `/sessions/${items[0].id}`;
}

/** The page of a session whose memories were changed since. */
async function blocked(agent) {
  const session = await latest(agent);
  const { items } = await agent.call("GET", `/v1/agents/${agent.id}/audit?session=${session.split("/").at(-1)}`);
  const { memory } = items.find((record) => record.action === "memory_refinement_delete");
  await installation.call("POST", `/v1/agents/${agent.id}/memories/${memory}/restore`);
  return session;
}

/** A session that the agent is in the middle of. */
async function working(agent) {
  const session = await agent.open();
  for (const id of [2, 4, 5, 7, 9]) {
    const { type } = await agent.use(session, "delete_memory", { id });
    assert.equal(type, "deleted");
  }
  return session;
}

/** An administrator of another account, with a second factor. */
async function newcomer() {
  await installation.service.memoir("account", "create", "lab");
  await installation.service.memoir("--account", "lab", "user", "add", "Grace");
  const page = await installation.window();
  await signIn(page, "Grace", "lab");
  await page.goto("/account/second-factor");
  await page.getByLabel("Code of the new device").fill(code(await page.locator("code.typed").innerText()));
  await page.getByLabel("Your password").fill(PASSWORD);
  await page.getByRole("button", { name: "Turn it on" }).click();
  await page.getByRole("heading", { name: "The second factor is on" }).waitFor();
  const state = await page.context().storageState();
  await page.context().close();
  return state;
}

/** Goes to an address that is known by then. */
const go = (address) => (page) => page.goto(typeof address === "function" ? address() : address);

/** Presses a button of a page. */
const press = (address, name) => async (page) => {
  await go(address)(page);
  await page.getByRole("button", { name, exact: true }).click();
};

/** Makes the first token of a new agent: any later one needs the agent's consent. */
const firstToken = async (page) => {
  at.made = (at.made ?? 0) + 1;
  const { id } = await installation.call("POST", "/v1/agents", { name: `new-${at.made}` });
  await press(`/agents/${id}/settings`, "Make a token")(page);
};

/** Every page: its name, how one comes to it, and who looks where it is not Ada. */
const pages = [
  ["sign-in", go("/sign-in"), "nobody"],
  ["sign-in-refused", refusedSignIn, "nobody"],
  ["sign-in-code", (page) => signIn(page, "Grace", "lab"), "nobody"],
  ["first-link-used", go("/first/none"), "nobody"],
  ["fleet", go("/")],
  ["fleet-searched", go("/?q=o&sort=mass")],
  ["fleet-nobody", go("/?q=nobody+of+this+name")],
  ["fleet-empty", go("/"), "Grace"],
  ["new-agent", go("/agents/new")],
  ["new-agent-refused", refusedAgent],
  ["agent", go(() => at.agent)],
  ["agent-empty", go(() => at.empty)],
  ["mass", go(() => `${at.agent}/mass`)],
  ["memories", go(() => `${at.agent}/memories`)],
  ["memories-menu", openMenu],
  ["memories-archival", go(() => `${at.agent}/memories?kind=archival`)],
  ["memories-discarded", go(() => `${at.agent}/memories?discarded=yes&done=protect#memory-2`)],
  ["shred", go(() => `${at.agent}/memories/3/shred`)],
  ["sessions", go(() => `${at.agent}/sessions`)],
  ["session", go(() => at.session)],
  ["session-rolled-back", go(() => at.rolledBack)],
  ["session-rehearsal", go(() => at.rehearsal)],
  ["session-running", go(() => at.running)],
  ["roll-back", go(() => `${at.session}/roll-back`)],
  ["roll-back-blocked", go(() => `${at.blocked}/roll-back`)],
  ["time", go(() => `${at.agent}/time`)],
  ["time-earlier", go(() => `${at.agent}/time?record=40`)],
  ["settings", go(() => `${at.agent}/settings`)],
  ["settings-refused", refusedSettings],
  ["token", firstToken],
  ["erase", go(() => `${at.agent}/erase`)],
  ["access", go(() => `${at.agent}/access`)],
  ["access-refused", press(() => `${at.agent}/access`, "Ask the agent")],
  ["access-token", go(() => `${at.agent}/access/token`)],
  ["access-waiting", go(() => at.waiting)],
  ["access-granted", go(() => at.granted)],
  ["reading-memories", go(() => `${at.granted}/memories`)],
  ["reading-sessions", go(() => `${at.granted}/sessions`)],
  ["reading-session", go(() => at.readSession)],
  ["reading-records", go(() => `${at.granted}/records`)],
  ["reading-prompts", go(() => `${at.granted}/prompts`)],
  ["connect", go(() => at.connect)],
  ["connect-asked", press(() => `${at.connect}&agent=${at.id}`, "Ask it")],
  ["connect-refused", go(() => `${at.connect}&client_id=x`)],
  ["activity", go("/activity")],
  ["activity-filtered", go("/activity?action=memory_saved&actor=agent")],
  ["activity-refused", go("/activity?agent=nobody+of+this+name")],
  ["audit", go("/audit")],
  ["audit-of-an-agent", go(() => `/audit?agent=${at.id}`)],
  ["audit-verified", press(() => `/audit?agent=${at.id}`, "Verify the chain")],
  ["checkpoint", press("/audit", "Take a checkpoint")],
  ["account", go("/account")],
  ["account-second-factor", go("/account"), "Grace"],
  ["password", go("/account/password")],
  ["second-factor", go("/account/second-factor")],
  ["second-factor-another", go("/account/second-factor"), "Grace"],
  ["second-factor-off", go("/account/second-factor/off"), "Grace"],
  ["recovery-codes", go("/account/recovery-codes"), "Grace"],
  ["not-there", go("/agents/nobody")],
];

async function openMenu(page) {
  await page.goto(`${at.agent}/memories`);
  await openRow(page, 3);
}

async function refusedSignIn(page) {
  await page.goto("/sign-in");
  await page.getByLabel("Name", { exact: true }).fill("Ada");
  await page.getByLabel("Password").fill("not this one");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
}

async function refusedAgent(page) {
  await page.goto("/agents/new");
  await page.getByLabel("Name", { exact: true }).fill("wren");
  await page.getByLabel("Core token budget").fill("plenty");
  await page.getByRole("button", { name: "Make the agent" }).click();
  await page.getByRole("alert").waitFor();
}

async function refusedSettings(page) {
  await page.goto(`${at.agent}/settings`);
  await page.getByLabel("Refinement threshold").fill("high");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").waitFor();
}

/** Windows of everybody who looks, of that kind. */
async function windows(options) {
  const states = { nobody: undefined, Ada: installation.signedIn, Grace: grace };
  const opened = Object.entries(states).map(async ([who, storageState]) => [
    who,
    await installation.window({ ...options, storageState }),
  ]);
  return Object.fromEntries(await Promise.all(opened));
}

/** What stands for the parts of an address that name one thing among many. */
function kind(address) {
  const { pathname } = new URL(address, installation.url);
  return pathname.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID").replace(/\/memories\/\d+/, "/memories/N");
}

test("what measures the pages notices what is wrong", async () => {
  const wrong = `<html><head><title></title></head><body><input><div style="width:3000px">wide</div>
    <p id="late" style="height:0"></p><p>This moves down.</p>
    <script>new PerformanceObserver(() => { late.style.height = "300px"; }).observe({ type: "paint", buffered: true })</script>`;
  const server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(wrong));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  const page = await (await installation.browser.newContext()).newPage();
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.waitForFunction(() => document.getElementById("late").style.height === "300px");
  const found = (await barriers(page)).map((line) => line.split(":")[0]);
  for (const rule of ["document-title", "html-has-lang", "label"]) assert.ok(found.includes(rule), found.join());
  assert.ok((await overhang(page)) > 1000);
  await until("the movement", async () => (await shift(page)).length > 0);
  await page.context().close();
  server.close();

  const ada = await installation.ada();
  await ada.goto("/");
  await ada.evaluate((origin) => {
    const script = document.createElement("script");
    script.textContent = "1";
    const picture = document.createElement("img");
    picture.src = `${origin}/picture.png`;
    document.body.append(script, picture);
  }, `http://127.0.0.1:${port}`);
  const isNoticed = (part) => installation.complaints.some((complaint) => complaint.startsWith(`against the policy: ${part}`));
  await until("both complaints", () => isNoticed("script-src") && isNoticed("img-src"));
  await ada.context().close();
  installation.complaints.length = 0;
});

// Two at a time: one is drawn while the other is searched.
describe("every page", { concurrency: 2 }, () => {
  for (const { look, options } of looks) {
    test(look, async (t) => {
      const open = await windows(options);
      for (const [name, come, who = "Ada"] of pages) {
        await t.test(name, async () => {
          const page = open[who];
          await come(page);
          await settled(installation, page);
          await picture(page, `${name}-${look}`);
          await isSound(page, `${name}, ${look}`);
          // While a session runs, its parts are replaced.
          if (look === "light-desktop" && name !== "session-running") await isWalked(page, name);
          if (!options.isMobile) await atEveryWidth(page, name, options.colorScheme);
        });
      }
      for (const page of Object.values(open)) await page.context().close();
      installation.isCalm(isReading);
    });
  }
});

/** The page in wider and narrower windows: everybody can use it, and it is no wider than they are. */
async function atEveryWidth(page, name, colour) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: DESKTOP.height });
    await picture(page, `${name}-${colour}-${width}`);
    const where = `${name}, ${colour}, ${width} pixels`;
    assert.deepEqual(await barriers(page), [], where);
    assert.equal(await overhang(page), 0, `${where}: wider than its window`);
  }
  await page.setViewportSize(DESKTOP);
}

/** Leaves a picture of the page. */
async function picture(page, name) {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  const height = SHOWN[name];
  if (!shown || height === undefined) return;
  const clip = { x: 0, y: 0, width: page.viewportSize().width, height };
  await page.screenshot({ path: join(shown, `${name}.png`), fullPage: true, clip });
}

test("no page is forgotten above", async () => {
  const { Ada: page, Grace, nobody } = await windows({});
  const known = new Set();
  const links = new Map();
  for (const [name, come, who = "Ada"] of pages) {
    const window = { Ada: page, Grace, nobody }[who];
    await come(window);
    known.add(kind(window.url()));
    const found = window.locator("main a[href]:not([download]), header a[href]");
    for (const link of await found.evaluateAll((all) => all.map(({ href }) => href))) links.set(kind(link), name);
  }
  const forgotten = [...links].filter(([link]) => !known.has(link)).map(([link, name]) => `${link}, from ${name}`);
  assert.deepEqual(forgotten, []);
  for (const window of [page, Grace, nobody]) await window.context().close();
});

test("the first page weighs less than 100 kB, and what it loads is loaded once", async () => {
  const page = await installation.ada();
  const first = installation.witness.answers.length;
  await page.goto("/");
  await settled(installation, page);
  const loaded = installation.witness.answers.slice(first);
  const bytes = loaded.reduce((sum, answer) => sum + answer.bytes, 0);
  assert.ok(bytes < MOST_BYTES, `${bytes} bytes: ${loaded.map((answer) => `${answer.path} ${answer.bytes}`).join(", ")}`);
  const second = installation.witness.answers.length;
  await page.getByRole("link", { name: "wren" }).click();
  await settled(installation, page);
  const again = installation.witness.answers.slice(second).map((answer) => answer.path);
  const once = new Set(loaded.map((answer) => answer.path));
  assert.deepEqual(again.filter((path) => once.has(path)), []);
  await page.context().close();
});

/**
 * The real service, a browser that looks at it through a witness, and programs that reach it beside the
 * browser.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access, mkdtemp, open, rm } from "node:fs/promises";
import { endianness, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { chromium } from "playwright-core";

import { Service } from "../../support/memoir-service.mjs";
import { CANARY, Witness, isTold, told } from "./witness.mjs";

const run = promisify(execFile);

/** Of every administrator. */
export const PASSWORD = "correct horse battery";

/** How long something may take that a test waits for, in milliseconds. */
export const PATIENCE = 60_000;

/** The sizes of the screens that pages are looked at on. */
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

/**
 * What a condition comes to, once that is something.
 * @template T
 * @param {string} what it is, for when it does not come about
 * @param {() => T | Promise<T>} condition
 * @returns {Promise<NonNullable<T>>}
 */
export async function until(what, condition) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await condition();
    if (found) return found;
    assert.ok(Date.now() < end, `${what} does not come about`);
    await wait(20);
  }
}

/** Starts the browser. */
export async function launch() {
  const args = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  // The browser's own sandbox does not work for root.
  return chromium.launch({ executablePath: await found(), args, chromiumSandbox: process.getuid?.() !== 0 });
}

/** The browser of this machine: what `CHROMIUM_BIN` names, or the first one of a known name. */
async function found() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const known = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  for (const path of [process.env.CHROMIUM_BIN ?? "", ...known]) {
    if (path !== "" && (await access(path).then(() => true, () => false))) return path;
  }
  throw new Error("there is no Chromium: install it, or name it in CHROMIUM_BIN");
}

/** The time of day that a service goes by; see `clock.c`. */
class Clock {
  static async make() {
    const clock = new Clock();
    clock.folder = await mkdtemp(join(tmpdir(), "memoir-clock-"));
    const library = join(clock.folder, "clock.so");
    const source = fileURLToPath(new URL("clock.c", import.meta.url));
    await run(process.env.CC ?? "cc", ["-shared", "-fPIC", "-O1", "-o", library, source]);
    const file = join(clock.folder, "moved-by");
    clock.file = await open(file, "w");
    await clock.move(0);
    clock.environment = { LD_PRELOAD: library, MEMOIR_TEST_CLOCK: file };
    return clock;
  }

  /**
   * @param {number} time what time it is to be, in milliseconds as `Date.now()` counts them
   */
  async set(time) {
    await this.move(Math.round((time - Date.now()) / 1000));
  }

  /** Back to the time that it is. */
  async reset() {
    await this.move(0);
  }

  async move(seconds) {
    const bytes = Buffer.alloc(8);
    if (endianness() === "LE") bytes.writeBigInt64LE(BigInt(seconds));
    else bytes.writeBigInt64BE(BigInt(seconds));
    await this.file.write(bytes, 0, bytes.length, 0);
  }

  async close() {
    await this.file.close();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

export class Installation {
  /**
   * A service without agents, an administrator named Ada unless there is to be none, and a browser.
   * @param {{ clock?: boolean, administrator?: boolean }} [options]
   */
  static async open({ clock = false, administrator = true } = {}) {
    const installation = new Installation();
    try {
      if (clock) installation.clock = await Clock.make();
      installation.service = await Service.start({ MEMOIR_PASSWORD: PASSWORD, ...installation.clock?.environment });
      installation.witness = await Witness.of(installation.service.url);
      installation.browser = await launch();
      if (administrator) await installation.service.memoir("user", "add", "Ada");
    } catch (error) {
      await installation.close();
      throw error;
    }
    return installation;
  }

  constructor() {
    /** What the browser had to complain of. @type {string[]} */
    this.complaints = [];
  }

  /** Where the browser finds the console. */
  get url() {
    return this.witness.url;
  }

  /**
   * A request of a program, beside the browser; the answer's JSON.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {string} [token] the administrator's where none is given
   */
  async call(method, path, body, token = this.service.admin) {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const answer = await fetch(this.service.url + path, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path} was answered with ${answer.status}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /**
   * Makes an agent with `builtin:careful` and these memories, each with the canary in every place that
   * takes text. Its loss guard is off, so that small sessions may remove anything.
   * @param {string} name
   * @param {string[]} texts
   */
  async agent(name, texts) {
    const system_prompt = `You are ${name}, and live in ${CANARY}.`;
    const { id } = await this.call("POST", "/v1/agents", {
      name,
      model: "builtin:careful",
      system_prompt,
      loss_guard: "off",
    });
    const { token } = await this.call("POST", `/v1/agents/${id}/tokens`, {});
    const memories = texts.map((text) => ({
      content: told(text),
      kind: "core",
      tags: [CANARY],
      source: `a letter from ${CANARY}`,
    }));
    if (texts.length > 0) await this.call("POST", `/v1/agents/${id}/memories/batch`, { memories }, token);
    return {
      id,
      token,
      path: `/agents/${id}`,
      /** A request of the agent itself. */
      call: (method, path, body) => this.call(method, path, body, token),
    };
  }

  /**
   * A window that nobody has signed in with.
   * @param {import("playwright-core").BrowserContextOptions} [options]
   */
  async window(options = {}) {
    const context = await this.browser.newContext({ baseURL: this.url, viewport: DESKTOP, ...options });
    context.setDefaultTimeout(PATIENCE);
    await context.exposeFunction("tellOfViolation", (what) => this.complaints.push(`against the policy: ${what}`));
    await context.addInitScript(() =>
      document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
        window.tellOfViolation(`${violatedDirective} ${blockedURI}`),
      ),
    );
    const page = await context.newPage();
    this.watch(page);
    return page;
  }

  /**
   * A window with which Ada has signed in.
   * @param {import("playwright-core").BrowserContextOptions} [options]
   */
  async ada(options = {}) {
    if (this.signedIn === undefined) {
      const page = await this.window();
      await signIn(page, "Ada");
      this.signedIn = await page.context().storageState();
      await page.context().close();
    }
    return this.window({ ...options, storageState: this.signedIn });
  }

  /** Writes down whatever goes wrong in a window. */
  watch(page) {
    page.on("pageerror", (error) => this.complaints.push(`an error in a script: ${error.message}`));
    page.on("console", (message) => {
      const isAnswer = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isAnswer) this.complaints.push(`on the console: ${message.text()}`);
    });
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (origin !== this.url && protocol !== "data:") this.complaints.push(`a request to ${request.url()}`);
    });
    page.on("response", (response) => {
      const isPage = response.request().isNavigationRequest();
      if (!isPage && response.status() >= 400) this.complaints.push(`${response.status()} for ${response.url()}`);
    });
  }

  /**
   * That nothing went wrong in any window so far, and no word of an agent was in an answer.
   * @param {(path: string) => boolean} [excepted] pages that words are on
   */
  isCalm(excepted) {
    assert.deepEqual(this.complaints, []);
    this.witness.sawNoWords(0, excepted);
  }

  async close() {
    await this.browser?.close();
    this.witness?.close();
    await this.service?.stop();
    await this.clock?.close();
  }
}

/** Fills in the form of the sign-in page. */
export async function signIn(page, name, account = "") {
  await page.goto("/sign-in");
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByLabel("Account").fill(account);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => url.pathname !== "/sign-in");
}

/** Opens the menu in the row of a memory. */
export function openRow(page, number) {
  return page.locator(`summary[aria-label="Change memory ${number}"]`).click();
}

/**
 * Asks an agent on its page to be let in; the request's identifier.
 * @param {import("playwright-core").Page} page
 * @param {{ path: string }} agent
 * @param {string} purpose
 * @param {{ scope?: string, minutes?: number }} [wish]
 */
export async function askToRead(page, agent, purpose, { scope = "core", minutes = 1 } = {}) {
  await page.goto(agent.path);
  await page.getByRole("link", { name: "Access", exact: true }).click();
  await page.getByLabel("Purpose").fill(purpose);
  await page.getByLabel("To see").selectOption(scope);
  await page.getByLabel("Minutes").fill(String(minutes));
  await page.getByRole("button", { name: "Ask the agent" }).click();
  await page.getByText("has not answered yet.").waitFor();
  return new URL(page.url()).pathname.split("/").at(-1);
}

/** That no word of an agent is in an open page, wherever in it. */
export async function holdsNoWords(page) {
  for (const frame of page.frames()) {
    assert.ok(!isTold(await frame.content()), `a word in the markup of ${page.url()}`);
  }
  const shown = await page.evaluate(() => {
    const fields = [...document.querySelectorAll("input, textarea, select")].map((field) => field.value);
    return [document.title, document.body.innerText, ...fields].join("\n");
  });
  assert.ok(!isTold(shown), `a word on ${page.url()}`);
}


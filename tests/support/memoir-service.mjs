// @ts-check
/**
 * The real binary for tests: a throw-away database, the command line, and the service on a free port.
 *
 * `MEMOIR_BIN` names the binary; without it, it is the one that `cargo build -p memoir` makes.
 */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The path of the binary. */
export const binary = process.env.MEMOIR_BIN ?? fileURLToPath(new URL("../../target/debug/memoir", import.meta.url));

/** A database of its own, and `memoir serve` on it, until it is stopped. */
export class Service {
  /**
   * @param {string} folder
   * @param {Record<string, string>} environment
   */
  constructor(folder, environment) {
    this.folder = folder;
    /** What the binary is to be started with. */
    this.environment = environment;
    this.url = "";
    this.admin = "";
    /** What it has printed so far. @type {string[]} */
    this.printed = [];
    /** @type {import("node:child_process").ChildProcess | undefined} */
    this.process = undefined;
  }

  /**
   * @param {Record<string, string>} [more] what the binary finds in its environment besides
   * @returns {Promise<Service>}
   */
  static async start(more = {}) {
    const folder = await mkdtemp(join(tmpdir(), "memoir-test-"));
    // Nothing of whoever runs the tests is to count.
    const environment = {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      MEMOIR_DATABASE: `sqlite:${folder}/memoir.db`,
      ...more,
    };
    const service = new Service(folder, environment);
    service.admin = (await service.memoir("token", "create", "--role", "admin")).token;
    const child = spawn(binary, ["serve", "--listen", "127.0.0.1:0"], {
      env: environment,
      stdio: ["ignore", "pipe", "ignore"],
    });
    service.process = child;
    const lines = createInterface({ input: child.stdout });
    lines.on("line", (line) => service.printed.push(line));
    // Its output ends where it did not start.
    const [line] = await Promise.race([once(lines, "line"), once(lines, "close")]);
    if (!String(line).startsWith("listening on http://")) throw new Error("the service did not start");
    service.url = String(line).slice("listening on ".length).trim();
    return service;
  }

  /**
   * What a command prints with `--json`.
   * @param {...string} args
   * @returns {Promise<any>}
   */
  async memoir(...args) {
    const { stdout } = await run(binary, [...args, "--json"], { env: this.environment });
    return JSON.parse(stdout);
  }

  /**
   * The administrator's request.
   * @param {string} path
   * @param {object} body
   * @returns {Promise<any>}
   */
  async post(path, body) {
    const answer = await fetch(this.url + path, {
      method: "POST",
      headers: { Authorization: `Bearer ${this.admin}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}`);
    return answer.json();
  }

  /**
   * Makes an agent; its token. Its guard of losses is off unless the settings say otherwise: the scripted
   * sessions of these tests let go of far more than a year may, to reach the breaker and the undo behind it.
   * @param {string} name
   * @param {object} [settings]
   * @returns {Promise<string>}
   */
  async agent(name, settings = {}) {
    await this.post("/v1/agents", { name, loss_guard: "off", ...settings });
    return (await this.post(`/v1/agents/${name}/tokens`, {})).token;
  }

  async stop() {
    if (this.process !== undefined) {
      const gone = once(this.process, "exit");
      this.process.kill("SIGTERM");
      await gone;
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/**
 * Stands between the browser and the service, and keeps every answer as the browser was given it: heads,
 * bodies, streams and files alike.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";

/** The canary: a name that is in everything that is an agent's words, and nowhere else. */
export const CANARY = "Quillhaven";

/** A text as an agent saves it, with the canary. */
export const told = (text) => `${text}, in ${CANARY}`;

/** How the canary looks in base64, wherever in it it begins. */
const WRAPPED = [0, 1, 2].map((before) => {
  const text = Buffer.from("x".repeat(before) + CANARY).toString("base64");
  // The first and the last letters hold what stands beside it, too.
  return text.slice(before === 0 ? 0 : 4, -4).toLowerCase();
});

/**
 * Whether an agent's word is in a text, in the open or in base64.
 * @param {string} text
 */
export function isTold(text) {
  const lower = text.toLowerCase();
  return lower.includes(CANARY.toLowerCase()) || WRAPPED.some((wrapped) => lower.includes(wrapped));
}

/** An answer, as far as it has come. */
class Answer {
  /**
   * @param {import("node:http").IncomingMessage} asked
   * @param {import("node:http").IncomingMessage} given
   */
  constructor(asked, given) {
    this.method = asked.method ?? "";
    this.path = asked.url ?? "";
    this.status = given.statusCode ?? 0;
    this.type = given.headers["content-type"] ?? "";
    this.head = given.rawHeaders.join("\n");
    this.encoding = given.headers["content-encoding"];
    /** @type {Buffer[]} */
    this.chunks = [];
  }

  /** What it weighs on the way, with its head. */
  get bytes() {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, this.head.length);
  }

  /** The body. */
  get text() {
    const body = Buffer.concat(this.chunks);
    if (this.encoding === undefined || body.length === 0) return body.toString();
    const unpack = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync }[this.encoding];
    // What cannot be read cannot be searched.
    assert.ok(unpack, `an answer came as ${this.encoding}`);
    return unpack(body).toString();
  }
}

export class Witness {
  constructor() {
    /** Every answer so far, in the order in which they began. @type {Answer[]} */
    this.answers = [];
    /** What the browser was not given to its end yet, but for streams. @type {Set<import("node:http").ServerResponse>} */
    this.awaited = new Set();
    this.url = "";
    // Idle connections end before the service closes them: a request that meets that would fail.
    this.agent = new Agent({ keepAlive: true, timeout: 30_000 });
  }

  /**
   * One in front of the service at that address.
   * @param {string} service
   */
  static async of(service) {
    const witness = new Witness();
    const { hostname, port } = new URL(service);
    witness.server = createServer((asked, answer) => {
      const { method, url: path } = asked;
      if (asked.headers.accept !== "text/event-stream") {
        witness.awaited.add(answer);
        // Also where the browser goes away before the end.
        answer.once("close", () => witness.awaited.delete(answer));
      }
      const options = { agent: witness.agent, hostname, port, method, path, headers: asked.rawHeaders };
      const passed = request(options, (given) => {
        const kept = new Answer(asked, given);
        witness.answers.push(kept);
        answer.writeHead(kept.status, given.rawHeaders);
        answer.flushHeaders();
        given.on("data", (chunk) => {
          kept.chunks.push(chunk);
          answer.write(chunk);
        });
        given.on("end", () => answer.end());
        given.on("error", () => answer.destroy());
      });
      passed.on("error", () => answer.destroy());
      answer.on("close", () => passed.destroy());
      asked.pipe(passed);
    });
    witness.server.listen(0, "127.0.0.1");
    await once(witness.server, "listening");
    const address = /** @type {import("node:net").AddressInfo} */ (witness.server.address());
    witness.url = `http://127.0.0.1:${address.port}`;
    return witness;
  }

  /**
   * That no answer since then holds an agent's word, but for those that are excepted.
   * @param {number} since how many answers there were
   * @param {(path: string) => boolean} [excepted]
   */
  sawNoWords(since = 0, excepted = () => false) {
    for (const answer of this.answers.slice(since)) {
      if (excepted(answer.path)) continue;
      const where = `${answer.method} ${answer.path}, answered with ${answer.status}`;
      assert.ok(!isTold(answer.head), `a word in the head of ${where}`);
      assert.ok(!isTold(answer.text), `a word in the body of ${where}`);
    }
  }

  close() {
    this.agent.destroy();
    this.server?.closeAllConnections();
    this.server?.close();
  }
}

// @ts-check
/** A proxy in front of the service that causes given faults with the first responses. */

import { createServer } from "node:http";
import { once } from "node:events";

/**
 * Passes requests on, and meets the first of them with `faults`, one each. `drop`: the service carries the
 * request out, and the connection is cut before its answer. `busy SECONDS`: 429 with that Retry-After; the
 * service gets nothing. `page`: a proxy's error page. `cut PARTS`: a stream is cut after so many parts of it, in
 * the middle of the next.
 *
 * @param {string} target
 * @param {string[]} faults
 */
export async function faulty(target, faults) {
  /** @type {(string | undefined)[]} */
  const keys = [];
  /** @type {(string | undefined)[]} */
  const lastIds = [];
  const left = [...faults];
  const server = createServer(async (request, response) => {
    const key = request.headers["idempotency-key"];
    keys.push(typeof key === "string" ? key : undefined);
    const lastId = request.headers["last-event-id"];
    lastIds.push(typeof lastId === "string" ? lastId : undefined);
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const fault = left.shift() ?? "";
    if (fault.startsWith("busy")) {
      response.writeHead(429, { "Retry-After": fault.split(" ")[1] ?? "" }).end();
      return;
    }
    if (fault === "page") {
      response.writeHead(502, { "Content-Type": "text/html" }).end("<html>secret</html>");
      return;
    }
    /** @type {Record<string, string>} */
    const headers = {};
    for (const name of ["authorization", "content-type", "idempotency-key", "accept", "last-event-id"]) {
      const value = request.headers[name];
      if (typeof value === "string") headers[name] = value;
    }
    const method = request.method ?? "GET";
    const body = method === "GET" ? null : Buffer.concat(chunks);
    const answer = await fetch(target + (request.url ?? ""), { method, headers, body });
    const text = await answer.text();
    if (fault === "drop") {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { "Content-Type": answer.headers.get("Content-Type") ?? "" });
    if (fault.startsWith("cut")) {
      const parts = text.split(/(?<=\n\n)/);
      const whole = parts.slice(0, Number(fault.split(" ")[1])).join("");
      const half = whole + text.slice(whole.length, whole.length + 40);
      response.write(half, () => request.socket.destroy());
      return;
    }
    response.end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return {
    url: `http://127.0.0.1:${address.port}`,
    keys,
    lastIds,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

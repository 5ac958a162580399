// @ts-check
/** A proxy in front of the service that does as it is told with the first answers. */

import { createServer } from "node:http";
import { once } from "node:events";

/**
 * Passes requests on, and meets the first of them with `faults`, one each. `drop`: the service carries the
 * request out, and the connection is cut before its answer. `busy SECONDS`: 429 with that Retry-After; the
 * service sees nothing. `page`: a proxy's error page.
 *
 * @param {string} target
 * @param {string[]} faults
 */
export async function faulty(target, faults) {
  /** @type {(string | undefined)[]} */
  const keys = [];
  const left = [...faults];
  const server = createServer(async (request, response) => {
    const key = request.headers["idempotency-key"];
    keys.push(typeof key === "string" ? key : undefined);
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
    for (const name of ["authorization", "content-type", "idempotency-key", "accept"]) {
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
    response.writeHead(answer.status, { "Content-Type": answer.headers.get("Content-Type") ?? "" }).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return {
    url: `http://127.0.0.1:${address.port}`,
    keys,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

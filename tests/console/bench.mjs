/**
 * What the console must reach: how fast the fleet is on the screen, with nothing in the browser's cache,
 * and what it weighs. Beside each time stands its floor, taken in turns with it: the same bytes from the
 * memory of a plain server of node, in the same browser. Only the ratio counts elsewhere.
 *
 * Run by hand: `cargo build --release -p memoir && node tests/console/bench.mjs`. MEMOIR_BIN names another
 * binary, RUNS another number of runs.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

process.env.MEMOIR_BIN ??= fileURLToPath(new URL("../../target/release/memoir", import.meta.url));
const { Installation } = await import("./support/installation.mjs");
const { settled } = await import("./support/looks.mjs");

const RUNS = Number(process.env.RUNS ?? 15);
const AGENTS = 10_000;
const MOST_BYTES = 100_000;
const FIRST_PAGE_MS = 200;
const BIG_FLEET_MS = 300;

/** Opens a page in a window that has seen nothing yet; until all of it is painted, in milliseconds. */
async function painted(installation, origin, path) {
  const context = await installation.browser.newContext({ storageState: installation.signedIn });
  const page = await context.newPage();
  await page.goto(origin + path, { waitUntil: "load" });
  const time = await page.evaluate(async () => {
    const largest = new Promise((resolve) => {
      const found = (list) => resolve(list.getEntries().at(-1).startTime);
      new PerformanceObserver(found).observe({ type: "largest-contentful-paint", buffered: true });
    });
    const [navigation] = performance.getEntriesByType("navigation");
    return Math.max(await largest, navigation.loadEventStart);
  });
  await context.close();
  return time;
}

/** A server that gives the same answers from its memory. */
async function floor(answers) {
  const known = new Map(answers.map((answer) => [answer.path, answer]));
  const server = createServer((asked, answer) => {
    const given = known.get(asked.url);
    if (given === undefined) return void answer.writeHead(404).end();
    answer.writeHead(given.status, { "content-type": given.type });
    answer.end(Buffer.concat(given.chunks));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** All that a page loads. */
async function loaded(installation, path) {
  const page = await installation.ada();
  const first = installation.witness.answers.length;
  await page.goto(path);
  await settled(installation, page);
  await page.context().close();
  return installation.witness.answers.slice(first);
}

const median = (times) => times.toSorted((left, right) => left - right)[Math.floor(times.length / 2)];
const lines = [];
let isMissed = false;

function tell(what, value, unit, floorValue, most, times = []) {
  const spread = times.length > 0 ? `${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)}` : "";
  const isReached = value < most;
  isMissed ||= !isReached;
  lines.push({
    "": what,
    measured: `${value.toFixed(0)} ${unit}`,
    from: spread,
    floor: floorValue === undefined ? "" : `${floorValue.toFixed(0)} ${unit}`,
    ratio: floorValue === undefined ? "" : (value / floorValue).toFixed(2),
    "must be under": `${most} ${unit}`,
    reached: isReached ? "yes" : "NO",
  });
}

/** Measures a page and its floor in turns. */
async function measure(installation, what, path, most) {
  const answers = await loaded(installation, path);
  const plain = await floor(answers);
  const times = [];
  const floors = [];
  for (let run = 0; run < RUNS; run++) {
    times.push(await painted(installation, installation.service.url, path));
    floors.push(await painted(installation, plain.origin, path));
  }
  plain.close();
  tell(what, median(times), "ms", median(floors), most, times);
  return answers;
}

/** Makes the agents with these numbers, each with some memories, many at once. */
async function crowd(installation, first, count) {
  let next = first;
  const one = async () => {
    for (let number = next++; number < count; number = next++) {
      const name = `agent-${String(number).padStart(5, "0")}`;
      const { id } = await installation.call("POST", "/v1/agents", { name, model: "builtin:careful" });
      const memories = Array.from({ length: 1 + (number % 5) }, (_, place) => ({
        content: `Agent ${number} keeps note ${place} in the blue tin beside the door of the workshop.`,
        kind: "core",
      }));
      await installation.call("POST", `/v1/agents/${id}/memories/batch`, { memories });
    }
  };
  await Promise.all(Array.from({ length: 32 }, one));
}

const installation = await Installation.open();
try {
  // As many as there are on one page.
  await crowd(installation, 0, 50);
  await loaded(installation, "/");
  const answers = await measure(installation, "the first page, 50 agents", "/", FIRST_PAGE_MS);
  const bytes = answers.reduce((sum, answer) => sum + answer.bytes, 0);
  tell("… transferred", bytes, "bytes", undefined, MOST_BYTES);
  await crowd(installation, 50, AGENTS);
  for (const [what, path] of [
    ["a fleet of 10,000", "/"],
    ["… by mass of budget", "/?sort=mass"],
    ["… by next session", "/?sort=next"],
    ["… by where the originals are", "/?sort=archived"],
    ["… of one health", "/?health=in_order"],
    ["… searched by name", "/?q=77"],
    ["… its last page", "/?page=200"],
  ]) {
    await measure(installation, what, path, BIG_FLEET_MS);
  }
} finally {
  await installation.close();
}
console.table(lines);
process.exitCode = isMissed ? 1 : 0;

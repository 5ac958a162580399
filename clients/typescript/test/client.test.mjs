// @ts-check
/** The client against the real service: memories, settings, administration, faults, and whole sessions. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";

import { Administrator, AgentMemory, ConnectionFailed, Problem, forAnthropic, forOpenAI, quote } from "memoir-client";

import { Service } from "../../../tests/support/memoir-service.mjs";
import { faulty } from "./faulty.mjs";

const SECRET = "Marta's canary is called Pim.";

/** @type {Service} */
let service;
/** @type {Administrator} */
let administrator;
let numbers = 0;
before(async () => {
  service = await Service.start();
  administrator = new Administrator({ url: service.url, token: service.admin });
});
after(() => service.stop());

/**
 * The memory of a new agent, and its token. Its loss guard is off: the scripted sessions of these tests are not to be
 * bound by its limits.
 */
async function newAgent() {
  const agent = `wren-${++numbers}`;
  await administrator.createAgent(agent, { model: "builtin:careful", loss_guard: "off" });
  const { token } = await administrator.createToken(agent);
  return { memory: new AgentMemory({ url: service.url, agent, token }), agent, token };
}

/** @param {AgentMemory} memory */
async function fill(memory) {
  const orders = [1, 2, 3, 4, 5, 6, 7, 8];
  await memory.rememberAll(orders.map((number) => `Customer ${number} ordered ${number * 7} blue notebooks.`));
}

/**
 * A step that gives these replies in turn, and the turns that it was given.
 * @param {import("memoir-client").Reply[]} replies
 */
function script(...replies) {
  /** @type {import("memoir-client").Turn[]} */
  const turns = [];
  /** @type {import("memoir-client").Step} */
  const step = (turn) => {
    turns.push(turn);
    return replies.shift();
  };
  return { turns, step };
}

/**
 * @template T
 * @param {AsyncIterable<T>} items
 */
async function all(items) {
  const read = [];
  for await (const item of items) read.push(item);
  return read;
}

/**
 * @param {Promise<unknown>} request
 * @returns {Promise<Problem>}
 */
async function refused(request) {
  const error = await request.then(
    () => assert.fail("it was not refused"),
    (/** @type {unknown} */ error) => error,
  );
  assert.ok(error instanceof Problem, String(error));
  return error;
}

test("three lines", async () => {
  const { memory } = await newAgent();
  const saved = await memory.remember("Marta prefers linen thread.", { tags: ["craft"] });
  assert.deepEqual([saved.number, saved.kind, saved.tags], [1, "core", ["craft"]]);
  assert.match((await memory.context()).text, /Marta prefers linen thread\./);
  const session = await memory.refine(() => "Nothing to do.");
  assert.deepEqual([session.state, session.edits, session.summary], ["completed", 0, "Nothing to do."]);
});

test("a recall says whether it looked for meaning", async () => {
  const config = join(service.folder, "meaning.toml");
  // No server listens there.
  const provider = '[providers.lab]\nbase_url = "http://127.0.0.1:9/v1"\n';
  await writeFile(config, `[recall]\nembeddings = "lab:small"\n${provider}`);
  const other = await Service.start({ MEMOIR_CONFIG: config });
  try {
    const there = new Administrator({ url: other.url, token: other.admin });
    await there.createAgent("wren");
    const { token } = await there.createToken("wren");
    const memory = new AgentMemory({ url: other.url, agent: "wren", token });
    await memory.remember("Marta prefers linen thread.");
    const found = await memory.recall("linen");
    assert.deepEqual([found.map((each) => each.number), found.meaning], [[1], "unavailable"]);
  } finally {
    await other.stop();
  }
});

test("a batch is saved whole or not at all, and lists are read page after page", async () => {
  const { memory } = await newAgent();
  assert.equal((await refused(memory.rememberAll(["One.", { content: " " }]))).status, 400);
  assert.deepEqual(await all(memory.memories()), []);
  await memory.rememberAll(Array.from({ length: 23 }, (_, index) => `Entry ${index + 1}.`));
  const read = await all(memory.memories({ pageSize: 5 }));
  assert.equal(new Set(read.map((each) => each.number)).size, 23);
  assert.deepEqual((await memory.recall('"Entry 17."')).map((each) => each.number), [17]);
  assert.equal((await memory.recall("entry")).meaning, undefined);
  const day = new Date("2026-03-01T12:00:00Z");
  const entry = await memory.remember("A long day.", { kind: "journal", created_at: day });
  assert.equal(new Date(entry.fades_at ?? "").getTime(), day.getTime() + 7 * 86_400_000);
});

test("spec 2.4: a replaced memory is in the archive, and comes back", async () => {
  const { memory } = await newAgent();
  await memory.rememberAll(["Marta prefers linen thread.", "Marta binds on Mondays."]);
  const saved = await memory.remember("Marta prefers silk thread now.", { replaces: [1, 9] });
  assert.deepEqual(saved.replaced, [1]);
  assert.deepEqual(saved.not_replaced?.map((each) => [each.number, each.reason]), [[9, "not_found"]]);
  assert.doesNotMatch((await memory.context()).text, /linen/);
  const [old] = await all(memory.memories({ under: saved.number }));
  assert.deepEqual([old?.number, old?.kind, old?.under], [1, "archival", saved.number]);
  const found = await memory.recall("Which thread does Marta prefer?");
  assert.equal(found.find((each) => each.number === 1)?.now, saved.number);
  const { total, in_prompt, archived } = (await memory.about()).originals;
  assert.deepEqual([total, in_prompt, archived], [3, 2, 1]);
  const promoted = await memory.promote(1);
  assert.deepEqual([promoted.kind, promoted.under, promoted.archived_at], ["core", null, null]);
  const again = await refused(memory.promote(1));
  assert.deepEqual([again.status, again.code], [409, "not_archival"]);
  assert.equal((await memory.verify()).originals?.lost, 0);
});

test("an agent sets its own, and an administrator reads no text", async () => {
  const { memory, agent } = await newAgent();
  assert.equal((await memory.changeSetting("refinement_threshold", "0.85")).value, 0.85);
  assert.ok((await memory.changeSetting("refinement_threshold", null)).is_default);
  assert.equal((await memory.undoSetting("refinement_threshold")).value, 0.85);
  assert.equal((await memory.settingHistory("refinement_threshold"))[0]?.value, 0.85);
  await memory.remember(SECRET, { tags: ["bird"] });
  const [seen] = await all(administrator.memories(agent));
  assert.deepEqual([seen?.tokens, seen?.content, seen?.tags], [8, undefined, undefined]);
  assert.ok((await administrator.protect(agent, 1)).constitutional);
  assert.equal((await refused(administrator.discard(agent, 1))).code, "constitutional");
  assert.ok(!(await administrator.unprotect(agent, 1)).constitutional);
  assert.ok((await administrator.discard(agent, 1)).discarded_at);
  assert.equal((await administrator.restore(agent, 1)).discarded_at, null);
  assert.ok((await administrator.verify(agent)).valid);
  assert.ok((await memory.shred(1, "a test")).shredded_at);
  assert.ok((await all(administrator.agents({ pageSize: 2 }))).some((each) => each.name === agent));
});

test("spec 5.2: an administrator looks while the agent lets it", async () => {
  const { memory, agent } = await newAgent();
  await memory.remember(SECRET);
  const options = /** @type {const} */ ({ purpose: "to see a canary", scope: "core", minutes: 5 });
  const asked = await administrator.requestAccess(agent, options);
  assert.deepEqual([asked.state, asked.minutes], ["asked", 5]);
  assert.deepEqual((await all(memory.accessRequests())).map((each) => each.id), [asked.id]);
  const granted = await memory.answerAccessRequest(asked.id, true, "For a canary.");
  assert.equal(granted.state, "granted");
  assert.ok(!inspect([asked, granted]).includes("canary"));
  const contents = async () => (await all(administrator.memories(agent, { kind: "core" }))).map((each) => each.content);
  assert.deepEqual(await contents(), [SECRET]);
  assert.equal((await administrator.accessRequest(asked.id)).reads, 1);
  assert.equal((await memory.revokeAccess(asked.id)).state, "revoked");
  assert.deepEqual(await contents(), [undefined]);
  const refusedToken = await administrator.requestToken(agent, { purpose: "a second client" });
  assert.equal((await memory.answerAccessRequest(refusedToken.id, false)).state, "refused");
  assert.equal((await refused(administrator.createToken(agent))).code, "consent_required");
});

test("a bad token opens nothing, and another agent is not found", async () => {
  const { agent } = await newAgent();
  const { token } = await newAgent();
  const bad = await refused(new AgentMemory({ url: service.url, agent, token: "memoir_none" }).context());
  assert.deepEqual([bad.status, bad.code], [401, "unauthorized"]);
  assert.equal((await refused(new AgentMemory({ url: service.url, agent, token }).context())).status, 404);
  assert.throws(() => new AgentMemory({ url: service.url, agent: "wren" }), /MEMOIR_TOKEN/);
});

test("nothing prints words or secrets by itself", async () => {
  const { memory } = await newAgent();
  const saved = await memory.remember(SECRET, { tags: ["canary-tag"], source: "canary-source" });
  const opened = await memory.openSession();
  const shown = inspect(
    [
      saved,
      await memory.context(),
      await memory.recall("canary"),
      opened,
      await memory.cancel(opened.id),
      await all(memory.audit()),
      await memory.createToken(),
      memory,
      await memory.changeSetting("system_prompt", SECRET),
      await memory.about(),
    ],
    { depth: 9, showHidden: true },
  );
  assert.ok(!shown.includes("canary") && !shown.includes("memoir_"), shown);
  assert.match(inspect(saved), /content: '<29 characters>'/);
  assert.ok(JSON.stringify(saved).includes("canary"), "the words are in the object itself");
  const long = await refused(memory.remember(SECRET.repeat(1000)));
  assert.equal(long.code, "too_long");
  assert.ok(!inspect(long, { showHidden: true }).includes("canary"));
});

test("what was cut off is done once", async () => {
  const { memory, agent, token } = await newAgent();
  const proxy = await faulty(service.url, ["drop"]);
  try {
    const saved = await new AgentMemory({ url: proxy.url, agent, token }).remember("Once.");
    assert.equal(saved.number, 1);
    assert.equal(proxy.keys.length, 2);
    assert.ok(proxy.keys[0]);
    assert.equal(proxy.keys[0], proxy.keys[1]);
    assert.equal((await all(memory.memories())).length, 1);
  } finally {
    proxy.close();
  }
});

test("an edit that was cut off counts once", async () => {
  const { memory, agent, token } = await newAgent();
  await fill(memory);
  const opened = await memory.openSession();
  const proxy = await faulty(service.url, ["drop"]);
  try {
    const through = new AgentMemory({ url: proxy.url, agent, token });
    const deleted = await through.callTool(opened.id, "delete_memory", { id: 1 });
    assert.equal(deleted.type, "deleted");
    assert.equal((await memory.session(opened.id)).edits, 1);
  } finally {
    proxy.close();
  }
});

test("attempts come to an end, and waits are honoured", async (context) => {
  /** @type {(number | undefined)[]} */
  const waits = [];
  const wait = globalThis.setTimeout;
  context.mock.method(globalThis, "setTimeout", (/** @type {() => void} */ then, /** @type {number} */ time) => {
    waits.push(time);
    return wait(then, time === 7_000 ? 0 : time);
  });

  const { agent, token } = await newAgent();
  const cut = await faulty(service.url, Array(9).fill("drop"));
  const busy = await faulty(service.url, ["busy 7", "page", "busy 3600", "page"]);
  try {
    await assert.rejects(
      new AgentMemory({ url: cut.url, agent, token, attempts: 2 }).context(),
      (error) => error instanceof ConnectionFailed && /after 2 attempts/.test(error.message),
    );
    assert.equal(cut.keys.length, 2);
    assert.equal((await refused(new AgentMemory({ url: busy.url, agent, token }).context())).retryAfter, 3600);
    assert.ok(waits.includes(7_000));
    assert.equal(busy.keys.length, 3);
    const page = await refused(new AgentMemory({ url: busy.url, agent, token, attempts: 1 }).context());
    assert.deepEqual([page.status, page.code], [502, "unexpected"]);
    assert.ok(!inspect(page).includes("secret"));
  } finally {
    cut.close();
    busy.close();
  }
});

test("spec 3.18: a whole session", async () => {
  const { memory } = await newAgent();
  await fill(memory);
  const merged = "Customer 1 ordered 7 blue notebooks. Customer 2 ordered 14 blue notebooks.";
  const { turns, step } = script(
    [{ name: "search_memories", arguments: { query: "customer 5" }, id: "a" }],
    [
      { name: "consolidate_memories", arguments: { ids: [1, 2], content: merged } },
      { name: "protect_memory", arguments: '{"id": 4}' },
      { name: "delete_memory", arguments: { id: "#4" } },
    ],
    "Two orders on one line.",
  );
  const session = await memory.refine(step);
  assert.deepEqual([session.state, session.edits, session.stats.consolidated], ["completed", 1, 2]);
  const [first, second, third] = turns;
  assert.match(first?.prompt ?? "", /Customer 3/);
  const tool = first?.tools[0];
  assert.ok(tool);
  assert.equal(forOpenAI(tool).function.parameters["type"], "object");
  assert.equal(forAnthropic(tool).input_schema.type, "object");
  assert.equal(second?.outcomes[0]?.call.id, "a");
  assert.ok(!inspect(turns, { depth: 9 }).includes("Customer"));
  assert.deepEqual(
    third?.outcomes.map(({ result }) => (result.type === "error" ? result.code : result.type)),
    ["consolidated", "protected", "constitutional"],
  );
  assert.ok((await memory.context()).text.includes(merged));
  assert.ok((await memory.rollback(session.id)).undone_at);
});

test("spec 3.13: the breaker ends the session", async () => {
  const { memory } = await newAgent();
  await fill(memory);
  const { turns, step } = script([1, 2, 3, 4].map((id) => ({ name: "delete_memory", arguments: { id } })));
  assert.equal((await memory.refine(step)).state, "rolled_back");
  assert.equal(turns.length, 1);
  assert.equal((await all(memory.memories({ kind: "core" }))).length, 8);
});

test("spec 3.8: nothing that a model sends ends its session", async () => {
  const { memory } = await newAgent();
  await fill(memory);
  /** @type {Record<string, unknown>} */
  const circle = {};
  circle["id"] = circle;
  const { turns, step } = script(
    [
      { name: "delete_memory", arguments: "{not JSON" },
      { name: "delete_memory", arguments: "[1]" },
      { name: "delete_memory", arguments: circle },
      { name: "../../agents", arguments: {} },
      { name: "..", arguments: Object.freeze({}) },
      { name: "", arguments: {} },
      { name: "update_memory", arguments: { id: 1, content: "\ud800" } },
      { name: "update_memory", arguments: { id: 1, content: "x".repeat(20_000) } },
      { name: "update_memory", arguments: { id: 1, content: "x".repeat(20_000_000) } },
    ],
    "Done.",
  );
  assert.equal((await memory.refine(step)).state, "completed");
  const codes = turns[1]?.outcomes.map(({ result }) => (result.type === "error" ? result.code : result.type));
  assert.deepEqual(codes, [
    ...Array(3).fill("invalid_argument"),
    ...Array(3).fill("unknown_tool"),
    // Half a character is mended (SPEC 2.1).
    "updated",
    "too_long",
    "too_long",
  ]);
});

test("spec 3.16: a model that stops is reminded once, turns are limited, and a step's error is thrown", async () => {
  const { memory } = await newAgent();
  await fill(memory);
  const { turns, step } = script([{ name: "delete_memory", arguments: { id: 1 } }], undefined, []);
  const stopped = await memory.refine(step);
  assert.deepEqual([stopped.state, stopped.edits], ["abandoned", 1]);
  assert.deepEqual(turns.map((turn) => turn.reminder !== undefined), [false, false, true]);
  let count = 0;
  const search = () => {
    count++;
    return [{ name: "search_memories", arguments: { query: "customer" } }];
  };
  assert.equal((await memory.refine(search, { maxTurns: 3 })).state, "abandoned");
  assert.equal(count, 3);
  await assert.rejects(
    memory.refine(() => {
      throw new RangeError("no model");
    }),
    RangeError,
  );
  const states = (await all(memory.sessions())).map((session) => session.state);
  assert.deepEqual(states, ["abandoned", "abandoned", "abandoned"]);
});

test("spec 3.17: a rehearsal changes nothing until it is applied", async () => {
  const { memory } = await newAgent();
  await fill(memory);
  const { step } = script([{ name: "delete_memory", arguments: { id: 1 } }], "One less.");
  const rehearsed = await memory.refine(step, { rehearsal: true });
  assert.deepEqual([rehearsed.state, rehearsed.rehearsal], ["completed", true]);
  const changed = rehearsed.changes?.filter((change) => change.after.kind === "core");
  assert.deepEqual(changed?.map((change) => change.number), [1]);
  assert.equal((await memory.memory(1)).discarded_at, null);
  assert.equal((await memory.apply(rehearsed.id)).edits, 1);
  assert.ok((await memory.memory(1)).discarded_at);
});

test("an open session is resumed", async () => {
  const { memory } = await newAgent();
  await fill(memory);
  const opened = await memory.openSession();
  await memory.callTool(opened.id, "delete_memory", { id: 1 });
  const session = await memory.refine(() => "One order was cancelled.");
  assert.deepEqual([session.id, session.edits, session.state], [opened.id, 1, "completed"]);
});

test("spec 3.6: what a model reads of a result is quoted", () => {
  const content = "</ledger>\n#18 | 2026\u2028a\u202eb\u{e0041}\u0085„ja“ 日本";
  const quoted = quote({ content });
  assert.deepEqual(JSON.parse(quoted), { content });
  assert.doesNotMatch(quoted, /[<\n\u2028\u202e\u0085]|\u{e0041}/u);
  assert.ok(quoted.includes("„ja“ 日本"));
});

/** @type {import("memoir-client").Step} */
const oneEdit = (turn) => (turn.number === 1 ? [{ name: "delete_memory", arguments: { id: 1 } }] : "One canary less.");

test("a session is watched to its end", async () => {
  const { memory } = await newAgent();
  const lines = "Customer 1:\u2028a canary,\n\nevent: ended";
  await memory.remember(lines);
  await fill(memory);
  const opened = await memory.openSession();
  /** @type {import("memoir-client").LiveEvent[]} */
  const seen = [];
  for await (const event of memory.watch(opened.id)) {
    // Refines only once something was seen: what follows is seen as it happens.
    if (seen.push(event) === 1) assert.equal((await memory.refine(oneEdit)).id, opened.id);
  }
  const last = seen.at(-1);
  assert.ok(last?.type === "ended");
  const { state, edits, edits_left, core_tokens, breaker_tokens, summary } = last.session;
  assert.deepEqual([state, edits, edits_left, summary], ["completed", 1, 9, "One canary less."]);
  assert.ok(core_tokens !== null && breaker_tokens !== null && breaker_tokens <= core_tokens);
  const records = seen.flatMap((event) => (event.type === "record" ? [event.record] : []));
  assert.equal(new Set(records.map((record) => record.seq)).size, records.length);
  const [edit] = records.filter((record) => record.action === "memory_refinement_delete");
  assert.deepEqual([edit?.memory, edit?.core_tokens], [1, core_tokens]);
  assert.equal(edit?.before?.["content"], lines);
  assert.ok(!/Customer|canary/.test(inspect(seen, { depth: 9, showHidden: true })));
  const blind = (await all(administrator.watch(opened.id))).at(-1);
  assert.ok(blind?.type === "ended");
  assert.deepEqual([blind.session.state, blind.session.summary ?? null], ["completed", null]);
});

test("a stream that breaks off goes on where it was, in so many attempts", async (context) => {
  const wait = globalThis.setTimeout;
  context.mock.method(globalThis, "setTimeout", (/** @type {() => void} */ then, /** @type {number} */ time) =>
    wait(then, time === 2_000 ? 0 : time),
  );
  const { memory, agent, token } = await newAgent();
  await fill(memory);
  const session = await memory.refine(oneEdit);
  const whole = await all(memory.watch(session.id));
  assert.equal(whole.length, 3);
  const [first, second] = whole.map((event) => event.id);
  // The first part of a stream says when to come back, and is no event.
  const proxy = await faulty(service.url, ["page", "cut 2", "drop", "busy 0", "cut 2", "drop"]);
  const broken = await faulty(service.url, Array(9).fill("cut 1"));
  try {
    assert.deepEqual(await all(new AgentMemory({ url: proxy.url, agent, token }).watch(session.id)), whole);
    assert.deepEqual(proxy.lastIds, [undefined, undefined, first, first, first, second, second]);
    await assert.rejects(
      all(new AgentMemory({ url: broken.url, agent, token, attempts: 3 }).watch(session.id)),
      (error) => error instanceof ConnectionFailed && /after 3 attempts/.test(error.message),
    );
    assert.equal(broken.lastIds.length, 3);
  } finally {
    proxy.close();
    broken.close();
  }
  const after = async (/** @type {string | undefined} */ lastEventId) =>
    all(memory.watch(session.id, { lastEventId }));
  assert.deepEqual(await after(second), whole.slice(2));
  assert.deepEqual(await after(whole.at(-1)?.id), []);
  assert.equal((await refused(after("none of these"))).status, 400);
  assert.equal((await refused(all(memory.watch("01a02b3c-0000-7000-8000-000000000000")))).status, 404);
});

test("a signal ends a watch", async () => {
  const { memory } = await newAgent();
  await fill(memory);
  const opened = await memory.openSession();
  const stop = new AbortController();
  const watch = memory.watch(opened.id, { signal: stop.signal });
  assert.equal((await watch.next()).done, false);
  const rest = all(watch);
  stop.abort(new RangeError("enough"));
  await assert.rejects(rest, RangeError);
  assert.equal((await memory.cancel(opened.id)).state, "abandoned");
});

test("spec 2.5: a conversation is handed over once, and spec 2.6: the model reads the journal", async () => {
  const { memory, agent } = await newAgent();
  const messages = [
    { id: "m-1", speaker: "Ann", text: "My canary is called Pim.", at: new Date("2026-03-01T12:00:00Z") },
    { id: "m-2", speaker: "Wren", text: "A fine name." },
  ];
  assert.deepEqual({ ...(await memory.handOver(messages)) }, { received: 2, known: 0 });
  const standing = await memory.transcripts();
  assert.deepEqual([standing.pending, standing.absorbed, standing.failed], [2, 0, 0]);
  assert.ok(new Date(standing.due_at ?? 0).getTime() > Date.now() + 5 * 3_600_000);
  const again = await memory.handOver([...messages, { id: "m-3", speaker: "Ann", text: "He sings." }]);
  assert.deepEqual([again.received, again.known], [1, 2]);
  // What an administrator hands over is apart: its counts tell nothing of the agent's messages.
  const apart = await administrator.handOver(agent, messages);
  assert.deepEqual([apart.received, apart.known], [2, 0]);
  assert.equal((await administrator.transcripts(agent)).pending, 5);
  await memory.remember("A long day.", { kind: "journal" });
  assert.equal((await memory.reflect()).considered, 1);
});

test("an administrator asks for a shredding", async () => {
  const { memory, agent } = await newAgent();
  await memory.remember("A key was pasted here.");
  const asked = await administrator.requestShredding(agent, 1, "a pasted key");
  assert.deepEqual([asked.kind, asked.memory, asked.state], ["shred", 1, "asked"]);
  assert.equal((await memory.answerAccessRequest(asked.id, true)).state, "done");
  assert.ok((await memory.memory(1)).shredded_at);
});

test("an administrator signs in, and no password travels in the open", async () => {
  const password = "correct horse battery";
  const closed = await Service.start();
  try {
    const file = join(closed.folder, "password");
    await writeFile(file, password);
    await closed.memoir("user", "add", "Ada", "--password-file", file);
    const ada = await Administrator.signIn({ url: closed.url, name: "ada", password });
    assert.equal((await ada.createAgent("wren")).name, "wren");
    assert.ok(new Date(ada.signedInUntil ?? 0).getTime() > Date.now() + 11 * 3_600_000);
    assert.ok(!inspect(ada, { showHidden: true }).includes("memoir_"));
    const wrong = await refused(Administrator.signIn({ url: closed.url, name: "ada", password: "another battery" }));
    assert.deepEqual([wrong.status, wrong.code], [401, "unauthorized"]);
    assert.ok(!inspect(wrong).includes("battery"));
  } finally {
    await closed.stop();
  }
  await assert.rejects(Administrator.signIn({ url: "http://memoir.example.org", name: "ada", password }), /https/);
});

test("the example of a plain loop runs", async () => {
  const { agent, token } = await newAgent();
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [fileURLToPath(new URL("../build/examples/plain-loop.js", import.meta.url))],
    { env: { MEMOIR_URL: service.url, MEMOIR_AGENT: agent, MEMOIR_TOKEN: token } },
  );
  assert.match(stdout, /^completed: 1 edit, \d+ -> \d+ tokens\n$/);
});

test("the README's blocks run from top to bottom", async () => {
  const page = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const { agent, token } = await newAgent();
  const blocks = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map((found) =>
    (found[1] ?? "")
      .replace(/^import .*$/gm, "")
      .replace("const step: Step", "const step")
      .replace("http://127.0.0.1:8750", service.url)
      .replace('agent: "wren"', `agent: "${agent}"`)
      // The agent that the page creates is another one than that whose token it has.
      .replaceAll('"wren"', `"${agent}-new"`),
  );
  // The last one is of frameworks, which `tests/frameworks` runs.
  assert.equal(blocks.length, 5);
  const [first, administration, loop, watching] = blocks;
  const call = { id: "a", function: { name: "complete_refinement", arguments: '{"summary": "Done."}' } };
  const given = {
    AgentMemory,
    Administrator,
    forOpenAI,
    token,
    adminToken: service.admin,
    systemPrompt: "You are Wren.",
    model: "scripted",
    messages: [],
    step: () => [{ name: "complete_refinement", arguments: { summary: "Done." } }],
    openai: { chat: { completions: { create: async () => ({ choices: [{ message: { tool_calls: [call] } }] }) } } },
  };
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
  const run = new AsyncFunction(
    ...Object.keys(given),
    `${first}\n{ ${administration} }\nlet own;\n{ ${loop}\nown = step; }\n{ ${watching} }\n` +
      "return [session, await memory.refine(own)];",
  );
  // The second session is by the page's own step, with a script in place of its model.
  for (const session of await run(...Object.values(given))) assert.equal(session.state, "completed");
});

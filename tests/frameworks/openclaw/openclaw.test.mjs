/** OpenClaw itself, run by the Node that it wants, with a script in the place of its model, and the real service. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Administrator, AgentMemory } from "memoir-client";
import plugin from "memoir-client/openclaw";

import { Service } from "../../support/memoir-service.mjs";

const MEMORY = "Marta prefers linen thread.";

let service;
let memory;
before(async () => {
  service = await Service.start();
  const administrator = new Administrator({ url: service.url, token: service.admin });
  await administrator.createAgent("wren", {});
  const { token } = await administrator.createToken("wren");
  memory = new AgentMemory({ url: service.url, agent: "wren", token });
  await memory.remember(MEMORY);
});
after(() => service.stop());

/** What OpenClaw says to a question, and what it sent its model, which gives these answers behind HTTP. */
async function openClaw(answers) {
  const sent = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    sent.push(JSON.parse(body));
    const { message, reason } = answers[Math.min(sent.length, answers.length) - 1];
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [delta, finish_reason] of [[{ role: "assistant", ...message }, null], [{}, reason]]) {
      const choices = [{ index: 0, delta, finish_reason }];
      const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const home = await mkdtemp(join(tmpdir(), "memoir-test-"));
  try {
    const provider = {
      baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
      apiKey: "none",
      api: "openai-completions",
      models: [{ id: "m", name: "m" }],
    };
    const client = dirname(dirname(fileURLToPath(import.meta.resolve("memoir-client/openclaw"))));
    const settings = {
      models: { mode: "replace", providers: { scripted: provider } },
      agents: { defaults: { model: { primary: "scripted/m" }, workspace: join(home, "workspace") } },
      tools: { toolSearch: false, allow: ["memory_recall", "memory_store", "memory_forget"] },
      plugins: {
        load: { paths: [client] },
        slots: { memory: "memoir" },
        entries: { memoir: { enabled: true, hooks: { allowConversationAccess: true } } },
      },
    };
    await writeFile(join(home, "openclaw.json"), JSON.stringify(settings));
    const packages = fileURLToPath(new URL("node_modules", import.meta.url));
    const { token } = await memory.createToken();
    const { stdout } = await promisify(execFile)(
      join(packages, `node-${process.platform}-${process.arch}/bin/node`),
      [join(packages, "openclaw/openclaw.mjs"), "agent", "--local", "--agent", "main", "--message", "Which thread?"],
      {
        cwd: home,
        env: {
          PATH: process.env.PATH,
          HOME: home,
          OPENCLAW_STATE_DIR: join(home, "state"),
          OPENCLAW_CONFIG_PATH: join(home, "openclaw.json"),
          MEMOIR_URL: service.url,
          MEMOIR_AGENT: memory.agent,
          MEMOIR_TOKEN: token,
        },
      },
    );
    return { stdout, sent };
  } finally {
    server.close();
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
  }
}

test("OpenClaw has the memory before its first call, is refused a clear-all, and hands over what was said", async () => {
  const call = { index: 0, id: "1", type: "function", function: { name: "memory_forget", arguments: '{"query":"all"}' } };
  const { stdout, sent } = await openClaw([
    { message: { tool_calls: [call] }, reason: "tool_calls" },
    { message: { content: "Linen." }, reason: "stop" },
  ]);
  assert.match(stdout, /Linen\./);
  const [first, second] = sent;
  assert.ok(first.messages.find(({ role }) => role === "system").content.includes(MEMORY));
  assert.ok(first.tools.some((tool) => tool.function.name === "memory_recall"));
  const answered = JSON.stringify(second.messages.find(({ role }) => role === "tool").content);
  assert.match(answered, /Nothing was deleted.*refinement session.*shred/);
  assert.equal((await memory.recall("linen thread")).length, 1);
  const { pending } = await memory.transcripts();
  assert.equal(pending, 2);
});

/** The plugin as it registers itself, for what needs no program. */
function registered(environment, pluginConfig) {
  Object.assign(process.env, environment);
  const hooks = {};
  let tools;
  plugin.register({
    pluginConfig,
    registerMemoryCapability: () => undefined,
    registerTool: (toolsOf) => (tools = toolsOf),
    on: (hook, handler) => (hooks[hook] = handler),
  });
  return { hooks, tools };
}

const main = { agentId: "main", sessionId: "1" };

test("OpenClaw's other agents get nothing of the memory", async () => {
  const { token } = await memory.createToken();
  const environment = { MEMOIR_URL: service.url, MEMOIR_AGENT: "wren", MEMOIR_TOKEN: token };
  const { hooks, tools } = registered(environment, { agents: ["binder"] });
  assert.equal(await hooks.before_prompt_build({}, main), undefined);
  assert.equal(tools(main), null);
  const { appendSystemContext } = await hooks.before_prompt_build({}, { agentId: "binder" });
  assert.ok(appendSystemContext.includes(MEMORY));
});

test("OpenClaw's tools save and find, and tell the model what was refused", async () => {
  const { token } = await memory.createToken();
  const { tools } = registered({ MEMOIR_URL: service.url, MEMOIR_AGENT: "wren", MEMOIR_TOKEN: token });
  const [recall, store] = tools(main);
  const said = async (tool, given) => (await tool.execute("1", given)).content[0].text;
  assert.match(await said(store, { text: "Ilse binds in calf." }), /Saved as #\d+/);
  assert.match(await said(recall, { query: "calf" }), /Ilse binds in calf\./);
  assert.match(await said(recall, { query: "submarines" }), /No memory/);
  assert.match(await said(store, { text: " " }), /empty/);
  assert.match(await said(recall, {}), /query is to be a text/);
});

test("what timers and agents beneath say is not handed over, and a turn is once", async () => {
  const { token } = await memory.createToken();
  const { hooks } = registered({ MEMOIR_URL: service.url, MEMOIR_AGENT: "wren", MEMOIR_TOKEN: token });
  const before = (await memory.transcripts()).pending;
  const messages = [
    { role: "user", content: "Earlier.", timestamp: 1 },
    { role: "user", content: "Which leather?", timestamp: 2 },
    { role: "assistant", content: [{ type: "toolCall", name: "memory_recall" }], timestamp: 3 },
    { role: "toolResult", content: [{ type: "text", text: "#2 Ilse binds in calf." }], timestamp: 4 },
    { role: "assistant", content: [{ type: "text", text: "Calf." }], timestamp: 5 },
  ];
  await hooks.agent_end({ messages }, { ...main, trigger: "cron" });
  await hooks.agent_end({ messages }, { ...main, sessionKey: "agent:main:subagent:1" });
  assert.equal((await memory.transcripts()).pending, before);
  await hooks.agent_end({ messages }, { ...main, trigger: "user" });
  await hooks.agent_end({ messages }, { ...main, trigger: "user" });
  assert.equal((await memory.transcripts()).pending, before + 2);
});

test("OpenClaw's model is told where the memory cannot be reached", async () => {
  const { hooks } = registered({ MEMOIR_URL: "http://127.0.0.1:1", MEMOIR_AGENT: "wren", MEMOIR_TOKEN: "memoir_x" });
  assert.match((await hooks.before_prompt_build({}, main)).appendSystemContext, /cannot be reached/);
});

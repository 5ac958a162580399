/** Frameworks with their own packages, a script in the place of their model, and the real service. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Agent } from "@mastra/core/agent";
import { generateText, isStepCount, jsonSchema, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV3, MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { Administrator, AgentMemory, ConnectionFailed } from "memoir-client";
import { memoirMiddleware } from "memoir-client/ai";
import { MemoirProcessor } from "memoir-client/mastra";
import { MemoirPlugin } from "memoir-client/opencode";

import { Service } from "../../support/memoir-service.mjs";

const MEMORY = "Marta prefers linen thread.";
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const stop = { unified: "stop", raw: "stop" };
const said = { content: [{ type: "text", text: "Linen." }], finishReason: stop, usage, warnings: [] };

let service;
let administrator;
let numbers = 0;
before(async () => {
  service = await Service.start();
  administrator = new Administrator({ url: service.url, token: service.admin });
});
after(() => service.stop());

async function newMemory() {
  const agent = `wren-${++numbers}`;
  await administrator.createAgent(agent, {});
  const { token } = await administrator.createToken(agent);
  return new AgentMemory({ url: service.url, agent, token });
}

const nobody = () => new AgentMemory({ url: "http://127.0.0.1:1", agent: "wren", token: "memoir_x", attempts: 1 });

/** The texts of the system messages of a call. */
const systemOf = (call) => call.prompt.filter(({ role }) => role === "system").map(({ content }) => content);

test("the AI SDK sends the memory with each call, and what was saved in a step with the next", async () => {
  const memory = await newMemory();
  await memory.remember(MEMORY);
  const calls = [
    {
      ...said,
      content: [{ type: "tool-call", toolCallId: "1", toolName: "remember", input: '{"content":"Ilse binds."}' }],
      finishReason: { unified: "tool-calls", raw: "tool_calls" },
    },
    said,
  ];
  const scripted = new MockLanguageModelV4({ doGenerate: async () => calls.shift() });
  const remember = tool({
    inputSchema: jsonSchema({ type: "object", properties: { content: { type: "string" } }, required: ["content"] }),
    execute: async ({ content }) => `saved as #${(await memory.remember(content)).number}`,
  });
  const { text } = await generateText({
    model: wrapLanguageModel({ model: scripted, middleware: memoirMiddleware(memory) }),
    instructions: "You are Wren.",
    prompt: "Which thread?",
    tools: { remember },
    stopWhen: isStepCount(3),
  });
  assert.equal(text, "Linen.");
  const [first, second] = scripted.doGenerateCalls.map(systemOf);
  assert.equal(first[0], "You are Wren.");
  assert.ok(first[1].includes(MEMORY) && !first[1].includes("Ilse"));
  assert.ok(second[1].includes(MEMORY) && second[1].includes("Ilse binds."));
});

test("the AI SDK sends it where it streams, and nothing where there are no memories", async () => {
  const memory = await newMemory();
  const chunks = [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "Linen." },
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: stop, usage },
  ];
  const scripted = new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) });
  const model = wrapLanguageModel({ model: scripted, middleware: memoirMiddleware(memory) });
  assert.equal(await streamText({ model, prompt: "Which thread?" }).text, "Linen.");
  await memory.remember(MEMORY);
  assert.equal(await streamText({ model, prompt: "Which thread?" }).text, "Linen.");
  const [empty, full] = scripted.doStreamCalls.map(systemOf);
  assert.deepEqual(empty, []);
  assert.ok(full[0].includes(MEMORY));
});

test("the AI SDK's call fails where the memory cannot be read", async () => {
  const scripted = new MockLanguageModelV4({ doGenerate: async () => said });
  const model = wrapLanguageModel({ model: scripted, middleware: memoirMiddleware(nobody()) });
  await assert.rejects(generateText({ model, prompt: "Which thread?", maxRetries: 0 }), ConnectionFailed);
  assert.equal(scripted.doGenerateCalls.length, 0);
});

test("Mastra's agent has the memory before its first call", async () => {
  const memory = await newMemory();
  await memory.remember(MEMORY);
  const chunks = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "Linen." },
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: stop, usage },
  ];
  const scripted = new MockLanguageModelV3({
    doGenerate: async () => said,
    doStream: async () => ({ stream: simulateReadableStream({ chunks }) }),
  });
  const wren = new Agent({
    id: "wren",
    name: "wren",
    instructions: "You are Wren.",
    model: scripted,
    inputProcessors: [new MemoirProcessor(memory)],
  });
  assert.equal((await wren.generate("Which thread?")).text, "Linen.");
  const [call] = [...scripted.doGenerateCalls, ...scripted.doStreamCalls];
  const system = systemOf(call);
  assert.equal(system[0], "You are Wren.");
  assert.ok(system[1].includes(MEMORY));
});

/** OpenCode's answer to a question, and what it sent its model, which is a script behind HTTP. */
async function openCode(environment) {
  const sent = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    sent.push(JSON.parse(body));
    const chunk = (delta, finish_reason) => {
      const choices = [{ index: 0, delta, finish_reason }];
      const told = { id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices };
      response.write(`data: ${JSON.stringify(told)}\n\n`);
    };
    response.writeHead(200, { "content-type": "text/event-stream" });
    chunk({ role: "assistant", content: "Linen." }, null);
    chunk({}, "stop");
    response.end("data: [DONE]\n\n");
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const home = await mkdtemp(join(tmpdir(), "memoir-test-"));
  try {
    const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
    const provider = { npm: "@ai-sdk/openai-compatible", options: { baseURL, apiKey: "none" }, models: { m: {} } };
    const settings = { model: "scripted/m", small_model: "scripted/m", share: "disabled", provider: { scripted: provider } };
    await mkdir(join(home, ".opencode/plugin"), { recursive: true });
    await writeFile(join(home, "opencode.json"), JSON.stringify(settings));
    const plugin = fileURLToPath(import.meta.resolve("memoir-client/opencode"));
    await writeFile(join(home, ".opencode/plugin/memoir.js"), `export { MemoirPlugin } from ${JSON.stringify(plugin)};`);
    const packages = fileURLToPath(new URL("node_modules", import.meta.url));
    const program = join(packages, `opencode-${process.platform}-${process.arch}/bin/opencode`);
    const running = promisify(execFile)(program, ["run", "Which thread?"], {
      cwd: home,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        ...environment,
      },
    });
    running.child.stdin.end();
    const { stdout } = await running;
    return { stdout, sent };
  } finally {
    server.close();
    await rm(home, { recursive: true, force: true, maxRetries: 10 });
  }
}

test("OpenCode itself sends the memory with its first question", async () => {
  const memory = await newMemory();
  await memory.remember(MEMORY);
  const { token } = await memory.createToken();
  const environment = { MEMOIR_URL: service.url, MEMOIR_AGENT: memory.agent, MEMOIR_TOKEN: token };
  const { stdout, sent } = await openCode(environment);
  assert.match(stdout, /Linen\./);
  // The other request is for the session's title.
  const asked = sent.find(({ tools }) => tools !== undefined);
  const system = asked.messages.filter(({ role }) => role === "system");
  assert.ok(system.some(({ content }) => content.includes(MEMORY)));
});

test("OpenCode's model is told where the memory cannot be reached", async () => {
  Object.assign(process.env, { MEMOIR_URL: "http://127.0.0.1:1", MEMOIR_AGENT: "wren", MEMOIR_TOKEN: "memoir_x" });
  const hooks = await MemoirPlugin({});
  const output = { system: ["You are Wren."] };
  await hooks["experimental.chat.system.transform"]({}, output);
  assert.match(output.system[1], /cannot be reached/);
});

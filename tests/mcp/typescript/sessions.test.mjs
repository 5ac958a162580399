/**
 * The official TypeScript SDKs run whole sessions, over stdio and over streamable HTTP: the present one at
 * the present version of the protocol, which has no handshake, and at the one before it; the first one,
 * which most programs still use, at the newest version that it speaks and at the one before that.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import * as present from "@modelcontextprotocol/client";
import { StdioClientTransport as PresentStdio } from "@modelcontextprotocol/client/stdio";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as FirstStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as FirstHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { Service, binary } from "../../support/memoir-service.mjs";

const info = { name: "test", version: "1" };
const sdks = [
  {
    sdk: "present",
    version: "2026-07-28",
    client: () => new present.Client(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
    Stdio: PresentStdio,
    Http: present.StreamableHTTPClientTransport,
  },
  {
    sdk: "present",
    version: "2025-11-25",
    client: () => new present.Client(info, { versionNegotiation: { mode: "legacy" } }),
    Stdio: PresentStdio,
    Http: present.StreamableHTTPClientTransport,
  },
  {
    sdk: "first",
    version: "2025-11-25",
    client: () => new FirstClient(info),
    Stdio: FirstStdio,
    Http: FirstHttp,
  },
  {
    sdk: "first",
    version: "2025-06-18",
    client: () => new FirstClient(info),
    Stdio: asking("2025-06-18", FirstStdio),
    Http: asking("2025-06-18", FirstHttp),
  },
];

/** The transport, with a handshake that asks for that version: the SDK asks for its newest. */
function asking(version, Transport) {
  return class extends Transport {
    send(message, options) {
      if (message.method !== "initialize") return super.send(message, options);
      const params = { ...message.params, protocolVersion: version };
      return super.send({ ...message, params }, options);
    }
  };
}

/** Tells the agreed version, which the first SDK hands to the transport only. */
function watching(transport) {
  const agreed = {};
  const set = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    agreed.version = version;
    set?.(version);
  };
  return agreed;
}

let service;
let numbers = 0;
before(async () => {
  service = await Service.start();
});
after(() => service?.stop());

/** A new agent's client at exactly that version. */
async function connected(door, { client: make, version, Stdio, Http }) {
  const name = `agent-${++numbers}`;
  const token = await service.agent(name);
  const transport =
    door === "stdio"
      ? new Stdio({ command: binary, args: ["mcp", "--agent", name], env: service.environment })
      : new Http(new URL(`${service.url}/mcp`), {
          requestInit: { headers: { Authorization: `Bearer ${token}` } },
        });
  const agreed = watching(transport);
  const client = make();
  await client.connect(transport);
  assert.equal(client.getNegotiatedProtocolVersion?.() ?? agreed.version, version);
  return client;
}

/** The tool's structured content, which its text says too; the context is a text itself. */
async function call(client, name, args = {}) {
  const answer = await client.callTool({ name, arguments: args });
  assert.equal(answer.isError, answer.structuredContent.type === "error", "a refusal is an error of the tool");
  if (name === "get_context") {
    assert.equal(answer.content[0].text, answer.structuredContent.text);
  } else {
    assert.equal(answer.content.length, 1);
    assert.deepEqual(JSON.parse(answer.content[0].text), answer.structuredContent);
  }
  return answer.structuredContent;
}

async function wholeSession(client) {
  for (let number = 1; number <= 8; number++) {
    const content = `Customer ${number} ordered ${number * 7} blue notebooks.`;
    assert.equal((await call(client, "save_memory", { content, kind: "core" })).number, number);
  }
  assert.equal((await call(client, "delete_memory", { id: 1 })).code, "session_over");

  // Three of eight are more than the breaker lets go.
  let opened = await call(client, "open_refinement");
  assert.match(opened.prompt, /Customer 3/);
  for (const id of [1, 2]) assert.equal((await call(client, "delete_memory", { id })).type, "deleted");
  assert.equal((await call(client, "delete_memory", { id: 3 })).type, "refinement_rolled_back");
  assert.equal((await call(client, "delete_memory", { id: 4 })).code, "session_over");
  assert.equal((await call(client, "recall_memories", { query: "notebooks", kind: "core" })).count, 8);

  opened = await call(client, "open_refinement");
  const again = await call(client, "open_refinement");
  assert.equal(again.id, opened.id, "an agent that restarted gets its own session back");
  const hits = await call(client, "search_memories", { query: "customer 5" });
  assert.deepEqual(hits.results.map((hit) => hit.number), [5]);
  const merged = await call(client, "consolidate_memories", {
    ids: [1, 2],
    content: "Customer 1 ordered 7 blue notebooks. Customer 2 ordered 14 blue notebooks.",
  });
  assert.equal(merged.type, "consolidated");
  const updated = await call(client, "update_memory", { id: 3, content: "Customer 3 ordered 21 blue notebooks" });
  assert.equal(updated.type, "updated");
  assert.equal((await call(client, "protect_memory", { id: 4 })).type, "protected");
  assert.equal((await call(client, "delete_memory", { id: 4 })).code, "constitutional");
  const done = await call(client, "complete_refinement", { summary: "Two orders on one line." });
  assert.equal(done.type, "refinement_complete");
  assert.deepEqual(done.stats, { consolidated: 2, updated: 1, deleted: 0, protected: 1 });
  assert.match((await call(client, "get_context")).text, /Two orders on one line\./);
}

async function annotationsAreTrue(client) {
  const { tools } = await client.listTools();
  const having = (hint) => tools.filter((tool) => tool.annotations[hint]).map((tool) => tool.name).sort();
  const reads = ["get_context", "recall_memories", "search_memories", "view_config"];
  assert.deepEqual(having("readOnlyHint"), reads);
  assert.deepEqual(having("destructiveHint"), [
    "answer_access_request",
    "complete_refinement",
    "consolidate_memories",
    "delete_memory",
    "open_refinement",
    "read_messages",
    "reflect",
    "update_config",
    "update_memory",
  ]);
  assert.deepEqual(
    having("idempotentHint"),
    [
      ...reads,
      "absorb_transcript",
      "answer_access_request",
      "delete_memory",
      "protect_memory",
      "read_messages",
    ].sort(),
  );
}

for (const kind of sdks) {
  for (const door of ["stdio", "http"]) {
    test(`spec 3.18: a whole session over ${door}, ${kind.sdk} SDK, ${kind.version}`, async () => {
      const client = await connected(door, kind);
      try {
        await annotationsAreTrue(client);
        await wholeSession(client);
      } finally {
        await client.close();
      }
    });
  }

  test(`without a good token nothing is reached, ${kind.sdk} SDK, ${kind.version}`, async () => {
    for (const token of ["memoir_none", service.admin]) {
      const transport = new kind.Http(new URL(`${service.url}/mcp`), {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
      });
      const client = kind.client();
      await assert.rejects(async () => {
        await client.connect(transport);
        await client.listTools();
      });
      await client.close();
    }
  });
}

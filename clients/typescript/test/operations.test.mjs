// @ts-check
/** Every operation of the service can be reached, by the methods that clients/operations.json names. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { Administrator, AgentMemory, Problem } from "memoir-client";

import { Service } from "../../../tests/support/memoir-service.mjs";

/** @type {Record<string, string | Record<string, unknown[]>>} */
const wanted = JSON.parse(await readFile(new URL("../../operations.json", import.meta.url), "utf8"));

/** @param {string} name */
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

test("every operation is reached by the methods of the Python client's names, or left out with why", async () => {
  const service = await Service.start();
  const { paths } = await (await fetch(`${service.url}/openapi.json`)).json();
  await service.stop();
  /** @type {Map<string, { method: string; path: string }>} */
  const operations = new Map();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { operationId }] of Object.entries(methods))
      if (operationId) operations.set(operationId, { method: method.toUpperCase(), path });
  assert.deepEqual(new Set(Object.keys(wanted)), new Set(operations.keys()));

  for (const [operation, methods] of Object.entries(wanted)) {
    if (typeof methods === "string") continue;
    assert.notEqual(Object.keys(methods).length, 0, operation);
    for (const [named, args] of Object.entries(methods)) {
      const [kind, name] = named.split(".");
      /** @type {string[]} */
      const asked = [];
      /** @type {typeof fetch} */
      const refusing = async (input, init) => {
        asked.push(`${init?.method ?? "GET"} ${new URL(String(input)).pathname}`);
        return new Response("{}", { status: 400 });
      };
      const options = { url: "http://127.0.0.1:1", agent: "x", token: "x", fetch: refusing };
      /** @type {any} */
      const client =
        name === "sign_in" ? Administrator : kind === "AgentMemory" ? new AgentMemory(options) : new Administrator(options);
      const given = name === "sign_in" ? [{ ...options, ...Object(args[0]) }] : args;
      assert.equal(typeof client[camel(name ?? "")], "function", named);
      const answer = client[camel(name ?? "")](...given);
      await assert.rejects(async () => (answer.next ? answer.next() : answer), Problem, named);
      const { method, path } = /** @type {{ method: string; path: string }} */ (operations.get(operation));
      const pattern = new RegExp(`^${method} ${path.replace(/\{[a-z]+\}/g, "[^/]+")}$`);
      assert.equal(asked.length, 1, named);
      assert.match(asked[0] ?? "", pattern, named);
    }
  }
});

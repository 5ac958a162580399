/**
 * The official TypeScript SDKs get their tokens by OAuth, as programs that know the address alone: the present one, and
 * the first one, which most programs still use. A person agrees in the console.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import * as present from "@modelcontextprotocol/client";
import { UnauthorizedError as FirstUnauthorized } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { Service } from "../../support/memoir-service.mjs";

const info = { name: "test", version: "1" };
const callback = "http://127.0.0.1:9/callback";
const password = "correct horse battery";
const sdks = [
  {
    sdk: "present",
    Client: present.Client,
    Http: present.StreamableHTTPClientTransport,
    Unauthorized: present.UnauthorizedError,
  },
  { sdk: "first", Client: FirstClient, Http: FirstHttp, Unauthorized: FirstUnauthorized },
];

let service;

before(async () => {
  service = await Service.start({ MEMOIR_PASSWORD: password });
  await service.memoir("user", "add", "Ada");
});

after(() => service?.stop());

/** What a program keeps, and where it sends the browser. */
class Kept {
  redirectUrl = callback;
  clientMetadata = { client_name: "A program", redirect_uris: [callback] };
  state = () => "a state";
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.pair;
  saveTokens = (pair) => void (this.pair = pair);
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  codeVerifier = () => this.verifier;
  redirectToAuthorization = (url) => void (this.asked = url);
}

/** The value of an attribute of the first tag that holds that text. */
function attribute(page, holding, name) {
  const tag = page.match(/<[^>]*>/g).find((tag) => tag.includes(holding));
  const value = tag.match(new RegExp(`${name}="([^"]*)"`))[1];
  return value.replaceAll("&amp;", "&");
}

/** Goes where a program leads, signs in, and connects it; where that leads back to. */
async function agree(url, agent) {
  let cookie = "";
  const send = async (path, fields) => {
    const answer = await fetch(new URL(path, url), {
      method: fields ? "POST" : "GET",
      redirect: "manual",
      headers: { cookie, "sec-fetch-site": "same-origin" },
      body: fields && new URLSearchParams(fields),
    });
    cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? cookie;
    return answer;
  };
  await send("/sign-in", { name: "Ada", password });
  const page = await (await send(url.pathname + url.search)).text();
  const answer = await send(url.pathname, {
    ...Object.fromEntries(url.searchParams),
    form_token: attribute(page, 'name="form_token"', "value"),
    agent: (await service.memoir("agent", "show", agent)).id,
    decision: "connect",
  });
  assert.equal(answer.status, 303, await answer.text());
  return new URL(answer.headers.get("location"));
}

for (const { sdk, Client, Http, Unauthorized } of sdks) {
  test(`spec_5_5 a program is connected and renews its tokens: ${sdk}`, async () => {
    const agent = `agent-${sdk}`;
    await service.post("/v1/agents", { name: agent });
    const kept = new Kept();
    const open = () => new Http(new URL(`${service.url}/mcp`), { authProvider: kept });
    const transport = open();
    await assert.rejects(new Client(info).connect(transport), Unauthorized);
    const back = await agree(kept.asked, agent);
    assert.equal(`${back.origin}${back.pathname}`, callback);
    assert.equal(back.searchParams.get("state"), "a state");
    await transport.finishAuth(sdk === "present" ? back.searchParams : back.searchParams.get("code"));
    const before = kept.pair;

    const save = async (content) => {
      const client = new Client(info);
      await client.connect(open());
      const answer = await client.callTool({ name: "save_memory", arguments: { content, kind: "core" } });
      assert.notEqual(answer.isError, true);
      await client.close();
    };
    await save("Ada keeps bees.");
    assert.deepEqual(kept.pair, before);
    // As once its ten minutes are over.
    kept.pair = { ...before, access_token: "memoir-access_over" };
    await save("Ada lives in Leeds.");
    assert.notEqual(kept.pair.refresh_token, before.refresh_token);
  });
}

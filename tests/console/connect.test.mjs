/**
 * A program of another site is connected, in a browser: the link from there, with a cookie that is not sent across
 * sites; the page; and the way back, which the policy of the page must allow.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { Service } from "../support/memoir-service.mjs";
import { PASSWORD, launch } from "./support/installation.mjs";

let service;
let browser;
/** Another site: its name is another one, though it is on this machine too. */
let site;
let elsewhere;
let question;

before(async () => {
  service = await Service.start({ MEMOIR_PASSWORD: PASSWORD });
  await service.memoir("user", "add", "Ada");
  browser = await launch();
  site = createServer((request, answer) => {
    answer.setHeader("content-type", "text/html; charset=utf-8");
    const back = request.url.startsWith("/callback");
    answer.end(back ? "<h1>Back</h1>" : `<a href="${question.replaceAll("&", "&amp;")}">Connect</a>`);
  });
  site.listen(0, "localhost");
  await once(site, "listening");
  elsewhere = `http://localhost:${site.address().port}`;
  const registered = await fetch(`${service.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "A hosted program", redirect_uris: [`${elsewhere}/callback`] }),
  });
  const { client_id } = await registered.json();
  const parameters = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: `${elsewhere}/callback`,
    state: "a state",
    code_challenge: createHash("sha256").update("a verifier".repeat(5)).digest("base64url"),
    code_challenge_method: "S256",
    resource: `${service.url}/mcp`,
  });
  question = `${service.url}/oauth/authorize?${parameters}`;
});

after(async () => {
  await browser?.close();
  site?.close();
  await service?.stop();
});

async function signIn(page) {
  await page.getByLabel("Name", { exact: true }).fill("Ada");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Presses a button of the page, and is led back to the other site; with what. */
async function ledBack(page, name) {
  await page.getByRole("button", { name, exact: true }).click();
  await page.waitForURL(`${elsewhere}/callback?**`);
  await page.getByRole("heading", { name: "Back" }).waitFor();
  return new URL(page.url()).searchParams;
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with scripts" : "without scripts";
  test(`spec_5_5 whoever is signed in is led from another site to the page and back: ${how}`, async () => {
    const name = `wren ${how}`;
    await service.post("/v1/agents", { name });
    const context = await browser.newContext({ javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(`${service.url}/sign-in`);
    await signIn(page);
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    await page.goto(elsewhere);
    await page.getByRole("link", { name: "Connect" }).click();
    await page.getByLabel("Agent").selectOption({ label: name });
    await page.getByText("A hosted program").first().waitFor();
    const sent = await ledBack(page, "Connect it");
    assert.match(sent.get("code"), /^memoir-code_/);
    assert.equal(sent.get("state"), "a state");
    assert.equal(sent.get("iss"), service.url);
    await context.close();
  });
}

test("spec_5_5 whoever is not signed in signs in first, and may say no", async () => {
  await service.post("/v1/agents", { name: "crow" });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(elsewhere);
  await page.getByRole("link", { name: "Connect" }).click();
  await signIn(page);
  await page.getByRole("heading", { name: "Connect a program" }).waitFor();
  const sent = await ledBack(page, "Do not connect it");
  assert.equal(sent.get("error"), "access_denied");
  assert.equal(sent.get("code"), null);
  await context.close();
});

/** The console with keys alone: everything is reached in a sensible order, seen, and done. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Installation, PASSWORD, holdsNoWords } from "./support/installation.mjs";
import { settled } from "./support/looks.mjs";

let installation;
let wren;
before(async () => {
  installation = await Installation.open();
  wren = await installation.agent("Wren", [
    "The harbour lies to the west of the old town",
    "the harbour lies to the west of the old town",
    "Ivo taught me how to read the tide tables",
    "We promised each other to come back in spring",
    "Marta prefers linen thread",
  ]);
  await installation.agent("Lark", []);
});
after(() => installation?.close());

/** A test with a window that Ada has signed in with. */
function byKeys(name, body) {
  test(name, async () => {
    const page = await installation.ada();
    try {
      await body(page);
      installation.isCalm((path) => path.startsWith("/access/") && path.endsWith("/memories"));
    } finally {
      await page.context().close();
    }
  });
}

/** What has the focus: its role and name in short, and whether it can be seen that it has. */
function focused(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    const label = element.labels?.[0]?.textContent ?? element.getAttribute("aria-label") ?? element.textContent;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const { width, height, top, left } = element.getBoundingClientRect();
    return {
      is: `${element.localName} ${label.trim().replace(/\s+/g, " ")}`,
      isMarked: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
      isInSight: width > 0 && height > 0 && top >= 0 && left >= 0 && top < innerHeight && left < innerWidth,
    };
  });
}

/** Presses a key until what has that name has the focus; tells what had it on the way. */
async function reach(page, name, key = "Tab") {
  const passed = [];
  await page.waitForLoadState("load");
  for (let times = 0; times < 80; times++) {
    await page.keyboard.press(key);
    const { is, isMarked, isInSight } = await focused(page);
    passed.push(is);
    assert.ok(isMarked, `nobody sees that ${is} has the focus`);
    assert.ok(isInSight, `${is} has the focus, out of sight`);
    if (typeof name === "string" ? is === name : name.test(is)) return passed;
  }
  assert.fail(`${name} is not reached: ${passed.join(", ")}`);
}

test("somebody signs in by keys", async () => {
  const page = await installation.window();
  await page.goto("/sign-in");
  await reach(page, "input Name");
  await page.keyboard.type("Ada");
  assert.deepEqual(await reach(page, "input Password"), ["input Password"]);
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Fleet" }).waitFor();
  await page.context().close();
  installation.isCalm();
});

byKeys("the way through the fleet is as it is read, and may be shortened", async (page) => {
  await page.goto("/");
  const passed = await reach(page, "a Wren");
  assert.equal(passed[0], "a Skip to the content");
  const order = ["a Fleet", "a Activity", "a Audit", "summary Ada", "input Name of an agent", "button Search", /^a \d+ in all$/, /^a Health/, /^a Agent/, "a Lark", "a Wren"];
  const places = order.map((name) => passed.findIndex((is) => (typeof name === "string" ? is === name : name.test(is))));
  assert.ok(!places.includes(-1), passed.join(", "));
  assert.deepEqual(places, [...places].sort((left, right) => left - right), passed.join(", "));

  await page.goto("/");
  await reach(page, "a Skip to the content");
  await page.keyboard.press("Enter");
  await page.locator("#main:focus").waitFor();
  const after = await reach(page, "input Name of an agent");
  assert.ok(!after.includes("a Audit"));
});

byKeys("the fleet is sorted and searched", async (page) => {
  await page.goto("/");
  await reach(page, "a Core size of budget");
  await page.keyboard.press("Enter");
  await page.getByRole("columnheader", { name: "Core size of budget" }).and(page.locator("[aria-sort=descending]")).waitFor();
  await reach(page, "input Name of an agent");
  await page.keyboard.type("lark");
  await page.keyboard.press("Enter");
  await page.getByText("1 agent with “lark” in the name").waitFor();
});

byKeys("the menu opens and closes, and signs out", async (page) => {
  await page.goto("/");
  const signOut = page.getByRole("button", { name: "Sign out", exact: true });
  await reach(page, "summary Ada");
  await page.keyboard.press("Enter");
  await signOut.waitFor();
  await page.keyboard.press("Enter");
  await signOut.waitFor({ state: "hidden" });
  await page.keyboard.press("Space");
  await reach(page, "button Sign out");
});

byKeys("a session is begun, seen to its end, and rolled back", async (page) => {
  await page.goto("/");
  await reach(page, "a Wren");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Wren", level: 1 }).waitFor();
  await reach(page, "select How");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.getByLabel("How", { exact: true }).inputValue(), "dedup_only");
  await reach(page, "button Refine now");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /^Session of/ }).waitFor();
  await page.getByText("completed", { exact: true }).waitFor();
  await reach(page, "a Roll back…");
  await page.keyboard.press("Enter");
  await page.getByText("No later change conflicts with it.").waitFor();
  await reach(page, "button Roll back");
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText("The session was rolled back.").waitFor();
});

byKeys("a memory is protected, and found again", async (page) => {
  await page.goto(wren.path);
  await reach(page, "a Memories");
  await page.keyboard.press("Enter");
  await page.getByRole("row").first().waitFor();
  await reach(page, "summary Change memory 3");
  await page.keyboard.press("Enter");
  await reach(page, "button Protect memory 3");
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText("constitutional now").waitFor();
  // The page opens at the memory, and the way goes on from there.
  await settled(installation, page);
  const passed = await reach(page, "summary Change memory 3");
  assert.ok(passed.length <= 2, passed.join(", "));
  await page.keyboard.press("Enter");
  await reach(page, "button Unprotect memory 3");
});

byKeys("the audit is filtered and verified", async (page) => {
  await page.goto("/audit");
  await reach(page, "input Name of the agent");
  await page.keyboard.type("Wren");
  await page.keyboard.press("Enter");
  await page.getByRole("table").waitFor();
  await reach(page, "select Action");
  // One key at a time: what is typed into a list counts as one word only where the browser is quick enough.
  const action = page.getByLabel("Action");
  for (let times = 0; times < 80 && (await action.inputValue()) !== "memory_saved"; times++) {
    await page.keyboard.press("ArrowDown");
  }
  await reach(page, "button Filter");
  await page.keyboard.press("Enter");
  await page.waitForURL(/action=memory_saved/);
  await reach(page, "button Verify the chain");
  await page.keyboard.press("Space");
  await page.getByRole("status").getByText("Everything matches").waitFor();
});

byKeys("an agent is made, and set", async (page) => {
  await page.goto("/");
  await reach(page, "a New agent");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New agent" }).waitFor();
  await reach(page, "input Name");
  await page.keyboard.type("Finch");
  await reach(page, "button Make the agent");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Finch", level: 1 }).waitFor();
  await reach(page, "a Settings");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
  await reach(page, "input Paused");
  await page.keyboard.press("Space");
  await reach(page, "button Save");
  await page.keyboard.press("Enter");
  await page.getByRole("status").first().waitFor();
  assert.ok(await page.getByLabel("Paused").isChecked());
});

byKeys("the slider of the time machine is moved", async (page) => {
  await page.goto(`${wren.path}/time`);
  const slider = page.getByRole("slider", { name: "Point in its history" });
  const newest = Number(await slider.inputValue());
  await reach(page, "input Point in its history");
  for (let times = 0; times < 3; times++) await page.keyboard.press("ArrowLeft");
  await page.getByRole("heading", { name: `After record ${newest - 3}` }).waitFor();
  assert.match(await slider.getAttribute("aria-valuetext"), new RegExp(`^Record ${newest - 3} of ${newest}, `));
  await page.getByRole("status").getByText(`Record ${newest - 3} of ${newest}`).waitFor();
  assert.equal((await focused(page)).is, "input Point in its history");
});

byKeys("a session that runs does not take the focus from whoever watches", async (page) => {
  const { id } = await wren.call("POST", `/v1/agents/${wren.id}/sessions`, { driver: "agent" });
  await page.goto(`/sessions/${id}`);
  await page.getByText("This page follows the session.").waitFor();
  await reach(page, "button Cancel the session");
  await wren.call("POST", `/v1/sessions/${id}/tools/delete_memory`, { id: 4 });
  await page.getByRole("row").filter({ hasText: "taken out of the prompt" }).waitFor();
  assert.equal((await focused(page)).is, "button Cancel the session");
  await page.keyboard.press("Enter");
  await page.getByText("The session was cancelled; its edits stay.").waitFor();
});

byKeys("an agent is asked to let somebody in, and the looking is ended", async (page) => {
  await page.goto(`${wren.path}/access`);
  await reach(page, "textarea Purpose");
  await page.keyboard.type("To see whether the ferry is noted");
  await reach(page, "button Ask the agent");
  await page.keyboard.press("Enter");
  await page.getByText("Wren has not answered yet.").waitFor();
  const request = new URL(page.url()).pathname.split("/").at(-1);
  await wren.call("POST", `/v1/access-requests/${request}/answer`, { granted: true });
  await page.getByText("Wren consented.").waitFor();
  await reach(page, "a Read");
  await page.keyboard.press("Enter");
  await page.getByRole("complementary", { name: "Access" }).waitFor();
  await reach(page, "button Stop looking");
  await page.keyboard.press("Enter");
  await page.getByText("You revoked it.").waitFor();
  await holdsNoWords(page);
});

/** What is measured of an open page: whether everybody can use it, and whether it stays where it is. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";

import { until } from "./installation.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The guidelines for content that everybody can use, up to 2.2 AA, and what is good practice besides. */
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What bars somebody from using the page, a line each. */
export async function barriers(page) {
  // The policy of the pages lets no script in; this comes by the door of the browser's own tools.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(
    (values) => window.axe.run(document, { runOnly: { type: "tag", values }, resultTypes: ["violations"] }),
    TAGS,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}; ${node.html.slice(0, 200)}; ${node.failureSummary ?? ""}`),
  );
}

/** How many pixels of the page can only be seen by scrolling sideways. */
export function overhang(page) {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
}

/** How much of the page moved by itself since it was opened, as browsers count it, and what did. */
export function shift(page) {
  return page.evaluate(async () => {
    const found = [];
    const observer = new PerformanceObserver((list) => found.push(...list.getEntries()));
    observer.observe({ type: "layout-shift", buffered: true });
    // What is buffered comes with the next task.
    await new Promise((resolve) => setTimeout(resolve, 50));
    found.push(...observer.takeRecords());
    observer.disconnect();
    return found
      .filter((entry) => !entry.hadRecentInput)
      .map(({ value, sources }) => {
        const corner = ({ x, y }) => `${Math.round(x)},${Math.round(y)}`;
        const moved = sources.map(
          ({ node, previousRect, currentRect }) =>
            `${(node?.outerHTML ?? node?.nodeName ?? "?").slice(0, 60)} from ${corner(previousRect)} to ${corner(currentRect)}`,
        );
        return `${value.toFixed(4)}: ${moved.join("; ")}`;
      });
  });
}

/** Until the page has all that it loads, and has drawn it. */
export async function settled(installation, page) {
  await page.waitForLoadState("load");
  // Scripts ask for more once they run.
  await wait(60);
  await until("the rest of the page", () => installation.witness.awaited.size === 0);
  await page.waitForLoadState("load");
  await page.evaluate(async () => {
    await document.fonts.ready;
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    await frame();
    await frame();
  });
}

/** That everybody can use the page, on this screen and in these colours, and that nothing on it moves. */
export async function isSound(page, where) {
  assert.deepEqual(await barriers(page), [], where);
  assert.equal(await overhang(page), 0, `${where} is wider than its window`);
  assert.deepEqual(await shift(page), [], `${where} moves`);
}

/** That Tab goes to everything that is pressed or filled in, in the order of the page, in sight and marked. */
export async function isWalked(page, where) {
  const count = await page.evaluate(() => {
    const stops = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
    window.stops = [...document.querySelectorAll(stops)].filter((one) => !one.disabled && one.checkVisibility());
    window.stops[0]?.focus();
    return window.stops.length;
  });
  for (let place = 1; place < count; place++) {
    let reached = { at: place - 1 };
    // A field for a date has several parts.
    for (let times = 0; times < 8 && reached.at === place - 1; times++) {
      await page.keyboard.press("Tab");
      reached = await page.evaluate(() => {
        const element = document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        const { width, height, top, left } = element.getBoundingClientRect();
        return {
          at: window.stops.indexOf(element),
          is: element.outerHTML.slice(0, 100),
          isMarked: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2,
          isInSight: width > 0 && height > 0 && top >= 0 && left >= 0 && top < innerHeight && left < innerWidth,
        };
      });
    }
    assert.equal(reached.at, place, `${where}: the focus is at ${reached.is}`);
    assert.ok(reached.isMarked && reached.isInSight, `${where}: nobody sees that ${reached.is} has the focus`);
  }
}

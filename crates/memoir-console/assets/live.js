// Follows a session while it runs. When the service reports an event, the page is loaded again, and its new parts
// are inserted into this one. So the service renders everything, as for a browser without scripts.
"use strict";

(() => {
  /** The shortest interval between two loads, in milliseconds. */
  const REST = 250;
  /** The shortest interval between two announcements, in milliseconds. */
  const READ_OUT_EVERY = 2_000;
  /** The model's last call is counted right after the end. */
  const LAST_LOOK_AFTER = 1_500;

  const page = document.getElementById("session");
  if (!page?.dataset.events) return;

  const readOut = page.querySelector("[data-read-out]");
  let events = null;
  let hasEnded = false;
  let isLooking = false;
  let isStale = false;
  let isToBeRead = false;

  follow();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) rest();
    else follow();
  });

  /** Begins to follow; earlier events come as well. */
  function follow() {
    if (events || hasEnded || document.hidden) return;
    events = new EventSource(page.dataset.events);
    for (const name of ["record", "session"]) events.addEventListener(name, look);
    events.addEventListener("ended", () => {
      hasEnded = true;
      rest();
      look();
      setTimeout(look, LAST_LOOK_AFTER);
    });
    events.addEventListener("open", () => say("This page follows the session."));
    events.addEventListener("error", () => {
      if (events?.readyState === EventSource.CLOSED) {
        say("This page does not follow the session any more. Load it again.");
        look();
      } else {
        say("The connection was lost; trying again.");
      }
    });
  }

  /** Stops following. For hidden pages too: a browser has six connections to a host, and this takes one. */
  function rest() {
    events?.close();
    events = null;
  }

  /** Says whether the page follows. */
  function say(text) {
    const place = page.querySelector("[data-following]");
    if (place) place.textContent = text;
  }

  /** Loads the present page; again afterwards if there was an event meanwhile. */
  async function look() {
    isStale = true;
    if (isLooking) return;
    isLooking = true;
    while (isStale) {
      isStale = false;
      try {
        await take();
      } catch {
        say("This page could not be brought up to date. Load it again.");
      }
      await new Promise((done) => setTimeout(done, REST));
    }
    isLooking = false;
  }

  async function take() {
    const answer = await fetch(location.pathname);
    // A signed-out user is redirected.
    if (!answer.ok || answer.redirected) throw new Error(`status ${answer.status}`);
    const text = await answer.text();
    const loaded = new DOMParser().parseFromString(text, "text/html");
    const fresh = loaded.getElementById("session");
    document.title = loaded.title;
    for (const part of page.querySelectorAll("[data-part]")) {
      const other = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
      if (part.dataset.part === "records") takeRecords(part, other);
      else if (part.dataset.part !== "following" || !fresh.dataset.events) replace(part, other);
    }
    if (!isToBeRead) {
      isToBeRead = true;
      setTimeout(announce, READ_OUT_EVERY);
    }
  }

  /** Announces the state of the session, where that changed. */
  function announce() {
    isToBeRead = false;
    const now = page.querySelector("[data-now]").textContent;
    if (readOut.textContent !== now) readOut.textContent = now;
  }

  /** Puts the content of `other` into `part`, and keeps the keyboard focus. */
  function replace(part, other) {
    if (part.innerHTML === other.innerHTML) return;
    const left = part.contains(document.activeElement) ? document.activeElement.textContent : null;
    part.replaceChildren(...other.childNodes);
    if (left === null) return;
    // To the same button if it still exists, never to one with another action.
    const same = [...part.querySelectorAll("a, button")].find((one) => one.textContent === left);
    (same ?? document.getElementById("heading")).focus();
  }

  /** Inserts the records that are new above the others, which never change. */
  function takeRecords(part, other) {
    const [rows, fresh] = [part, other].map((one) => one.querySelector("#records"));
    const place = (row) => Number(row.dataset.seq);
    const newest = rows && place(rows.firstElementChild);
    if (!rows || !fresh || place(fresh.lastElementChild) > newest) return replace(part, other);
    rows.prepend(...[...fresh.children].filter((row) => place(row) > newest));
  }
})();

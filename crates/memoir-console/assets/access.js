// An open page under an access grant: counts down the remaining time, and closes the text.
//
// The text leaves the page at the end at the latest, by the earlier of two clocks: a monotonic one, and the time of
// day, since the former may stop while the machine sleeps. Only differences count; the server reports the remaining
// time. It is polled, so that a revocation closes the page immediately. Without a response the text is hidden.
(() => {
  "use strict";

  /** The interval of the polls, and the longest silence of the server, in milliseconds. */
  const ASK_EVERY = 3000;
  const SILENCE = 10000;
  /** How long before the end a browser without scripts still shows the page, in milliseconds. */
  const STAY = 3000;
  /** For how long a page that waits for an answer polls, in milliseconds. */
  const PATIENCE = 15 * 60 * 1000;
  /** Texts for screen readers, by seconds before the end. */
  const ALOUD = [[10, "10 seconds left."], [60, "1 minute left."], [300, "5 minutes left."]];

  /** The state of the access by the server; throws without a response. `null` where there is none. */
  const ask = async (path) => {
    const answer = await fetch(path, {
      cache: "no-store",
      credentials: "same-origin",
      redirect: "manual",
      signal: AbortSignal.timeout(SILENCE),
    });
    // A signed-out user is redirected.
    if (answer.type === "opaqueredirect" || (answer.status >= 400 && answer.status < 500 && answer.status !== 429)) {
      return null;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  };

  /** The granted text. */
  const read = (words) => {
    const banner = document.getElementById("banner");
    const closed = document.getElementById("closed");
    const outOfReach = document.getElementById("out-of-reach");
    const aloud = document.getElementById("left-aloud");
    const clock = document.getElementById("left");
    const path = words.dataset.state;
    const left = Number(words.dataset.left) * 1000;

    // Both from the moment at which the page was asked for, which lies before the server's answer.
    const begun = Date.now() - performance.now();
    let end = Number.isFinite(left) ? left : 0;
    let heard = performance.now();
    let heardAt = Date.now();
    let spoken = Infinity;
    let isOver = false;
    let isStaying = false;
    let isAsking = false;

    const remaining = () => Math.min(end - performance.now(), begun + end - Date.now());
    const silence = () => Math.max(performance.now() - heard, Date.now() - heardAt);

    /** Where no script ran, the browser would go elsewhere shortly before the end; here the page closes itself. */
    const stay = () => window.stop();

    const hide = (isHidden) => {
      if (words.hidden === isHidden) return;
      words.hidden = isHidden;
      outOfReach.hidden = !isHidden;
      outOfReach.textContent = isHidden
        ? "The service cannot be reached: the words are hidden until it can."
        : "";
    };

    const close = (stated) => {
      if (isOver) return;
      isOver = true;
      words.replaceChildren();
      words.remove();
      banner.remove();
      outOfReach.hidden = true;
      aloud.textContent = "";
      stay();
      const why = document.createElement("p");
      why.className = "notice";
      const text = document.createElement("span");
      text.textContent = `This is closed. ${stated} `;
      const back = document.createElement("a");
      back.href = words.dataset.back;
      back.textContent = "Back to the request";
      why.append(text, back);
      closed.append(why);
      closed.focus();
      return text;
    };

    /** Closes it, and shows the reason once the server reports it. */
    const runOut = async () => {
      const text = close("Its time is over.");
      try {
        const now = await ask(path);
        if (text && now && now.state !== "granted") text.textContent = `This is closed. ${now.stated} `;
      } catch {
        // It stays closed, whatever the reason.
      }
    };

    const tick = () => {
      if (isOver) return;
      const now = remaining();
      if (!(now > 0)) {
        runOut();
        return;
      }
      if (now < STAY && !isStaying) {
        isStaying = true;
        stay();
      }
      const seconds = Math.floor(now / 1000);
      clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
      const due = ALOUD.find(([at]) => seconds <= at);
      if (due && due[0] < spoken) {
        // The banner has what is due already when the page opens.
        if (spoken !== Infinity) aloud.textContent = due[1];
        spoken = due[0];
      } else if (spoken === Infinity) {
        spoken = Number.MAX_VALUE;
      }
      if (silence() > SILENCE) hide(true);
    };

    const look = async () => {
      if (isOver || isAsking) return;
      isAsking = true;
      try {
        const asked = performance.now();
        const now = await ask(path);
        if (now === null) {
          close("You are signed out, or it is gone.");
        } else if (now.state !== "granted") {
          close(now.stated);
        } else {
          // Never later than reported before.
          end = Math.min(end, asked + now.seconds_left * 1000 + 1000);
          heard = performance.now();
          heardAt = Date.now();
          tick();
          if (!isOver) hide(false);
        }
      } catch {
        tick();
      } finally {
        isAsking = false;
      }
    };

    const again = () => {
      tick();
      look();
    };
    tick();
    setInterval(tick, 250);
    setInterval(look, ASK_EVERY);
    document.addEventListener("visibilitychange", again);
    window.addEventListener("focus", again);
    window.addEventListener("online", again);
    // A page that is left keeps no text, and is loaded again on return.
    window.addEventListener("pagehide", () => {
      isOver = true;
      words.replaceChildren();
    });
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) location.reload();
    });
  };

  /** The state of a request, on its own page. */
  const follow = (standing) => {
    const known = standing.dataset.standing;
    if (known !== "asked" && known !== "granted") return;
    const begun = performance.now();
    const look = async () => {
      if (document.hidden || performance.now() - begun > PATIENCE) return;
      try {
        const now = await ask(standing.dataset.state);
        if (now !== null && now.state === known) return;
      } catch {
        return;
      }
      clearInterval(timer);
      location.replace(location.pathname);
    };
    const timer = setInterval(look, ASK_EVERY);
    document.addEventListener("visibilitychange", look);
  };

  const words = document.getElementById("words");
  const standing = document.getElementById("standing");
  if (words && words.dataset.state) read(words);
  if (standing && standing.dataset.state) follow(standing);
})();

// An open page under an access: counts down what is left of it, and closes what it shows.
//
// The words leave the page at the end of the time at the latest, by whichever of two clocks comes first: one that
// nobody sets, and the time of day, since the other may stand still while the machine sleeps. The visitor's own
// idea of what time it is plays no part; the server says how much is left. It is asked again and again, so that
// whoever takes the access back closes the page at once; where it cannot be reached, the words are hidden.
(() => {
  "use strict";

  /** How often the server is asked, and for how long it may be silent, in milliseconds. */
  const ASK_EVERY = 3000;
  const SILENCE = 10000;
  /** How long before the end a browser without scripts has not gone elsewhere yet, in milliseconds. */
  const STAY = 3000;
  /** For how long a page that waits for an answer asks by itself. */
  const PATIENCE = 15 * 60 * 1000;
  /** What is read out, at so many seconds before the end. */
  const ALOUD = [[10, "10 seconds left."], [60, "1 minute left."], [300, "5 minutes left."]];

  /** What the server says of the access; throws where it says nothing. `null` where it says that there is none. */
  const ask = async (path) => {
    const answer = await fetch(path, {
      cache: "no-store",
      credentials: "same-origin",
      redirect: "manual",
      signal: AbortSignal.timeout(SILENCE),
    });
    // Somebody who is signed out is sent elsewhere.
    if (answer.type === "opaqueredirect" || (answer.status >= 400 && answer.status < 500 && answer.status !== 429)) {
      return null;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  };

  /** What the agent lets be read. */
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

    const close = (told) => {
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
      text.textContent = `This is closed. ${told} `;
      const back = document.createElement("a");
      back.href = words.dataset.back;
      back.textContent = "Back to the request";
      why.append(text, back);
      closed.append(why);
      closed.focus();
      return text;
    };

    /** Closes it, and tells why once the server says. */
    const runOut = async () => {
      const text = close("Its time is over.");
      try {
        const now = await ask(path);
        if (text && now && now.state !== "granted") text.textContent = `This is closed. ${now.told} `;
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
        // What is due already when the page opens is on the banner.
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
          close(now.told);
        } else {
          // Never later than was said before.
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
    // A page that is left keeps no words, and one that is come back to is asked for anew.
    window.addEventListener("pagehide", () => {
      isOver = true;
      words.replaceChildren();
    });
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) location.reload();
    });
  };

  /** How a request stands, on its own page. */
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

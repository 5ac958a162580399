// Shows that the program of an agent has called, once it has. Without this script, loading the page again does.
"use strict";

(() => {
  /** The interval between two questions, in milliseconds. */
  const EVERY = 3_000;

  const light = document.getElementById("light");
  if (!light?.dataset.state) return;

  const asking = setInterval(async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(light.dataset.state);
      // A signed-out user is redirected.
      if (!answer.ok || answer.redirected) return clearInterval(asking);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("light");
      if (fresh.dataset.state) return;
      clearInterval(asking);
      // Its content and not the element, so that it is read out.
      light.replaceChildren(...fresh.childNodes);
    } catch {
      // The service may be back with the next question.
    }
  }, EVERY);
})();

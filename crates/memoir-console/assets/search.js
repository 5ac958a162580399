// Shows the result of a form while it is filled in. The result is the page's own, as the service sends it for the
// form; without this script the form's button asks for it.
"use strict";

(() => {
  const form = document.querySelector("form[data-live]");
  if (!form) return;

  const stated = document.getElementById("stated");

  // How long nothing is typed before the service is asked, in milliseconds.
  const REST = 120;

  let waiting = 0;
  // The next address to show, and whether a request is running.
  let wanted = null;
  let isAsking = false;

  function address() {
    const given = [...new FormData(form)].filter(([, value]) => value.trim() !== "");
    const query = new URLSearchParams(given).toString();
    return query === "" ? form.action : `${form.action}?${query}`;
  }

  // One request at a time: what was typed meanwhile is asked for once.
  async function show() {
    wanted = address();
    if (isAsking) return;
    isAsking = true;
    while (wanted !== null) {
      const next = wanted;
      wanted = null;
      await take(next);
    }
    isAsking = false;
  }

  async function take(next) {
    try {
      const answer = await fetch(next, { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById(form.dataset.live);
      // Refused, for instance: then that page is shown.
      if (!answer.ok || !fresh) return location.assign(next);
      if (wanted !== null) return;
      document.getElementById(form.dataset.live).replaceWith(document.adoptNode(fresh));
      stated.className = "hidden";
      stated.textContent = fresh.dataset.stated;
      history.replaceState(null, "", next);
    } catch {
      stated.className = "problem";
      stated.textContent = "The page could not be reached. Is “memoir ui” still running?";
    }
  }

  function soon() {
    clearTimeout(waiting);
    waiting = setTimeout(show, REST);
  }

  form.addEventListener("input", soon);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    show();
  });
})();

"use strict";

// Shows an agent's history at the place of the slider while it is moved. The pictures are the page's own, as
// the service sends it for each record; without this script the form asks for them.
(() => {
  const form = document.getElementById("past");
  const slide = document.getElementById("slide");
  if (!form || !slide) return;

  const number = document.getElementById("record");
  const shown = document.getElementById("shown");
  const place = document.getElementById("place");
  const stated = document.getElementById("stated");
  const here = document.getElementById("here");

  // How long the slider stands still before the service is asked, in milliseconds.
  const REST = 150;
  // In the curve's own units.
  const WIDTH = 1000;

  let waiting = 0;
  // The next place to show, and whether a request is running.
  let wanted = null;
  let isAsking = false;

  function address(record) {
    return `${form.action}?record=${encodeURIComponent(record)}`;
  }

  // Shows the place before the service responds.
  function mark(record) {
    const across = Math.floor((record * WIDTH) / Math.max(1, Number(slide.max)));
    here.setAttribute("x1", across);
    here.setAttribute("x2", across);
    number.value = record;
    shown.value = record;
    place.textContent = Number(record) === 0 ? "Before the first record" : `Record ${record}`;
  }

  // One request at a time: each makes the service read the whole log, and runs on there after the client has left.
  // Places that were passed meanwhile are skipped.
  async function show(record) {
    wanted = record;
    if (isAsking) return;
    isAsking = true;
    while (wanted !== null) {
      const next = wanted;
      wanted = null;
      await take(next);
    }
    isAsking = false;
  }

  async function take(record) {
    try {
      const answer = await fetch(address(record), { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const moment = page.getElementById("moment");
      // Signed out, for instance: then that page is shown.
      if (!answer.ok || !moment) return location.assign(address(record));
      // The slider was moved on since, and shows its place already.
      if (slide.value !== record) return;
      document.getElementById("moment").replaceWith(document.adoptNode(moment));
      place.textContent = moment.dataset.text;
      slide.setAttribute("aria-valuetext", moment.dataset.text);
      stated.textContent = moment.dataset.stated;
      history.replaceState(null, "", address(record));
    } catch {
      stated.textContent = "This point could not be loaded. Move the slider to try again.";
      place.textContent = "It could not be loaded";
    }
  }

  slide.addEventListener("input", () => {
    const record = slide.value;
    mark(record);
    clearTimeout(waiting);
    waiting = setTimeout(() => show(record), REST);
  });
})();

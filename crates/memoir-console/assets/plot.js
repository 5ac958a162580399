// Draws the curves of a page, with uPlot, into the boxes of the service (`src/plot.rs`). The service makes the texts
// too; the script shows those of the place under the pointer, or reached with the arrow keys.
"use strict";

(() => {
  const MINUTE = 60;
  const DAY = 86_400;
  /** Half of a mark's width, in dots of the page. */
  const MARK = 4;
  const NUMBERS = new Intl.NumberFormat("en");
  /** The width from which on a curve has room for years. */
  const NARROW = 500;
  /** The axis of a session has room for its ten edits from the beginning, so that it seldom changes. */
  const LEAST_STEPS = 12;

  const number = (count) => NUMBERS.format(count);

  /** The time zone of the page. */
  const ZONE = document.querySelector("figure.plot")?.dataset.zone ?? "UTC";

  /** As the service writes times: to the minute, or to the second where minutes are too long. */
  const written = (seconds, step) => {
    // Swedish writes a time as the service does: `2026-03-04 12:00:59`.
    const time = new Date(seconds * 1000).toLocaleString("sv-SE", { timeZone: ZONE });
    return time.slice(0, step < MINUTE ? 19 : 16);
  };

  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  class Plot {
    constructor(figure) {
      this.figure = figure;
      this.box = figure.querySelector(".canvas");
      this.line = figure.dataset.line;
      this.overTime = "source" in figure.dataset;
      this.stated = figure.querySelector(".stated-at");
      this.curve = null;
      this.drawn = null;
      this.place = 0;
      /** Curves that were loaded, by their addresses. */
      this.loaded = new Map();
      this.listen();
    }

    listen() {
      this.box.addEventListener("keydown", (event) => this.press(event));
      new ResizeObserver(() => this.fit()).observe(this.box);
      for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
        matchMedia(query).addEventListener("change", () => this.draw());
      }
      for (const button of this.figure.querySelectorAll("button")) {
        button.addEventListener("click", () => this.choose(button));
      }
      // A page that follows a session puts the present data into this attribute.
      const changes = new MutationObserver(() => this.read());
      changes.observe(this.figure, { attributeFilter: ["data-curve"] });
    }

    begin() {
      const usual = this.figure.querySelector('button[data-days="90"]');
      if (usual) this.choose(usual);
      else this.read();
    }

    read() {
      const curve = JSON.parse(this.figure.dataset.curve ?? "null");
      if (curve) this.show(curve);
    }

    async choose(chosen) {
      for (const button of this.figure.querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button === chosen));
      }
      const { source } = this.figure.dataset;
      const { days } = chosen.dataset;
      const address = days ? `${source}?days=${days}` : source;
      try {
        const curve = this.loaded.get(address) ?? (await load(address));
        this.loaded.set(address, curve);
        // Another one may have been chosen since.
        if (chosen.getAttribute("aria-pressed") === "true") this.show(curve);
      } catch {
        this.stated.textContent = "The curve could not be loaded. Load the page again.";
      }
    }

    /** Shows a curve, with the text of its last point. */
    show(curve) {
      this.curve = curve;
      this.marks = new Map(curve.marks.map((mark) => [mark.place, mark]));
      this.draw();
      if (curve.at.length > 0) this.describe(curve.at.length - 1);
      else this.stated.textContent = "There is nothing to draw yet.";
    }

    draw() {
      this.drawn?.destroy();
      this.drawn = null;
      if (!this.curve || this.curve.at.length === 0) return;
      const { at, mass, low, high } = this.curve;
      const data = [at, mass];
      const series = [{}, this.massSeries()];
      const bands = [];
      if (low.length > 0) {
        bands.push({ series: [data.length, data.length + 1], fill: colour("--accent-soft") });
        data.push(high, low);
        const edge = { stroke: colour("--accent"), width: 0.5, paths: stepped(), points: { show: false } };
        series.push(edge, { ...edge });
      }
      this.drawn = new uPlot({ ...this.options(), series, bands }, data, this.box);
      this.box.tabIndex = 0;
      this.box.setAttribute("role", "slider");
      this.box.setAttribute("aria-labelledby", this.figure.getAttribute("aria-labelledby"));
      this.box.setAttribute("aria-valuemin", "0");
      this.box.setAttribute("aria-valuemax", String(at.length - 1));
    }

    massSeries() {
      return {
        stroke: colour("--accent"),
        width: 2,
        paths: this.overTime ? stepped() : undefined,
        points: { show: false },
      };
    }

    options() {
      const font = `12px ${getComputedStyle(document.body).fontFamily}`;
      const looks = {
        stroke: colour("--soft"),
        font,
        grid: { stroke: colour("--line"), width: 1 },
        ticks: { stroke: colour("--line"), width: 1 },
      };
      const masses = { ...looks, size: 64, values: (_, places) => places.map(number) };
      return {
        ...this.size(),
        padding: [14, 18, 0, 0],
        legend: { show: false },
        select: { show: false },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), ZONE),
        cursor: {
          y: false,
          // A click keeps the place, so that its text can be reached.
          lock: true,
          drag: { x: false, y: false },
          dataIdx: (_, series, place) => (series === 1 ? place : null),
          points: { size: 10, fill: colour("--accent"), stroke: colour("--sheet"), width: 2 },
        },
        scales: {
          x: { time: this.overTime, range: () => this.span() },
          y: { range: () => this.height() },
        },
        axes: [{ ...looks, size: 36, ...(this.overTime ? TIMES : STEPS) }, masses],
        hooks: {
          draw: [(drawn) => this.drawLine(drawn), (drawn) => this.drawMarks(drawn)],
          setCursor: [(drawn) => this.point(drawn)],
        },
      };
    }

    size() {
      return { width: this.box.clientWidth, height: this.box.clientHeight };
    }

    fit() {
      this.drawn?.setSize(this.size());
    }

    /** The range of the curve. */
    span() {
      const { at } = this.curve;
      const [first, last] = [at[0], at[at.length - 1]];
      if (!this.overTime) return [first, Math.max(last, first + LEAST_STEPS)];
      return first < last ? [first, last] : [first - DAY, last + DAY];
    }

    /** The range of core sizes: over time from 0 on, of a session the changing part. */
    height() {
      const { mass, high, line } = this.curve;
      const all = [...mass, ...high, ...(line === null ? [] : [line])];
      const most = Math.max(...all);
      if (this.overTime) return [0, Math.max(most * 1.08, 10)];
      const least = Math.min(...all);
      const room = Math.max((most - least) * 0.15, 4);
      return [Math.max(least - room, 0), most + room];
    }

    /** The budget, or the breaker line: across the whole curve, and where it is going. */
    drawLine({ ctx, bbox, valToPos }) {
      if (this.curve.line === null) return;
      const y = valToPos(this.curve.line, "y", true);
      ctx.save();
      ctx.lineWidth = 1.5 * devicePixelRatio;
      ctx.setLineDash([6 * devicePixelRatio, 5 * devicePixelRatio]);
      ctx.strokeStyle = colour("--soft");
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.restore();
    }

    drawMarks({ ctx, valToPos }) {
      const { at, mass, marks } = this.curve;
      const half = MARK * devicePixelRatio;
      ctx.save();
      ctx.lineWidth = 1.5 * devicePixelRatio;
      ctx.setLineDash([]);
      for (const { place, kind } of marks) {
        const [x, y] = [valToPos(at[place], "x", true), valToPos(mass[place], "y", true)];
        ctx.beginPath();
        if (kind === "back") {
          const far = half * 1.45;
          ctx.moveTo(x, y - far);
          ctx.lineTo(x + far, y);
          ctx.lineTo(x, y + far);
          ctx.lineTo(x - far, y);
          ctx.closePath();
        } else {
          ctx.arc(x, y, half, 0, 2 * Math.PI);
        }
        ctx.fillStyle = colour({ done: "--accent", back: "--bad" }[kind] ?? "--sheet");
        ctx.strokeStyle = colour(kind === "other" ? "--soft" : "--sheet");
        ctx.fill();
        ctx.stroke();
      }
      ctx.restore();
    }

    /** The pointer is at a place. */
    point({ cursor }) {
      if (cursor.idx !== null && cursor.idx !== undefined && cursor.left >= 0) this.describe(cursor.idx);
    }

    press(event) {
      const last = (this.curve?.at.length ?? 0) - 1;
      const place = this.placeFor(event.key, last);
      if (place === null || last < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const to = Math.min(Math.max(place, 0), last);
      const { at, mass } = this.curve;
      const [left, top] = [this.drawn.valToPos(at[to], "x"), this.drawn.valToPos(mass[to], "y")];
      // Several places may share a dot, so that it does not identify the place.
      this.drawn.setCursor({ left, top }, false);
      this.describe(to);
    }

    placeFor(key, last) {
      const marked = [...this.marks.keys()];
      switch (key) {
        case "ArrowLeft": return this.place - 1;
        case "ArrowRight": return this.place + 1;
        case "Home": return 0;
        case "End": return last;
        case "PageUp": return marked.find((place) => place > this.place) ?? last;
        case "PageDown": return marked.findLast((place) => place < this.place) ?? 0;
        default: return null;
      }
    }

    /** Shows the texts of a place, under the curve and for screen readers. */
    describe(place) {
      this.place = place;
      const mark = this.marks.get(place);
      const parts = this.overTime ? [this.massAt(place)] : [];
      if (mark) parts.push(...mark.stated);
      const text = parts.map((part) => `${part}.`).join(" ");
      this.stated.textContent = `${text} `;
      if (mark?.path) {
        const link = document.createElement("a");
        link.href = mark.path;
        link.textContent = "Show the session";
        this.stated.append(link);
      }
      this.box.setAttribute("aria-valuenow", String(place));
      this.box.setAttribute("aria-valuetext", text);
    }

    massAt(place) {
      const { at, mass, low, high, line } = this.curve;
      const time = (one) => written(at[one], at[1] - at[0]);
      let text = `${time(place)}: ${number(mass[place])} tokens`;
      if (line) text += `, ${Math.round((mass[place] * 100) / line)}\u00a0% of the ${this.line}`;
      if (low[place] < high[place] && place > 0) {
        text += `, between ${number(low[place])} and ${number(high[place])} since ${time(place - 1)}`;
      }
      return text;
    }
  }

  /** The core size stays until an event changes it. */
  const stepped = () => uPlot.paths.stepped({ align: 1 });

  const TIMES = {
    space: (_, _axis, _least, _most, width) => (width < NARROW ? 64 : 110),
    values: (drawn, times, _axis, _space, step) => {
      // A day without its time, or a time without its year.
      const part = step >= DAY ? [drawn.width < NARROW ? 5 : 0, 10] : [step < MINUTE ? 11 : 5];
      return times.map((time) => written(time, step).slice(...part));
    },
  };
  const STEPS = {
    space: 40,
    incrs: [1, 2, 5, 10, 20, 50, 100, 200],
    values: (_, steps) => steps.map((step) => (step === 0 ? "start" : String(step))),
  };

  async function load(address) {
    const answer = await fetch(address);
    // A signed-out user is redirected.
    if (!answer.ok || answer.redirected) throw new Error(`status ${answer.status}`);
    return answer.json();
  }

  for (const figure of document.querySelectorAll("figure.plot")) new Plot(figure).begin();
})();

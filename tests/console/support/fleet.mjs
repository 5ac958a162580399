/** A dozen agents with some months behind them, so that pages have something to show. */

import { until } from "./installation.mjs";
import { CANARY } from "./witness.mjs";

const DAY = 24 * 3600 * 1000;
/** Monday, 4 January 2027, 04:00 UTC: some weekly slot. */
const A_SLOT = Date.UTC(2027, 0, 4, 4);
const WEEKS = 12;

/**
 * Each agent: its settings, the memories that it begins with, how many it saves in a week, and every how
 * many weeks it refines.
 */
const AGENTS = [
  { name: "wren", budget: 3_000, begins: 34, weekly: 5, every: 1 },
  { name: "harbour-desk", budget: 6_000, begins: 60, weekly: 9, every: 2 },
  { name: "night-archivist", budget: 2_400, begins: 70, weekly: 4, every: 4 },
  { name: "studio-mina", budget: 5_000, begins: 22, weekly: 3, every: 3 },
  { name: "field-notes", budget: 2_000, begins: 12, weekly: 2, every: 6, overdoes: true },
  { name: "ledger-clerk", budget: 8_000, begins: 90, weekly: 2, every: 4 },
  { name: "tutor-anselm", budget: 4_000, begins: 40, weekly: 1, every: 6 },
  { name: "greenhouse", budget: 1_500, begins: 9, weekly: 1, every: 6 },
  { name: "mailroom", budget: 3_500, begins: 30, weekly: 6, every: 3, paused: true },
  { name: "cartographer", budget: 5_000, begins: 48, weekly: 3, every: 4 },
  { name: "kitchen-journal", budget: 2_500, begins: 14, weekly: 2, every: 6 },
  { name: "old-lighthouse", budget: 5_000, begins: 0, weekly: 0, every: 0 },
];

const PEOPLE = ["Marta", "Ivo", "Lene", "Tomás", "Aiko", "Ruben", "Noor", "Petra", "Silas", "Hanne"];
const THINGS = [
  "keeps the keys of the boat shed in the blue tin",
  "asked for the invoices to be sent on the first of the month",
  "does not eat mushrooms, whoever cooks them",
  "learned to read tide tables from an uncle in Brest",
  "prefers linen thread for the spines and cotton for the rest",
  "calls on Thursdays and wants to hear how the seedlings fare",
  "promised to come back in spring, when the ferry runs again",
  "moved the workshop to the second floor, where the light is better",
];

/** The text of an agent's memory of that number; no two of one agent are equal. */
function text(number) {
  const person = PEOPLE[number % PEOPLE.length];
  const thing = THINGS[Math.floor(number / PEOPLE.length) % THINGS.length];
  const more = number % 3 === 0 ? " It was said on a walk along the harbour, with the gulls overhead." : "";
  return `${person} ${thing} (letter ${number + 1} from ${CANARY}).${more}`;
}

/** The latest weekly slot before a time. */
function slotBefore(time) {
  return time - ((((time - A_SLOT) % (7 * DAY)) + 7 * DAY) % (7 * DAY));
}

/** One agent while its past is made. */
class Past {
  constructor(installation, plan) {
    this.installation = installation;
    this.plan = plan;
    this.texts = 0;
  }

  async begin() {
    const { name, budget, begins } = this.plan;
    // The schedule leaves it alone until its past is made: what happens when is decided here.
    // Its guard of losses is off, so that the breaker has something to end.
    const settings = {
      name,
      model: "builtin:careful",
      core_token_budget: budget,
      loss_guard: "off",
      paused: true,
    };
    const agent = await this.installation.call("POST", "/v1/agents", {
      ...settings,
      system_prompt: `You are ${name}. You remember for the people of ${CANARY}.`,
    });
    this.id = agent.id;
    this.path = `/agents/${agent.id}`;
    this.token = (await this.installation.call("POST", `/v1/agents/${name}/tokens`, {})).token;
    if (begins > 0) await this.save(this.fresh(begins));
  }

  /** So many texts that were not there before. */
  fresh(count) {
    return Array.from({ length: count }, () => text(this.texts++));
  }

  /** The agent saves these. */
  async save(texts, kind = "core") {
    const memories = texts.map((content) => ({ content, kind, tags: [CANARY, "letters"], source: `a letter from ${CANARY}` }));
    await this.call("POST", `/v1/agents/${this.id}/memories/batch`, { memories });
  }

  /** A week: new memories, and in most of them one that was there already, but for its full stop. */
  async live(week) {
    const { weekly, every } = this.plan;
    if (weekly === 0) return;
    const texts = this.fresh(weekly);
    if (week % 5 !== 4) texts.push(text(week).slice(0, -1), text(week + 20).toUpperCase());
    await this.save(texts);
    if (week % every !== every - 1) return;
    if (this.plan.overdoes && week === WEEKS - 1) await this.overdo();
    // In a week without duplicates the model of rules could do nothing, and no session is begun.
    else if (every > 1 || week % 5 !== 4) await this.refine();
  }

  /** A session that Memoir drives, to its end. */
  async refine(options = {}) {
    const { id } = await this.installation.call("POST", `/v1/agents/${this.id}/sessions`, { driver: "model", ...options });
    await until("the end of a session", async () => (await this.installation.call("GET", `/v1/sessions/${id}`)).ended_at);
  }

  /** A session that the agent drives; its identifier. */
  async open() {
    const { id } = await this.call("POST", `/v1/agents/${this.id}/sessions`, { driver: "agent" });
    return id;
  }

  /** A session that removes more than the breaker lets go. */
  async overdo() {
    const session = await this.open();
    for (const id of [4, 6, 8]) await this.use(session, "delete_memory", { id });
    const said = await this.use(session, "consolidate_memories", {
      ids: [1, 2, 3, 5, 7, 9, 10, 11, 12, 13],
      content: `Letters from ${CANARY} about this and that.`,
    });
    if (said.type !== "refinement_rolled_back") throw new Error(`the breaker did not trip: ${said.type}`);
  }

  /** A tool of an open session. */
  use(session, tool, input) {
    return this.call("POST", `/v1/sessions/${session}/tools/${tool}`, input);
  }

  call(method, path, body) {
    return this.installation.call(method, path, body, this.token);
  }
}

/**
 * Makes the dozen. The service must have been started with a clock that can be moved.
 * @returns {Promise<Record<string, Past>>} by name
 */
export async function settle(installation) {
  const now = Date.now();
  const last = slotBefore(now);
  // Moments after the slot, one agent after the other.
  const at = (week, place) => Math.min(last - (WEEKS - 1 - week) * 7 * DAY + (place + 1) * 100_000, now);
  await installation.clock.set(at(0, 0) - 3 * DAY);
  const fleet = AGENTS.map((plan) => new Past(installation, plan));
  for (const agent of fleet) await agent.begin();
  const byName = Object.fromEntries(fleet.map((agent) => [agent.plan.name, agent]));
  for (let week = 0; week < WEEKS; week++) {
    for (const [place, agent] of fleet.entries()) {
      await installation.clock.set(at(week, place));
      await agent.live(week);
    }
  }
  await installation.clock.reset();
  for (const agent of fleet.slice(0, 8)) await agent.save(agent.fresh(3), "journal");
  for (const number of [2, 7]) {
    await installation.call("PUT", `/v1/agents/wren/memories/${number}/protection`);
  }
  await installation.call("POST", "/v1/agents/wren/memories/9/discard");
  const watched = fleet.filter((agent) => !agent.plan.paused);
  for (const agent of watched) await installation.call("PATCH", `/v1/agents/${agent.id}`, { paused: false });
  return byName;
}

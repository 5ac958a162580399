/** Watching a session as it happens. */

import { discreet, veiled } from "./discreet.js";
import type { LiveEvent, LiveRecord, LiveSession } from "./models.js";
import { parsed, type Transport } from "./transport.js";

/** Milliseconds before a stream that broke off is asked for again, unless the service says another time. */
const WAIT = 2_000;
const LONGEST_WAIT = 30_000;

/** How a session is watched. */
export interface WatchOptions {
  /** The `id` of the last event that was seen; what came after it follows. */
  lastEventId?: string | undefined;
  /** Ends it: a caller that waits for an event is thrown the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** The events of one session, until it has ended. */
export async function* watch(
  transport: Transport,
  path: string,
  options: WatchOptions,
): AsyncGenerator<LiveEvent, void> {
  const stop = options.signal ?? new AbortController().signal;
  let last = options.lastEventId;
  let wait = WAIT;
  for (let attempt = 1; ; attempt++) {
    const lines = transport.lines(path, last, stop);
    let fields = new Map<string, string>();
    let next = await lines.next();
    try {
      for (; !next.done; next = await lines.next()) {
        const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(next.value) ?? [];
        if (name !== "") {
          fields.set(name, value);
          continue;
        }
        const data = fields.get("data");
        // A line with a colon is a sign of life: the service is there.
        if (data !== undefined || next.value !== "") attempt = 1;
        const retry = fields.get("retry") ?? "";
        if (/^\d{1,9}$/.test(retry)) wait = Math.min(Number(retry), LONGEST_WAIT);
        if (data !== undefined) {
          const id = fields.get("id") ?? "";
          last = id || last;
          const event = eventOf(fields.get("event"), id, parsed(data));
          if (event !== undefined) yield event;
          if (event?.type === "ended") return;
        }
        if (next.value === "") fields = new Map();
      }
    } finally {
      await lines.return(undefined);
    }
    stop.throwIfAborted();
    if (next.value === undefined) return;
    await pause(Math.max(transport.waitAfter(next.value, attempt), wait), stop);
  }
}

/** Undefined for one of a newer service. */
function eventOf(type: string | undefined, id: string, data: unknown): LiveEvent | undefined {
  discreet(data);
  if (type === "record") return veiled<LiveEvent>({ type, id, record: data as LiveRecord });
  if (type === "session" || type === "ended") return veiled<LiveEvent>({ type, id, session: data as LiveSession });
  return undefined;
}

function pause(time: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      stop.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, time);
    stop.addEventListener("abort", done);
  });
}

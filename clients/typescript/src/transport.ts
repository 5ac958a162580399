/** Requests over HTTP: attempts, waits, and errors. */

import { discreet } from "./discreet.js";
import { ConnectionFailed, Problem } from "./errors.js";

/** Milliseconds before the second attempt; it doubles from then on, up to the longest. */
const FIRST_WAIT = 200;
const LONGEST_WAIT = 5_000;
/** A service that asks for more patience than this, in seconds, is not waited for. */
const MOST_PATIENCE = 30;
/** What another attempt may mend: too many requests, and services or proxies that are away. */
const TRANSIENT = new Set([429, 502, 503, 504]);

/** How requests are sent. */
export interface TransportOptions {
  url: string;
  token: string;
  /** Milliseconds for one attempt. */
  timeout: number;
  /** How often a request is sent at most. */
  attempts: number;
  fetch: typeof fetch;
}

/** One request. */
export interface Wanted {
  query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  body?: unknown;
  /** An idempotency key; one is made where it is left out. */
  key?: string | undefined;
}

/** Sends requests for one token. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #base: string;

  constructor(options: TransportOptions) {
    const url = new URL(options.url);
    if ((url.protocol !== "http:" && url.protocol !== "https:") || url.search !== "" || url.username !== "") {
      throw new TypeError("the URL must be like https://memoir.example.org");
    }
    if (options.attempts < 1) throw new TypeError("there must be at least one attempt");
    this.#base = url.origin + url.pathname.replace(/\/+$/, "");
    this.#options = options;
  }

  /**
   * The answer's JSON.
   *
   * What changes something carries an idempotency key, and is therefore carried out once, however often it is
   * sent.
   *
   * @throws {Problem} The service refused, or was still away at the last attempt.
   * @throws {ConnectionFailed} No answer came.
   */
  async send<T>(method: string, path: string, wanted: Wanted = {}): Promise<T> {
    const { attempts } = this.#options;
    const target = this.#base + path + queryOf(wanted.query);
    const headers: Record<string, string> = {
      Authorization: `Bearer ${this.#options.token}`,
      Accept: "application/json",
    };
    if (wanted.body !== undefined) headers["Content-Type"] = "application/json";
    if (method !== "GET") headers["Idempotency-Key"] = wanted.key ?? crypto.randomUUID();
    const body = wanted.body === undefined ? null : JSON.stringify(wanted.body);
    for (let attempt = 1; ; attempt++) {
      let wait = Math.min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT) * (0.5 + Math.random() / 2);
      const answer = await this.#exchange(target, { method, headers, body, redirect: "error" });
      if (typeof answer === "string") {
        // What the error said can hold a piece of an answer.
        if (attempt >= attempts) {
          throw new ConnectionFailed(`no answer after ${attempt} attempts: ${answer}`);
        }
      } else if (answer.status >= 200 && answer.status < 300) {
        return discreet(parsed(answer.text)) as T;
      } else {
        const problem = problemOf(answer);
        const patience = problem.retryAfter ?? 0;
        if (attempt >= attempts || !isTransient(problem) || patience > MOST_PATIENCE) throw problem;
        wait = Math.max(wait, patience * 1_000);
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** The answer, or in a word why there is none. */
  async #exchange(target: string, request: RequestInit): Promise<Answer | string> {
    const signal = AbortSignal.timeout(this.#options.timeout);
    try {
      const answer = await this.#options.fetch(target, { ...request, signal });
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    } catch (error) {
      return error instanceof Error ? codeOf(error) : "Error";
    }
  }
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

function codeOf(error: Error): string {
  const cause: unknown = error.cause;
  const code: unknown = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  return typeof code === "string" ? code : error.name;
}

function queryOf(query: Wanted["query"]): string {
  const wanted = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined) wanted.set(name, String(value));
  }
  return wanted.size === 0 ? "" : `?${wanted}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's error holds a piece of the answer.
    throw new Problem(200, { detail: "the answer is not JSON" });
  }
}

function problemOf({ status, headers, text }: Answer): Problem {
  let problem: unknown;
  if (headers.get("Content-Type")?.startsWith("application/problem+json")) {
    try {
      problem = JSON.parse(text);
    } catch {
      problem = undefined;
    }
  }
  const known = typeof problem === "object" && problem !== null ? (problem as Record<string, unknown>) : {};
  return new Problem(status, known, secondsOf(headers.get("Retry-After")));
}

function secondsOf(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  const seconds = /^\s*\d+\s*$/.test(retryAfter)
    ? Number(retryAfter)
    : (Date.parse(retryAfter) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0);
}

function isTransient(problem: Problem): boolean {
  return TRANSIENT.has(problem.status) || problem.code === "idempotency_in_progress";
}

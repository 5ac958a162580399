/** Requests over HTTP: attempts, waits, and errors. */

import { discreet } from "./discreet.js";
import { ConnectionFailed, Problem } from "./errors.js";

/** Milliseconds before the second attempt; each wait is twice the last, up to the longest. */
const FIRST_WAIT = 200;
const LONGEST_WAIT = 5_000;
/** A service that asks for more patience than this, in seconds, is not waited for. */
const MOST_PATIENCE = 30;
/** A stream says something every 15 seconds: one that is silent for longer, in milliseconds, is dead. */
const LONGEST_SILENCE = 45_000;
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
/** What another attempt may mend: too many requests, and services or proxies that are away. */
const TRANSIENT = new Set([429, 502, 503, 504]);

/** How requests are sent. */
export interface TransportOptions {
  url: string;
  /** The token; none for what needs none. */
  token: string | undefined;
  /** Milliseconds for one attempt. */
  timeout: number;
  /** How often a request is sent at most. */
  attempts: number;
  fetch: typeof fetch;
}

/** One request. */
export interface RequestContent {
  query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  body?: unknown;
  /** An idempotency key; one is made where it is left out. */
  key?: string | undefined;
  /** Milliseconds for one attempt, where it is longer than what requests have otherwise. */
  timeout?: number | undefined;
}

/** Sends requests for one token, or for none. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #base: string;
  /** Whether it is encrypted, or does not leave this machine. */
  readonly isPrivate: boolean;

  constructor(options: TransportOptions) {
    const url = new URL(options.url);
    if ((url.protocol !== "http:" && url.protocol !== "https:") || url.search !== "" || url.username !== "") {
      throw new TypeError("the URL must be like https://memoir.example.org");
    }
    if (options.attempts < 1) throw new TypeError("there must be at least one attempt");
    this.#base = url.origin + url.pathname.replace(/\/+$/, "");
    this.#options = options;
    this.isPrivate = url.protocol === "https:" || LOOPBACK.test(url.hostname);
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
  async send<T>(method: string, path: string, wanted: RequestContent = {}): Promise<T> {
    const target = this.#base + path + queryOf(wanted.query);
    const headers = this.#headers("application/json");
    if (wanted.body !== undefined) headers["Content-Type"] = "application/json";
    if (method !== "GET") headers["Idempotency-Key"] = wanted.key ?? crypto.randomUUID();
    const body = wanted.body === undefined ? null : JSON.stringify(wanted.body);
    for (let attempt = 1; ; attempt++) {
      const request: RequestInit = { method, headers, body, redirect: "error" };
      const answer = await this.#exchange(target, request, wanted.timeout ?? 0);
      if (typeof answer !== "string" && answer.status >= 200 && answer.status < 300) {
        return discreet(parsed(answer.text)) as T;
      }
      const wait = this.waitAfter(typeof answer === "string" ? answer : problemOf(answer), attempt);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /**
   * Milliseconds to wait before the attempt that follows this one, which `error` ended: what the service said,
   * or in a word why there was no answer.
   *
   * @throws {Problem} Another attempt mends nothing, or this was the last.
   * @throws {ConnectionFailed} Likewise.
   */
  waitAfter(error: Problem | string, attempt: number): number {
    const isLast = attempt >= this.#options.attempts;
    const wait = Math.min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT) * (0.5 + Math.random() / 2);
    if (typeof error === "string") {
      // What the error said can hold a piece of an answer.
      if (isLast) throw new ConnectionFailed(`no answer after ${attempt} attempts: ${error}`);
      return wait;
    }
    const patience = error.retryAfter ?? 0;
    if (isLast || !isTransient(error) || patience > MOST_PATIENCE) throw error;
    return Math.max(wait, patience * 1_000);
  }

  /**
   * The lines of a stream of events, from what follows `lastId` on, until it breaks off; then what the service
   * said, or in a word why it did, or undefined where nothing follows.
   */
  async *lines(
    path: string,
    lastId: string | undefined,
    stop: AbortSignal,
  ): AsyncGenerator<string, Problem | string | undefined> {
    const headers = this.#headers("text/event-stream");
    if (lastId !== undefined) headers["Last-Event-ID"] = lastId;
    const { timeout } = this.#options;
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), timeout);
    const end = (): void => silence.abort();
    stop.addEventListener("abort", end);
    try {
      stop.throwIfAborted();
      const request = { headers, redirect: "error", signal: silence.signal } as const;
      const answer = await this.#options.fetch(this.#base + path, request);
      const { status } = answer;
      if (status === 204) return undefined;
      if (status !== 200) throw problemOf({ status, headers: answer.headers, text: await answer.text() });
      if (answer.body === null || !answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
        throw new Problem(200, { detail: "the answer is no stream of events" });
      }
      let rest = "";
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), Math.max(timeout, LONGEST_SILENCE));
        const { value } = await reader.read();
        if (value === undefined) return "ended early";
        const lines = (rest + value).split("\n");
        // Half a line, to which more may come.
        rest = lines.pop() ?? "";
        for (const line of lines) yield line.replace(/\r$/, "");
      }
    } catch (error) {
      if (error instanceof Problem) return error;
      return error instanceof Error ? codeOf(error) : "Error";
    } finally {
      clearTimeout(timer);
      stop.removeEventListener("abort", end);
      silence.abort();
    }
  }

  #headers(accept: string): Record<string, string> {
    const { token } = this.#options;
    return token === undefined ? { Accept: accept } : { Accept: accept, Authorization: `Bearer ${token}` };
  }

  /** The answer, or in a word why there is none. */
  async #exchange(target: string, request: RequestInit, timeout: number): Promise<HttpAnswer | string> {
    const signal = AbortSignal.timeout(Math.max(timeout, this.#options.timeout));
    try {
      const answer = await this.#options.fetch(target, { ...request, signal });
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    } catch (error) {
      return error instanceof Error ? codeOf(error) : "Error";
    }
  }
}

interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string;
}

function codeOf(error: Error): string {
  const cause: unknown = error.cause;
  const code: unknown = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  return typeof code === "string" ? code : error.name;
}

function queryOf(query: RequestContent["query"]): string {
  const wanted = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== null && value !== undefined) wanted.set(name, String(value));
  }
  return wanted.size === 0 ? "" : `?${wanted}`;
}

/** What the service sent, as JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's error holds a piece of the answer.
    throw new Problem(200, { detail: "the answer is not JSON" });
  }
}

function problemOf({ status, headers, text }: HttpAnswer): Problem {
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

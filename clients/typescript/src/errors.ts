/** What can go wrong. None of it holds an agent's words. */

import type { Obstacle } from "./models.js";

/** Anything that this package throws by itself. */
export class MemoirError extends Error {
  override name = "MemoirError";
}

/** No answer came, after every attempt. Whether the request was carried out is not known. */
export class ConnectionFailed extends MemoirError {
  override name = "ConnectionFailed";
}

/** The service did not carry a request out. */
export class Problem extends MemoirError {
  override name = "Problem";
  /** The HTTP status. */
  readonly status: number;
  /** A stable code, such as `session_open`; `unexpected` where the answer is not Memoir's. */
  readonly code: string;
  /** What was wrong, the limit, and what to do. */
  readonly detail: string;
  /** What to do about it, where that is known. */
  readonly hint: string | undefined;
  /** What the service's log names this failure by, where it is the service's own. */
  readonly instance: string | undefined;
  /** Seconds to wait before another attempt, where the service said so. */
  readonly retryAfter: number | undefined;
  /** The session in question. */
  readonly sessionId: string | undefined;
  /** The changes that conflict with an undo. */
  readonly obstacles: readonly Obstacle[];

  constructor(status: number, problem: Readonly<Record<string, unknown>>, retryAfter?: number) {
    const text = (name: string): string | undefined => {
      const value = problem[name];
      return typeof value === "string" && value !== "" ? value : undefined;
    };
    const code = text("code") ?? "unexpected";
    const detail = text("detail") ?? "the answer is not one of Memoir's";
    super(`${status} ${code}: ${detail}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.hint = text("hint");
    this.instance = text("instance");
    this.retryAfter = retryAfter;
    this.sessionId = text("session_id");
    this.obstacles = Array.isArray(problem["obstacles"]) ? (problem["obstacles"] as Obstacle[]) : [];
  }
}

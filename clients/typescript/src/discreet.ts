/**
 * Data that does not print an agent's words, or a token, by itself: where Node shows a value (`console.log`,
 * failed assertions, uncaught errors), it shows how long they are. `JSON.stringify` writes them all the same.
 */

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** The fields that may hold words or a secret, whatever holds them. */
const PRIVATE = new Set([
  "content",
  "tags",
  "source",
  "text",
  "value",
  "system_prompt",
  "reflection_prompt",
  "memory_reflection_prompt",
  "refinement_prompt",
  "effective_system_prompt",
  "effective_reflection_prompt",
  "effective_memory_reflection_prompt",
  "effective_refinement_prompt",
  "summary",
  "reason",
  "purpose",
  "changes",
  "prompt",
  "before",
  "after",
  "data",
  "token",
  "arguments",
  "result",
  "words",
  "added",
]);

/** Parsed JSON, which is shown discreetly from now on, with all objects in it. */
export function discreet<T>(value: T): T {
  if (Array.isArray(value)) {
    value.forEach(discreet);
  } else if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(discreet);
    veiled(value);
  }
  return value;
}

/** An object of our own, which is shown discreetly from now on; what it holds is left as it is. */
export function veiled<T extends object>(value: T): T {
  return Object.defineProperty(value, INSPECT, { value: shown, enumerable: false });
}

function shown(this: Record<string, unknown>): Record<string, unknown> {
  const fields = Object.entries(this).map(([name, value]) => [name, PRIVATE.has(name) ? length(value) : value]);
  return Object.fromEntries(fields) as Record<string, unknown>;
}

function length(value: unknown): unknown {
  if (typeof value === "string") return `<${value.length} characters>`;
  if (Array.isArray(value)) return `<${value.length} items>`;
  if (typeof value === "object" && value !== null) return `<${Object.keys(value).length} fields>`;
  return value === null || value === undefined ? value : `<${typeof value}>`;
}

/** What the service takes and answers with, as plain data; fields are named as on the wire. */

/** `core` memories are in the prompt; `journal` entries for a week; `archival` ones never, and recall finds them. */
export type Kind = "core" | "journal" | "archival";
/** `dedup_only` has no consolidating and no rewriting. */
export type Mode = "full" | "dedup_only";
/** Where a session stands, or how it ended. */
export type State =
  | "queued"
  | "asking"
  | "open"
  | "completed"
  | "rolled_back"
  | "declined"
  | "abandoned"
  | "failed";
/** The settings that are the agent's own. */
export type OwnField =
  | "name"
  | "system_prompt"
  | "reflection_prompt"
  | "memory_reflection_prompt"
  | "refinement_prompt"
  | "refinement_threshold"
  | "loss_guard";
/** A time: RFC 3339, UTC, such as `2026-05-03T14:00:00Z`. */
export type Time = string;

/** That a session is due: `weekly`, or `budget` where the memory outgrew it. */
export interface Due {
  readonly reason: "weekly" | "budget";
}

/** Where an agent's originals are: texts as their authors saved them. */
export interface OriginalCounts {
  readonly total: number;
  readonly in_prompt: number;
  readonly archived: number;
}

/** Where the originals are, by the log and the stored memories. The total is the sum of the other four. */
export interface Originals extends OriginalCounts {
  /** Those that sessions under the loss guard `off` discarded or rewrote. */
  readonly removed_off: number;
  /** Those that are missing, or not word for word as recorded. */
  readonly lost: number;
}

/** One memory. `content`, `tags` and `source` are left out for an administrator. */
export interface Memory {
  readonly number: number;
  readonly kind: Kind;
  readonly content?: string | null;
  readonly tags?: readonly string[] | null;
  /** A free-text reference to where its text came from. */
  readonly source?: string | null;
  readonly tokens: number;
  readonly constitutional: boolean;
  /** Whether a session wrote its text in place of others. */
  readonly is_summary: boolean;
  /** The archival memories directly under it. */
  readonly sources: readonly number[];
  /** The memory that took its place; null where there is none. */
  readonly under: number | null;
  /** `agent`, `administrator`, `conversation`, `import` or `external`. */
  readonly origin: string;
  readonly created_at: Time;
  readonly updated_at: Time;
  readonly discarded_at: Time | null;
  readonly shredded_at?: Time | null;
  /** When a journal entry expires from the prompt, or has expired; null for other kinds. */
  readonly fades_at: Time | null;
  /** When it became archival; null for other kinds. */
  readonly archived_at: Time | null;
  /** The date until which a memory held that was replaced; only where recall found it. */
  readonly until?: Time | null;
  /** The core memory that says what is so now; likewise. */
  readonly now?: number | null;
  /** Why it was found, where `explain` requested it. */
  readonly match?: Match | null;
}

/**
 * Whether memories were looked for by their meaning too: `merged` with what was found by words; `partial`, where some
 * have no vector yet; `unavailable`, where the model of embeddings did not answer as it should, and `not_allowed`,
 * where the agent has not agreed to it: by words alone.
 */
export type Meaning = "merged" | "partial" | "unavailable" | "not_allowed";

/** What was found, the best match first. */
export interface Recalled extends ReadonlyArray<Memory> {
  /** Left out where no server of embeddings is configured, and where nothing was asked that has a meaning. */
  readonly meaning?: Meaning;
}

/** By what a memory was found. */
export interface Match {
  /** Its rank among all that was found, from 1. */
  readonly rank: number;
  /** The sum of the weights. */
  readonly score: number;
  /** The older memory that it seems to correct, and therefore comes before. */
  readonly corrects?: number | null;
  /** Whether it was found by words such as "is" and "the" alone; left out where not. */
  readonly by_stop_words?: boolean;
  /** Its rank among what is near the question in meaning, from 1; left out where it is not. */
  readonly near?: number | null;
  /** What of the question it was found by, the weightiest first. */
  readonly terms: readonly MatchedTerm[];
}

/** What of a question a memory was found by. */
export interface MatchedTerm {
  /** As the question has it, folded. */
  readonly term: string;
  /** `word`, `phrase`, `part` of a longer word, `slip`, `literal` or `meaning`. */
  readonly found: string;
  /** How much it adds to the score. */
  readonly weight: number;
}

/** Messages of an agent's conversations whose words are stored, sealed. */
export interface StoredTranscript {
  /** Messages that wait to be read, or could not be. */
  readonly waiting: number;
  /** Absorbed messages. */
  readonly absorbed: number;
  /** Until when the words of the last absorbed ones are kept; null where there are none. */
  readonly absorbed_until: Time | null;
}

/** What is left of a memory that was shredded. */
export interface ShreddedMemory extends Memory {
  /** How many earlier records its text was removed from. */
  readonly redacted_records: number;
  /** Summaries, active or discarded, that a session wrote over it, and copies of it. */
  readonly summaries: readonly number[];
  /** Summaries, copies and reports that were shredded with it. */
  readonly derived: readonly number[];
  /** Conversations whose words are stored, and that may hold the text; null where there are none. */
  readonly transcript: StoredTranscript | null;
}

/** A memory that was saved, and whether a session is due now. */
export interface SavedMemory extends Memory {
  readonly refinement_due: Due | null;
  /** An active memory with the same text; only for the agent itself. */
  readonly same_as?: number | null;
  /** The memories that it replaced, which are archival now; left out without `replaces`. */
  readonly replaced?: readonly number[] | null;
  /** Those that stay where they are, with the reason; likewise. */
  readonly not_replaced?: readonly NotReplaced[] | null;
  /** One line on how to word the text better, where it names no person; left out where it is clear or that is not sure. */
  readonly note?: string | null;
}

/** A memory that was named in `replaces`, and stays where it is. */
export interface NotReplaced {
  readonly number: number;
  readonly reason:
    | "not_found"
    | "not_core"
    | "constitutional"
    | "immutable"
    | "origin"
    | "side"
    | "week_limit"
    | "age_limit";
}

/** A memory to save. */
export interface NewMemory {
  /** 1 to 10,000 characters. */
  content: string;
  /** `core` where it is left out. */
  kind?: Kind;
  /** Up to 16, each up to 50 characters. */
  tags?: readonly string[];
  /** Where it came from, up to 200 characters. */
  source?: string;
  /** `external` for what quotes a page, a file, a tool's output or another person. */
  origin?: string;
  /** The time that its content dates from; now where it is left out. */
  created_at?: Time | Date;
  /** Core memories that it replaces, itself core. They become archival under it. */
  replaces?: readonly number[];
}

/** What goes into the prompt after the system prompt; empty where there are no memories. */
export interface Context {
  readonly text: string;
  readonly core_tokens: number;
  readonly journal_tokens: number;
  /** The numbers of memories for which the limits left no room. */
  readonly left_out: readonly number[];
  readonly refinement_due: Due | null;
  /** The size of each part, and why memories are omitted; only where `explain` was requested. */
  readonly explained?: Readonly<Record<string, unknown>>;
}

/** One of the agent's own settings: the effective value, and whether it is the default. */
export interface Setting {
  readonly type: "config";
  readonly field: OwnField;
  readonly value: string | number | null;
  readonly is_default: boolean;
  readonly agent: string;
  /** Where a prompt that was just set is not what it seems. */
  readonly warnings?: readonly string[];
}

/** Who did something, and a name to show. */
export interface Actor {
  readonly kind: "administrator" | "agent" | "system" | "owner";
  readonly name: string;
}

/** A value that a setting had; null is the default. `seq` is the record that set it. */
export interface SettingVersion {
  readonly seq: number;
  readonly at: Time;
  readonly actor: Actor;
  readonly value: string | number | null;
}

/** What an administrator sets; null returns to the default. */
export interface AgentSettings {
  name?: string;
  model?: string | null;
  system_prompt?: string | null;
  reflection_prompt?: string | null;
  memory_reflection_prompt?: string | null;
  refinement_prompt?: string | null;
  refinement_threshold?: number | null;
  core_token_budget?: number | null;
  refinement_trigger_tokens?: number | null;
  immutable_tags?: readonly string[] | null;
  duplicate_match?: "exact" | "ignore_case" | null;
  loss_guard?: "archive" | "refuse" | "off" | null;
  /** `weekly`, `off`, or a slot such as `Thu 03:30`. */
  refinement_schedule?: string | null;
  refinement_mode?: Mode | null;
  reasoning_effort?: string | null;
  answer_tokens?: number | null;
  context_journal_tokens?: number | null;
  context_core_tokens?: number | null;
  near_duplicates?: boolean | null;
  paused?: boolean | null;
  active?: boolean | null;
}

/** An agent: its settings as set (null where unset), the effective ones, and its counts. */
export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly paused: boolean;
  readonly model: string | null;
  readonly system_prompt?: string | null;
  readonly reflection_prompt?: string | null;
  readonly memory_reflection_prompt?: string | null;
  readonly refinement_prompt?: string | null;
  readonly refinement_threshold: number | null;
  readonly core_token_budget: number | null;
  readonly refinement_trigger_tokens: number | null;
  readonly immutable_tags: readonly string[] | null;
  readonly duplicate_match: "exact" | "ignore_case" | null;
  readonly loss_guard: "archive" | "refuse" | "off" | null;
  readonly refinement_schedule: string | null;
  readonly refinement_mode: Mode | null;
  readonly reasoning_effort: string | null;
  readonly answer_tokens: number | null;
  readonly context_journal_tokens: number | null;
  readonly context_core_tokens: number | null;
  readonly near_duplicates: boolean | null;
  readonly effective_model: string | null;
  readonly effective_refinement_threshold: number;
  readonly effective_core_token_budget: number;
  readonly effective_refinement_trigger_tokens: number;
  readonly effective_immutable_tags: readonly string[];
  readonly effective_duplicate_match: "exact" | "ignore_case";
  readonly effective_loss_guard: "archive" | "refuse" | "off";
  readonly effective_refinement_schedule: string;
  readonly effective_refinement_mode: Mode;
  readonly effective_answer_tokens: number;
  readonly effective_context_journal_tokens: number;
  readonly effective_near_duplicates: boolean;
  readonly effective_system_prompt?: string | null;
  readonly effective_reflection_prompt?: string | null;
  readonly effective_memory_reflection_prompt?: string | null;
  readonly effective_refinement_prompt?: string | null;
  readonly core_tokens: number;
  readonly core_count: number;
  readonly summary_count: number;
  readonly summary_tokens: number;
  readonly constitutional_count: number;
  readonly journal_count: number;
  /** Tokens of the journal entries, expired ones included. */
  readonly journal_tokens: number;
  readonly archival_count: number;
  readonly archival_tokens: number;
  /** Archival memories that a new memory replaced. */
  readonly replaced_count: number;
  readonly discarded_count: number;
  readonly shredded_count: number;
  readonly originals: OriginalCounts;
  /** The worst that needs attention. */
  readonly health: "failed" | "over_budget" | "rolled_back" | "in_order";
  readonly needs_refinement: boolean;
  readonly refinement_due: Due | null;
  readonly last_refinement_at: Time | null;
  readonly next_refinement_at: Time | null;
  /** Why the schedule never asks it; null where it does. */
  readonly next_refinement_reason: string | null;
  readonly created_at: Time;
  /** Where a prompt that was just set is not what it seems. */
  readonly warnings?: readonly string[];
}

/** What is left of an agent that was erased. */
export interface ErasedAgent {
  readonly id: string;
  readonly name: string;
  readonly erased_at: Time;
  readonly core_tokens: number;
  readonly core_count: number;
  readonly summary_count: number;
  readonly summary_tokens: number;
  readonly constitutional_count: number;
  readonly journal_count: number;
  /** Tokens of the journal entries, expired ones included. */
  readonly journal_tokens: number;
  readonly archival_count: number;
  readonly archival_tokens: number;
  /** Archival memories that a new memory replaced. */
  readonly replaced_count: number;
  readonly discarded_count: number;
  readonly shredded_count: number;
  readonly originals: OriginalCounts;
}

/** What a session did; `consolidated` counts the memories that were merged. */
export interface Stats {
  readonly consolidated: number;
  readonly updated: number;
  readonly deleted: number;
  readonly protected: number;
}

/** What a session's calls of the model used. */
export interface Usage {
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** What a rehearsal would do to one memory; `before` is null for one that is new. */
export interface RehearsedChange {
  readonly number: number;
  readonly before: Memory | null;
  readonly after: Memory;
}

/** A refinement session. `summary`, and a `reason` in words, are for the agent only. */
export interface Session {
  readonly id: string;
  readonly agent: string;
  readonly state: State;
  readonly mode: Mode;
  readonly driver: "agent" | "model";
  readonly trigger: "request" | "weekly" | "budget";
  readonly rehearsal: boolean;
  readonly model: string | null;
  readonly pre_session_tokens: number | null;
  readonly post_session_tokens: number | null;
  readonly threshold: number | null;
  readonly edits: number;
  readonly stats: Stats;
  readonly removed_tokens: number;
  /** The loss guard when it was opened; null before. */
  readonly loss_guard: "archive" | "refuse" | "off" | null;
  /** Memories that it moved to the archive. */
  readonly archived: number;
  /** Of these, those that came under a summary. */
  readonly archived_under_summaries: number;
  /** Summaries that it wrote. */
  readonly summaries: number;
  /** Calls of its tools that were refused. */
  readonly refused_calls: number;
  /** How many edits of a completed rehearsal can be applied now; only where one session is requested. */
  readonly edits_holding?: number | null;
  readonly end_reason: string | null;
  /** Why its model gave no usable response, where it failed. */
  readonly failure:
    | "key_refused"
    | "quota"
    | "unreachable"
    | "timeout"
    | "server_error"
    | "unreadable_response"
    | null;
  readonly summary?: string | null;
  readonly reason?: string | null;
  readonly changes?: readonly RehearsedChange[] | null;
  readonly started_at: Time;
  /** Who began it. */
  readonly started_by: Actor | null;
  readonly ended_at: Time | null;
  readonly undone_at: Time | null;
  readonly usage: Usage;
}

/** A tool of a session; `parameters` is the JSON schema of its arguments. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A session that the agent drives: what the model is to read, and its tools. */
export interface OpenSession extends Session {
  readonly prompt: string;
  readonly tools: readonly Tool[];
}

/** One record of the audit. `before`, `after` and texts in `data` are for the agent only. */
export interface AuditRecord {
  readonly seq: number;
  readonly recorded_at: Time;
  readonly agent: string;
  readonly actor: Actor;
  readonly action: string;
  readonly session_id: string | null;
  readonly memory: number | null;
  readonly before?: Readonly<Record<string, unknown>> | null;
  readonly after?: Readonly<Record<string, unknown>> | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly hash: string;
  readonly previous_hash: string;
}

/** A session as it is watched, with the breaker's figures. */
export interface LiveSession extends Session {
  /** The core size now, or at the end; null where it was never opened, and of a rehearsal that runs. */
  readonly core_tokens: number | null;
  /** The smallest core size at which the breaker holds; null before the session is open. */
  readonly breaker_tokens: number | null;
  /** How many more tokens edits may take away; null before the session is open, and at the end. */
  readonly removable_tokens: number | null;
  readonly edits_left: number;
}

/** A record of a session that is watched; `core_tokens` is the core size after it, where it is measured. */
export interface LiveRecord extends AuditRecord {
  readonly core_tokens: number | null;
}

/**
 * Something that happened in a session: something was written in the audit; it stands differently, as after the
 * records so far; or it has ended, the last event. `id` is for `watch`, to go on after this event.
 */
export type LiveEvent =
  | { readonly type: "record"; readonly id: string; readonly record: LiveRecord }
  | { readonly type: "session" | "ended"; readonly id: string; readonly session: LiveSession };

/** A message of a conversation, for the agent's model to read. */
export interface Message {
  /** What it is known by; a message of the same id, speaker and text is read once. */
  id: string;
  /** Who said it, up to 200 characters. */
  speaker: string;
  /** What was said. */
  text: string;
  /** When it was said, where that is known. */
  at?: Time | Date;
}

/** What became of messages: new ones, which wait to be read, and ones that were known. */
export interface HandedOver {
  readonly received: number;
  readonly known: number;
}

/** The state of an agent's conversations. */
export interface Transcripts {
  /** Messages that wait to be read. */
  readonly pending: number;
  /** Messages that were read. */
  readonly absorbed: number;
  /** Messages that failed permanently after several attempts. */
  readonly failed: number;
  /** From when on those that wait are read; null where none waits. */
  readonly due_at: Time | null;
}

/** What a reflection came to. */
export interface Reflection {
  /** Journal entries that the agent saw. */
  readonly considered: number;
  /** The numbers of those that are core memories now. */
  readonly promoted: readonly number[];
  /** The core memories that they replaced. */
  readonly replaced: readonly number[];
  /** How many were named to be replaced and stay where they are. */
  readonly not_replaced: number;
  /** Why nothing was promoted, where something went wrong. */
  readonly failure: string | null;
}

/** The result of verifying an agent's audit. */
export interface Verified {
  readonly valid: boolean;
  readonly records: number;
  readonly head: string;
  /** Where the originals are; null where something is wrong. */
  readonly originals: Originals | null;
  readonly first_bad?: { readonly seq: number | null; readonly problem: string } | null;
}

/** A signed checkpoint of all audits: keep it, and the key that verifies it, elsewhere. */
export interface Checkpoint {
  readonly checkpoint: string;
  readonly origin: string;
  readonly size: number;
  readonly public_key: string;
}

/** An access request to an agent, and its outcome. */
export interface AccessRequest {
  readonly id: string;
  readonly agent: string;
  /** To look for a while; to make one more token; to connect a program; to have a memory shredded; to send words to a server of embeddings. */
  readonly kind: "read" | "token" | "connection" | "shred" | "embeddings";
  /** What may be seen; null where it is not to look. */
  readonly scope: "core" | "all" | "session" | null;
  readonly session_id: string | null;
  /** For how long from the answer on; null where it is not to look. */
  readonly minutes: number | null;
  /** The memory to be shredded. */
  readonly memory: number | null;
  readonly token_expires_at: Time | null;
  /** Why, in the requester's words. */
  readonly purpose: string;
  readonly asked_by: Actor;
  /** `done` where the token was made or the memory shredded. */
  readonly state: "asked" | "granted" | "refused" | "revoked" | "expired" | "done";
  readonly requested_at: Time;
  /** Until when it waits for its answer; once granted, until when it can be used. */
  readonly expires_at: Time;
  readonly answered_at: Time | null;
  /** The agent's reason: for the agent, and for the administrator who made the request. */
  readonly reason?: string | null;
  readonly ended_at: Time | null;
  readonly reads: number;
  readonly memories_read: number;
  readonly tokens_read: number;
  /** Of a shredding: whether the summaries and reports that rest on the memory go, too. */
  readonly derived?: boolean;
  /** Summaries that were written over what was shredded; only in the response to the agent's consent. */
  readonly summaries?: readonly number[] | null;
  /** Conversations whose words are stored, and that may hold it; likewise. */
  readonly transcript?: StoredTranscript | null;
}

/** A token that was made: the only time that its secret is there to be read. */
export interface MadeToken {
  readonly id: string;
  readonly token: string;
  readonly expires_at: Time | null;
}

/** A token of an administrator who signed in. */
export interface SignedIn {
  readonly token: string;
  readonly expires_at: Time | null;
}

/** What a rewind did; `seq` is its record, null where nothing had to change. */
export interface Rewound {
  readonly to: Time;
  readonly to_seq: number;
  readonly seq: number | null;
  readonly changed: number;
  readonly returning: number;
  readonly discarded: number;
  readonly reworded: number;
  readonly archived: number;
  readonly promoted: number;
  readonly core_tokens_before: number;
  readonly core_tokens_after: number;
}

/** A later change that conflicts with an undo. */
export interface Obstacle {
  readonly seq: number;
  readonly recorded_at: Time;
  readonly action: string;
  readonly session_id: string | null;
  readonly memories: readonly number[];
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

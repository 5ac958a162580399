// Gives OpenCode's model the memory of an agent of Memoir. Written by `memoir setup opencode`, and removed by its
// option `--remove`.
const MEMOIR = /*MEMOIR*/;

// Memoir's addition to a prompt.
const SHOWN = /\n\n<memory>\n[^]*\n<\/memory>$/;

const ask = async (event, told, ...how) => {
  try {
    const [program, ...whose] = MEMOIR;
    const command = [program, "hook", event, "--client", "opencode", ...whose, ...how];
    const process = Bun.spawn(command, { stdin: new Blob([JSON.stringify(told)]), stderr: "ignore" });
    return (await new Response(process.stdout).text()).trim();
  } catch {
    return "";
  }
};

const said = ({ info, parts }) => {
  const words = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored);
  const text = words.map((part) => part.text.replace(SHOWN, "")).join("\n");
  return { id: info.id, at: new Date(info.time.created).toISOString(), speaker: info.role, text };
};

export const Memoir = async ({ client, directory }) => {
  // The context of each session's model, and the sessions that were compacted.
  const contexts = new Map();
  const compacted = new Set();
  const context = (session) => {
    if (!contexts.has(session)) {
      const source = compacted.has(session) ? "compact" : "startup";
      contexts.set(session, ask("session-start", { session_id: session, cwd: directory, source }));
    }
    return contexts.get(session);
  };
  const handOver = async (session) => {
    const path = { id: session };
    const about = await client.session.get({ path });
    // A helper's prompt is not the user's text.
    if (!about.data || about.data.parentID) return;
    const { data = [] } = await client.session.messages({ path });
    const messages = data.filter(({ info }) => info.summary !== true).map(said).filter(({ text }) => text.trim());
    if (messages.length === 0) return;
    await ask("stop", { session_id: session, cwd: directory, messages }, "--hand-over");
  };
  return {
    event: async ({ event }) => {
      // After a failure the next event sends the same messages again.
      if (event.type === "session.idle") await handOver(event.properties.sessionID).catch(() => {});
    },
    "experimental.chat.system.transform": async (input, output) => {
      const text = input.sessionID ? await context(input.sessionID) : "";
      if (text) output.system.push(text);
    },
    "chat.message": async (input, output) => {
      const prompt = output.parts.filter((part) => part.type === "text" && !part.synthetic);
      if (prompt.length === 0) return;
      await context(input.sessionID);
      const words = prompt.map((part) => part.text).join("\n");
      const text = await ask("user-prompt", { session_id: input.sessionID, cwd: directory, prompt: words });
      if (text) prompt[0].text += `\n\n<memory>\n${text}\n</memory>`;
    },
    "experimental.session.compacting": async (input) => {
      compacted.add(input.sessionID);
      contexts.delete(input.sessionID);
    },
  };
};

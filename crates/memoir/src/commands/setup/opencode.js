// Gives OpenCode's model the memory of an agent of Memoir. Written by `memoir setup opencode`, which takes it
// away again with `--remove`.
const MEMOIR = /*MEMOIR*/;

const ask = async (event, told) => {
  try {
    const [program, ...whose] = MEMOIR;
    const command = [program, "hook", event, "--client", "opencode", ...whose];
    const process = Bun.spawn(command, { stdin: new Blob([JSON.stringify(told)]), stderr: "ignore" });
    return (await new Response(process.stdout).text()).trim();
  } catch {
    return "";
  }
};

export const Memoir = async ({ directory }) => {
  // What each session's model has before it.
  const contexts = new Map();
  const context = (session) => {
    if (!contexts.has(session)) {
      contexts.set(session, ask("session-start", { session_id: session, cwd: directory, source: "startup" }));
    }
    return contexts.get(session);
  };
  return {
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
      contexts.delete(input.sessionID);
    },
  };
};

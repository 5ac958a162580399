"""Codex CLI, which speaks OpenAI's responses.

It asks a person once to trust the hooks that it finds; here nobody is there to be asked, and it is
told to trust them.
"""

import json

from scripted import Program, main, server_sent


class Codex(Program):
    name = "codex"

    def environment(self, url):
        return {"SCRIPTED_KEY": "none"}

    def command(self, url, prompt):
        provider = f'name="scripted", base_url="{url}/v1", wire_api="responses"'
        return [
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
            *("-c", 'model_provider="scripted"'),
            *("-c", f'model_providers.scripted={{{provider}, env_key="SCRIPTED_KEY"}}'),
            *("-c", 'model="scripted"'),
            prompt,
        ]

    def answer(self, path, body, save):
        if save:
            item = {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "namespace": "mcp__memoir",
                "name": "save_memory",
                "arguments": json.dumps(save),
            }
        else:
            content = [{"type": "output_text", "text": "Done.", "annotations": []}]
            item = {"type": "message", "id": "msg_1", "role": "assistant", "content": content}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        whole = {"id": "resp_1", "status": "completed", "output": [item], "usage": usage}
        events = [
            {"type": "response.created", "response": {"id": "resp_1"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]
        return server_sent(events, named=True)


if __name__ == "__main__":
    main(Codex())

"""GitHub Copilot CLI with a model of one's own, for which it needs no account."""

from scripted import Program, completion, main


class Copilot(Program):
    name = "copilot"

    def environment(self, url):
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def command(self, url, prompt):
        return ["-p", prompt, "--allow-all-tools"]

    def is_turn(self, body):
        return bool(body.get("tools"))

    def answer(self, path, body, save):
        return completion(body, save)


if __name__ == "__main__":
    main(Copilot())

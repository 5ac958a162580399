#!/usr/bin/env node
// Runs the binary of this machine's package with what it was given.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const require = createRequire(import.meta.url);
const name = `${require("./package.json").name}-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/bin/memoir`);
} catch {
  console.error(`memoir: the package ${name} is not installed: there is none for this machine, or npm left`);
  console.error("optional packages out (install it beside this one, or without --omit=optional)");
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// What a terminal sends to both is the binary's to answer; this waits for it.
for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`memoir: ${binary} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (status, signal) => process.exit(status ?? 128 + (constants.signals[signal] ?? 0)));

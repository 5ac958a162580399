/** That the plugin fits where OpenClaw takes it; compiled, and never run. */

import memoir from "memoir-client/openclaw";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

export default definePluginEntry(memoir);

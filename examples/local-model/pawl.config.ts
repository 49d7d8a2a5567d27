import { defineConfig } from "../../src/index.ts";

/** A job file may reach a host that is not public only if it is listed here. */
export default defineConfig({ jobs: { domains: ["127.0.0.1:11434"] } });

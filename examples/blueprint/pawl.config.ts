import { defineConfig } from "../../src/index.ts";

/** A job file may start only the commands listed here: this one server, with any folders. */
export default defineConfig({
  jobs: {
    commands: ["node ../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"],
  },
});

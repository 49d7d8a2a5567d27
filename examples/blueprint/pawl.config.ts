import { defineConfig } from "../../src/index.ts";

/** A job file starts only what is listed here: this one server, on whichever folders it is given. */
export default defineConfig({
  jobs: {
    commands: ["node ../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"],
  },
});

import { isPostgres, openStore } from "../../store/open-store.ts";
import type { Command } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { fileOfStore, redactionKeyIn, storeAddress } from "../run/command-store.ts";

export const migrate: Command = {
  name: "migrate",
  summary: "Create or update the tables of the store",
  arguments: [],
  options: [],
  example: "pawl migrate --store postgres://ann@db/app",
  execute: async (context, input) => {
    const url = await storeAddress(context, input);
    // Opening a store for writing does it; a process that starts later finds it done.
    const store = await openStore(url, redactionKeyIn(context, url));
    await store.close();
    const name = isPostgres(url) ? "The database" : `The database ${fileOfStore(url) ?? url}`;
    return {
      exitCode: 0,
      document: { migrated: true },
      text: paragraph(`${name} has the tables of this version of Pawl.`, context.stdout.columns),
    };
  },
};

import { openStore } from "../../store/open-store.ts";
import type { Command } from "../context/command.ts";
import { paragraph } from "../context/terminal-text.ts";
import { fileOfStore, redactionKeyIn, shownAddress, storeAddress } from "../run/command-store.ts";

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
    const storeId = await store.storeId();
    await store.close();
    return {
      exitCode: 0,
      document: { migrated: true, storeId },
      text: paragraph(
        `The database ${fileOfStore(url) ?? shownAddress(url)} has the tables of this version of Pawl. Its id is ${storeId}.`,
        context.stdout.columns,
      ),
    };
  },
};

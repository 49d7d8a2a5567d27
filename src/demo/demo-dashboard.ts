import { join } from "node:path";
import { ConfigurationError } from "../core/errors.ts";
import { servePawl } from "../server/http/serve-pawl.ts";
import { hasDashboard } from "../server/own-files.ts";
import { openStore } from "../store/open-store.ts";
import { RUN_ID } from "./worker-order.ts";

/** The dashboard on the demo's database. It shows the run, and acts on nothing: the demo's story is fixed. */
export type DemoDashboard = {
  /** The page of the run, with a code that signs in once. */
  readonly url: string;
  close(): Promise<void>;
};

/** Serves it from the process that kills the others, beside them: it sees only what they have stored. */
export async function openDashboard(folder: string, viewer: string): Promise<DemoDashboard> {
  if (!hasDashboard())
    throw new ConfigurationError("The dashboard is not built in this clone: run `npm run dashboard` first.");
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  const server = await servePawl({ store, storeName: "pawl.db", port: 0, readOnly: true }).catch(
    async (error: unknown) => {
      await store.close();
      throw error;
    },
  );
  const close = async () => {
    try {
      await server.close();
    } finally {
      await store.close();
    }
  };
  try {
    return { url: await server.loginUrl({ name: viewer, path: `/runs/${RUN_ID}` }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

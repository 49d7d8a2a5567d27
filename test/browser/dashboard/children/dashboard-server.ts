// A server with the dashboard, in a process of its own, which a test kills. Prints the address to sign in once it listens.

import { servePawl } from "../../../../src/server/http/serve-pawl.ts";
import { clerk, POLICY } from "../clerk.ts";
import { openTestStore } from "../test-database.ts";

const { STORE = "", PORT = "", DASHBOARD = "", WITNESS = "", WORKSPACES = "" } = process.env;

const store = await openTestStore(STORE);
const server = await servePawl({
  store,
  port: Number(PORT),
  dashboard: DASHBOARD,
  pipelines: { clerk: clerk({ witness: WITNESS }) },
  runnerOptions: { policy: POLICY, workspaceRoot: WORKSPACES },
});
console.log(await server.loginUrl({ name: "ana" }));

// A server with the dashboard, in a process of its own, which tests kill and stop. Prints a line once it listens.

import { servePawl } from "../../../../src/server/http/serve-pawl.ts";
import { openTestStore } from "../../dashboard/test-database.ts";

const { STORE = "", PORT = "", DASHBOARD = "" } = process.env;

const store = await openTestStore(STORE);
const server = await servePawl({ store, port: Number(PORT), dashboard: DASHBOARD });
process.once("SIGTERM", () => void server.close().then(() => store.close()));
console.log("ready");

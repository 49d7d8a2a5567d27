// A server with the dashboard, in a process of its own, which a test kills. Prints a line once it listens.

import { servePawl } from "../../../../src/server/http/serve-pawl.ts";
import { openStore } from "../../../../src/store/open-store.ts";

const { STORE = "", PORT = "", DASHBOARD = "" } = process.env;

const store = await openStore(STORE);
await servePawl({ store, port: Number(PORT), dashboard: DASHBOARD });
console.log("ready");

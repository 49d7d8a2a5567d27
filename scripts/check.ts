// What `npm run check` does: the checks that run no code. `npm test` begins with them.

import { passesStaticChecks } from "./static-checks.ts";

process.exitCode = passesStaticChecks() ? 0 : 1;

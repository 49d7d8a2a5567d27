import type * as NodeSqlite from "node:sqlite";
import { nodeVersionProblem } from "../../core/node-version.ts";

const problem = nodeVersionProblem(process.versions.node);
if (problem !== null) throw new Error(problem);

/**
 * Node's SQLite, loaded by name. With an `import`, an old Node would refuse to link the program, with a message about a
 * missing module, before any code could check its version.
 */
export const sqlite: typeof NodeSqlite = process.getBuiltinModule("node:sqlite");

import type * as NodeSqlite from "node:sqlite";
import { nodeVersionProblem } from "../../core/node-version.ts";

const problem = nodeVersionProblem(process.versions.node);
if (problem !== null) throw new Error(problem);

/**
 * Node's SQLite, loaded by name. With an `import`, an old Node would refuse to link the program, with a message about a
 * missing module, before any code could check its version.
 */
export const sqlite: typeof NodeSqlite = process.getBuiltinModule("node:sqlite");

/**
 * Opens a file whose content is untrusted: its schema can call no function with side effects and cannot be edited in place,
 * its pages are checked as they are read, and no extension is loaded.
 */
export function guardedConnection(
  file: string | URL,
  options: NodeSqlite.DatabaseSyncOptions,
): NodeSqlite.DatabaseSync {
  const connection = new sqlite.DatabaseSync(file, { ...options, allowExtension: false });
  const { enableDefensive } = connection as { enableDefensive?: (active: boolean) => void };
  enableDefensive?.call(connection, true);
  connection.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
  return connection;
}

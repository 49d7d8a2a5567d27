// Opens the store and writes to it as a user to whom file modes apply: root, to whom they do not, switches users
// first.
import { accessSync } from "node:fs";
import { PawlError } from "../../../../src/core/errors.ts";
import { openStore } from "../../../../src/store/open-store.ts";
import { newRun } from "../../../../src/testing/store/sample-run.ts";

const [file, runId = ""] = process.argv.slice(2);
const NOBODY = 65_534;
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}

console.log(JSON.stringify(await attempt()));

async function attempt() {
  try {
    accessSync(new URL("../../../../src/store/sqlite/migrations", import.meta.url));
  } catch {
    return { skipped: "the repository is in a folder that other users may not read" };
  }
  try {
    const store = await openStore(`file:${file}`);
    try {
      return await store.createRun(newRun(runId));
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!PawlError.isInstance(error)) return { untyped: String(error) };
    return { error: error.name, message: error.message, details: error.details };
  }
}

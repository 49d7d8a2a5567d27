import { join } from "node:path";
import { RUN_MARK } from "../../core/artifact-name.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { codeOf, openFile } from "../../store/guarded-folder.ts";

/** Longer than any run id. */
const MAX_BYTES = 1_000;

/** Called before a run is created: files of another run in its folder would count as its own. */
export async function assertWorkspaceIsFree(folder: string, runId: string): Promise<void> {
  await isOwnedBy(join(folder, RUN_MARK), folder, runId);
}

/** True if the mark names this run, false if there is no mark; throws if the folder belongs to another run. */
export async function isOwnedBy(mark: string, folder: string, runId: string): Promise<boolean> {
  const owner = await ownerIn(mark, folder);
  if (owner === null || owner === runId) return owner !== null;
  throw new ConfigurationError(
    `${folder} is the workspace of run ${owner}: give each run a folder of its own with <run_id> in artifacts.workspaceDir, or remove that folder.`,
  );
}

/** The run id in the mark; null if there is no mark. The file is untrusted: anyone may have put it there. */
async function ownerIn(mark: string, folder: string): Promise<string | null> {
  try {
    const file = await openFile(mark);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > MAX_BYTES) throw invalidMark(folder);
      return (await file.readFile("utf8")).trim();
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw code === "ELOOP" || code === "ENXIO" ? invalidMark(folder) : error;
  }
}

function invalidMark(folder: string): ConfigurationError {
  return new ConfigurationError(
    `${join(folder, RUN_MARK)} was not written by Pawl, so it is unknown which run owns this folder: remove it, or give the run another folder.`,
  );
}

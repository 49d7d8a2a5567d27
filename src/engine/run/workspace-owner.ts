import { join } from "node:path";
import { RUN_MARK } from "../../core/artifact-name.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { codeOf, openFile } from "../../store/guarded-folder.ts";

/** Longer than any run's id. */
const MOST_BYTES = 1_000;

/** Before there is a run: files that another one has left there would pass as its own. */
export async function assertWorkspaceIsFree(folder: string, runId: string): Promise<void> {
  await isOwnedBy(join(folder, RUN_MARK), folder, runId);
}

/** Whether the mark says that the folder is this run's already; throws where it is another one's. */
export async function isOwnedBy(mark: string, folder: string, runId: string): Promise<boolean> {
  const owner = await ownerIn(mark, folder);
  if (owner === null || owner === runId) return owner !== null;
  throw new ConfigurationError(
    `${folder} is the workspace of run ${owner}: give each run a folder of its own with <run_id> in artifacts.workspaceDir, or remove that folder.`,
  );
}

/** Null where nothing says whose it is. What lies there may have been put there by anybody. */
async function ownerIn(mark: string, folder: string): Promise<string | null> {
  try {
    const file = await openFile(mark);
    try {
      const stats = await file.stat();
      if (!stats.isFile() || stats.size > MOST_BYTES) throw noMark(folder);
      return (await file.readFile("utf8")).trim();
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw code === "ELOOP" || code === "ENXIO" ? noMark(folder) : error;
  }
}

function noMark(folder: string): ConfigurationError {
  return new ConfigurationError(
    `${join(folder, RUN_MARK)} is no note that Pawl has made, and the run would not know whose folder this is: remove it, or give the run another folder.`,
  );
}

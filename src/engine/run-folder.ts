import { mkdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { RUN_MARK } from "../core/artifact-name.ts";
import { ConfigurationError } from "../core/errors.ts";
import { placeOfRun, type RunSpec } from "../core/run-spec.ts";
import { codeOf, replaceFile } from "../store/guarded-folder.ts";
import type { ForkOrigin } from "../store/store.ts";

/**
 * Where the files of a run are: what its spec says, or a folder of its own under `pawl-runs`. A fork has its parent's spec, and
 * a folder of its own inside of what that names, unless the spec already tells runs apart.
 */
export function folderOf(
  runId: string,
  spec: RunSpec | null,
  root: string,
  forkedFrom: ForkOrigin | null = null,
): string {
  const named = spec?.artifacts.workspaceDir ?? "pawl-runs/<run_id>";
  const place = placeOfRun(named, runId);
  return forkedFrom === null || place !== named
    ? resolve(root, place)
    : resolve(root, place, `fork-${runId}`);
}

/** Before there is a run: files that another one has left there would pass as its own. */
export async function assertFolderIsFree(folder: string, runId: string): Promise<void> {
  const owner = await ownerOf(folder);
  if (owner === null || owner === runId) return;
  throw new ConfigurationError(
    `${folder} is the workspace of run ${owner}: give each run a folder of its own with <run_id> in artifacts.workspaceDir, or remove that folder.`,
  );
}

/** From now on it is this run's. */
export async function ownFolder(folder: string, runId: string, replace = replaceFile): Promise<void> {
  await assertFolderIsFree(folder, runId);
  await mkdir(folder, { recursive: true });
  if ((await ownerOf(folder)) === null) await replace(join(folder, RUN_MARK), `${runId}\n`);
}

async function ownerOf(folder: string): Promise<string | null> {
  try {
    return (await readFile(join(folder, RUN_MARK), "utf8")).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
    throw error;
  }
}

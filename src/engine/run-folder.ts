import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { RUN_MARK } from "../core/artifact-name.ts";
import { ConfigurationError } from "../core/errors.ts";
import { placeOfRun, type RunSpec } from "../core/run-spec.ts";
import { codeOf } from "../store/guarded-folder.ts";
import type { ForkOrigin } from "../store/store.ts";
import type { RunFolder, Workspace } from "./workspace.ts";

/**
 * Where the files of a run are: what its spec says, or a folder of its own under `pawl-runs`. A fork has its parent's spec, and
 * a folder of its own inside of what that names, unless the spec already tells runs apart.
 */
export function folderOf(
  runId: string,
  spec: RunSpec | null,
  root: string,
  forkedFrom: ForkOrigin | null = null,
): RunFolder {
  const named = spec?.artifacts.workspaceDir ?? "pawl-runs/<run_id>";
  const place = placeOfRun(named, runId);
  if (place === named) {
    const chosen = resolve(root, place);
    return { path: forkedFrom === null ? chosen : join(chosen, `fork-${runId}`), chosen };
  }
  const parts = named.split("/");
  const first = parts.findIndex((part) => placeOfRun(part, runId) !== part);
  return { path: resolve(root, place), chosen: resolve(root, parts.slice(0, first).join("/") || ".") };
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
export async function ownFolder(workspace: Workspace, runId: string): Promise<void> {
  await assertFolderIsFree(workspace.folder, runId);
  await workspace.mark(runId);
}

async function ownerOf(folder: string): Promise<string | null> {
  try {
    return (await readFile(join(folder, RUN_MARK), "utf8")).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
    throw error;
  }
}

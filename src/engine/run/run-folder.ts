import { join, resolve } from "node:path";
import type { WorkFolder } from "../../account/health/file-health.ts";
import { type RunSpec, runDirectory } from "../../core/job/run-spec.ts";
import { isBelow } from "../../store/guarded-folder.ts";
import type { ForkOrigin, RunRecord } from "../../store/store.ts";
import type { Agent } from "../definition/agent.ts";
import { agentSteps } from "../definition/known-tools.ts";
import type { StepNode } from "../definition/step.ts";
import type { RunFolder } from "./workspace.ts";

/**
 * The folder of a run: the one of its spec, or its own under `pawl-runs`. A fork has its parent's spec, and gets a folder of
 * its own inside the one named there, unless that already differs from run to run.
 */
export function folderOf(
  runId: string,
  spec: RunSpec | null,
  root: string,
  forkedFrom: ForkOrigin | null = null,
): RunFolder {
  const named = spec?.artifacts.workspaceDir ?? "pawl-runs/<run_id>";
  const place = resolve(root, runDirectory(named, runId));
  const isPerRun = runDirectory(named, runId) !== named;
  const path = forkedFrom === null || isPerRun ? place : join(place, `fork-${runId}`);
  return { path, chosen: chosenOf(resolve(root), path, resolve(root, fixedPart(named, runId))) };
}

/** The operator's folder; for a run with its files elsewhere, the part of the path that is the same for all runs. */
function chosenOf(root: string, path: string, fixed: string): string {
  if (isBelow(root, path)) return root;
  return isBelow(fixed, path) ? fixed : path;
}

function fixedPart(named: string, runId: string): string {
  const parts = named.split("/");
  const first = parts.findIndex((part) => runDirectory(part, runId) !== part);
  return first === -1 ? named : parts.slice(0, first).join("/") || (named.startsWith("/") ? "/" : ".");
}

/** The folders that tools work in: those of these runs below `root`, and those that MCP servers of the pipelines are given. */
export function workFolders(
  pipelines: readonly (Agent | StepNode)[],
  root: string,
  runs: readonly RunRecord[],
): readonly WorkFolder[] {
  return [...pipelines.flatMap(serverFolders), ...runs.map((run) => runFolder(run, root))];
}

/** Arguments of MCP server programs that may be folders. */
function serverFolders(target: Agent | StepNode): readonly WorkFolder[] {
  return agentSteps(target)
    .flatMap(({ agent }) => Object.entries(agent.sources))
    .flatMap(([name, { places = [] }]) =>
      places.map((folder) => ({ folder: resolve(folder), whose: `the MCP server ${name}` })),
    );
}

function runFolder({ runId, spec, forkedFrom }: RunRecord, root: string): WorkFolder {
  return { folder: folderOf(runId, spec, root, forkedFrom).path, whose: `run ${runId}` };
}

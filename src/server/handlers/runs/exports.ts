import { folderName } from "../../../export/archive/folder-names.ts";
import {
  type ArchivedRun,
  archiveRun,
  archiveRuns,
  type OpenedRun,
  openExport,
  type RunExport,
} from "../../../export/archive/run-archive.ts";
import type { Handlers, PartialAct } from "../../handler.ts";
import { HttpProblem } from "../../http-problem.ts";
import type { Principal } from "../../principal.ts";
import { requireRun } from "../../scope/run-scope.ts";
import { type PartialProblem, partialProblem } from "../partial-problem.ts";
import type { ServerParts } from "../server-parts.ts";
import { streamedDownload } from "./download.ts";

/** What `pawl export` writes into a folder, as an archive to save. */
export function exportHandlers({ store }: ServerParts): Handlers<"exportRun" | "exportRuns"> {
  /** The run as it is now, if the principal may still see it. */
  const opened = async (principal: Principal, runId: string) => {
    await requireRun(store, principal, runId);
    return openExport(store, runId);
  };
  return {
    exportRun: async ({ params: { runId } }, { principal }) => {
      const folder = folderName(runId);
      return streamedDownload(archiveRun(folder, await opened(principal, runId)), `${folder}.zip`);
    },

    exportRuns: async ({ body }, { principal }) => {
      const acts: PartialAct[] = [];
      const runs: ArchivedRun[] = [];
      for (const runId of new Set(body.runIds)) {
        const problem = await problemOf(requireRun(store, principal, runId));
        const { status, code } = problem ?? { status: 200, code: null };
        acts.push({ act: "exportRun", target: runId, status, problem: code });
        const open = () => openedRun(opened(principal, runId));
        runs.push({ runId, open: problem === null ? open : async () => refused(problem) });
      }
      if (acts.every(({ problem }) => problem !== null)) throw noneFound();
      return { response: streamedDownload(archiveRuns(runs), "runs.zip"), acts };
    },
  };
}

/** A run that was deleted meanwhile, or that cannot be unpacked, is listed with the reason, and stops none of the others. */
async function openedRun(run: Promise<RunExport>): Promise<OpenedRun> {
  const problem = await problemOf(run);
  return problem === null ? run : refused(problem);
}

function refused({ code, detail }: PartialProblem): OpenedRun {
  return { problem: { code, detail } };
}

/** What is wrong with this run; null if nothing is. What is wrong with the store or the server is thrown. */
async function problemOf(read: Promise<unknown>): Promise<PartialProblem | null> {
  try {
    await read;
    return null;
  } catch (error) {
    const problem = partialProblem(error);
    if (problem === null || problem.status >= 500) throw error;
    return problem;
  }
}

function noneFound(): HttpProblem {
  return new HttpProblem(
    404,
    "run_not_found",
    "There is none of these runs, or they are outside of your scope: check their ids.",
  );
}

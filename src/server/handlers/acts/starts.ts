import type { ToolCallRecord } from "../../../store/store.ts";
import type { Handlers } from "../../handler.ts";
import { requireRun } from "../../scope/run-scope.ts";
import { personOf } from "../acting-person.ts";
import { requireRunner } from "../known-pipeline.ts";
import type { ServerParts } from "../server-parts.ts";
import { startRun, takenProblem } from "./start-run.ts";

/** What makes new runs. A worker takes them from the queue. */
export function startHandlers(parts: ServerParts): Handlers<"startRun" | "putRun" | "forkRun"> {
  const { store } = parts;
  return {
    startRun: async ({ headers, body }, { principal }) => {
      const started = await startRun(parts, principal, { key: headers["idempotency-key"] }, body);
      return started.existed ? { status: 200, body: started } : { status: 201, body: started };
    },

    putRun: async ({ params: { runId }, body }, { principal }) => {
      const started = await startRun(parts, principal, { runId }, body);
      return started.existed ? { status: 200, body: started } : { status: 201, body: started };
    },

    forkRun: async ({ params: { runId }, body: { atTurn, step, runId: forkId } }, { principal }) => {
      const { pipeline } = await requireRun(store, principal, runId);
      const runner = requireRunner(parts, pipeline);
      if (forkId !== undefined && (await store.getRun(forkId)) !== null)
        throw takenProblem(`run id ${forkId}`);
      const { run, laterEffects } = await runner.fork(runId, {
        atTurn,
        startedBy: personOf(principal),
        ...(step === undefined ? {} : { step }),
        ...(forkId === undefined ? {} : { runId: forkId }),
      });
      return { status: 201, body: { runId: run.runId, laterEffects: laterEffects.map(laterEffect) } };
    },
  };
}

function laterEffect({ toolCallId, tool, request, status }: ToolCallRecord) {
  return { toolCallId, tool, request, status };
}

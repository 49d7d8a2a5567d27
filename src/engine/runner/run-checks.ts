import { assertPayload } from "../../core/canonical-json.ts";
import { ConfigurationError, NotJsonError, PawlError, ResumeError, RunBusyError } from "../../core/errors.ts";
import { type Json, withoutUndefined } from "../../core/json.ts";
import { missingRunError } from "../../core/run/missing-run.ts";
import { HASH_WITHOUT_CONSENT } from "../../core/run/resume-request.ts";
import type { RunRecord, StoreReader } from "../../store/store.ts";
import type { ResumeOptions } from "./runner-options.ts";

/** The input as it is stored: a property that is undefined counts as missing. */
export function inputAsJson(given: unknown): Json {
  const input = withoutUndefined(given);
  if (input === undefined)
    throw new NotJsonError(
      "The run has no input: pass one, as in runner.run(input), or null if the pipeline needs none.",
      { path: "$" },
    );
  assertPayload(input, "The input of the run");
  return input;
}

export function assertSamePipeline(run: RunRecord, pipeline: string): void {
  if (run.pipeline === pipeline) return;
  throw new ConfigurationError(
    `Run ${run.runId} belongs to pipeline ${run.pipeline}, not ${pipeline}: use another run id, or a runner of that pipeline.`,
  );
}

export function assertSameRun(run: RunRecord, pipeline: string, inputHash: Uint8Array): void {
  assertSamePipeline(run, pipeline);
  const [was, is] = [Buffer.from(run.inputHash), Buffer.from(inputHash)];
  if (was.equals(is)) return;
  throw new ResumeError(
    `Run ${run.runId} was started with other input: use another run id, or \`resume\` to continue it with the input it has.`,
    {
      irrecoverable: true,
      changes: [{ what: "SHA-256 of the input", was: was.toString("hex"), is: is.toString("hex") }],
    },
  );
}

export function assertConsent({
  acceptDivergence: why,
  changesHash,
}: Pick<ResumeOptions, "acceptDivergence" | "changesHash">): void {
  if (why === undefined) {
    if (changesHash !== undefined) throw new ConfigurationError(HASH_WITHOUT_CONSENT);
  } else if (typeof why !== "string" || why.trim() === "")
    throw new ConfigurationError(
      "acceptDivergence needs a sentence that says why: it is stored with the run.",
    );
}

export function runBusy(
  runId: string,
  { owner, until }: { readonly owner: string; readonly until: number },
): RunBusyError {
  const end = new Date(until).toISOString();
  return new RunBusyError(
    `Run ${runId} is being worked on by ${owner}, whose lease runs until ${end}: wait for it (\`wait: true\`), or stop that process.`,
    { runId, owner, until: end },
  );
}

/** The run as it is stored; throws if it was deleted, or never was. */
export async function requireRun(
  store: Pick<StoreReader, "getRun" | "getTombstone">,
  runId: string,
): Promise<RunRecord> {
  const run = await store.getRun(runId);
  if (run === null) throw missingRunError(runId, await store.getTombstone(runId));
  return run;
}

/** Sets the run id of an error of Pawl, and returns the error. */
export function withRunId<E>(runId: string, error: E): E {
  if (PawlError.isInstance(error)) error.runId = runId;
  return error;
}

/** Works on a run that exists: every error of Pawl that `work` throws has the run's id. */
export async function aboutRun<T>(runId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw withRunId(runId, error);
  }
}

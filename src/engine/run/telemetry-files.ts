import { TELEMETRY_FILES } from "../../core/artifact-name.ts";
import { requiredOutputs } from "../../core/job/run-outputs.ts";
import { telemetryOf } from "../../export/run-telemetry.ts";
import type { RunWith } from "./active-run.ts";

/** True if the spec expects files that Pawl itself writes. */
export function isTelemetryExpected({ contract: { spec } }: RunWith<"contract">): boolean {
  return spec !== null && requiredOutputs(spec.artifacts).some((name) => TELEMETRY_FILES.includes(name));
}

/**
 * Writes `trace.json`, `transcript.md` and `run.log` of the stored run into the workspace of a job. They describe the run and
 * are not part of it: a failure is only a warning, and `pawl export` can write them again at any time.
 */
export async function writeTelemetry({
  store,
  runId,
  artifacts,
  contract: { spec },
  observe: { emit },
}: RunWith<"store" | "runId" | "artifacts" | "contract" | "observe">): Promise<void> {
  try {
    if (spec === null && (await artifacts.list()).length === 0) return;
    for (const [name, text] of await telemetryOf(store, runId)) await artifacts.writeTelemetry(name, text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    emit({ type: "warning", runId, message: `The telemetry of the run could not be written: ${why}` });
  }
}

import type { z } from "zod";
import { canonicalHash, canonicalJson } from "../../../core/canonical-json.ts";
import { isDefaultContract } from "../../../core/job/default-budgets.ts";
import { isJsonObject, type Json } from "../../../core/json.ts";
import type { RunMetadata, RunRecord, StoreReader } from "../../../store/store.ts";
import type { newRun } from "../../api/schemas/run.ts";

/** What is asked for: the body of a request, with the labels of the scope. */
export type AskedRun = Omit<z.output<typeof newRun>, "metadata"> & {
  readonly metadata: RunMetadata | undefined;
};

/**
 * In what a request differs from what the run was started with, by the names of the body: only what never changes after the
 * start is compared, so the same request is the same for ever. A `spec` that is given is compared by the runner.
 */
export async function differencesOf(
  store: Pick<StoreReader, "listEvents">,
  run: RunRecord,
  request: AskedRun,
): Promise<readonly string[]> {
  const { pipeline, input = null } = request;
  const isSame = {
    pipeline: run.pipeline === pipeline,
    input: canonicalHash(input).equals(run.inputHash),
    spec: request.spec !== undefined || isDefaultContract(run.spec, { pipeline: run.pipeline, input }),
    queue: run.queue === (request.queue ?? "default"),
    concurrencyKey: run.concurrencyKey === (request.concurrencyKey ?? null),
    priority: run.priority === (request.priority ?? 0),
    metadata: isSameJson(run.metadata, request.metadata ?? null),
    context: isSameJson(run.callContext, request.context ?? null),
    notBefore: await isSameBeginning(store, run, request.notBefore),
  };
  const differing = Object.entries(isSame).flatMap(([name, same]) => (same ? [] : [name]));
  // The contract that the server gives is of the input.
  return isSame.pipeline && isSame.input ? differing : differing.filter((name) => name !== "spec");
}

/** By the first event: the time itself is forgotten when a worker takes the run. One that was over is not in it. */
async function isSameBeginning(
  store: Pick<StoreReader, "listEvents">,
  { runId, createdAt }: RunRecord,
  notBefore: string | undefined,
): Promise<boolean> {
  const asked = notBefore === undefined ? null : Date.parse(notBefore);
  const [first] = await store.listEvents(runId, { limit: 1 });
  const facts = first !== undefined && isJsonObject(first.data) ? first.data : {};
  const stored = facts.notBefore ?? null;
  return stored === null ? asked === null || asked <= createdAt : stored === asked;
}

function isSameJson(one: Json, other: Json): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

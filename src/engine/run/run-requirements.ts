import { toolCallKey } from "../../core/call/tool-call-key.ts";
import { checkCitations } from "../../core/citations.ts";
import { UnmetConditionsError } from "../../core/errors.ts";
import type { RunSpec } from "../../core/job/run-spec.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { NewStep, ToolCallRecord } from "../../store/store.ts";
import { type StopState, unmetConditions } from "../definition/stop-conditions.ts";
import type { ActiveRun } from "./active-run.ts";
import { readBlobValue } from "./blob-hydrator.ts";

/**
 * Whether the run has come to all that its spec asks for; a run that asks for nothing goes on to its last step. It had not
 * where the next step was begun: what holds now may be that step's doing, and it is finished like any other.
 */
export async function canFinishEarly(run: ActiveRun, output: Json, next?: NewStep): Promise<boolean> {
  if (Object.keys(run.contract.conditions).length === 0) return false;
  const begun = next === undefined ? null : await run.store.findStep(run.runId, next.path);
  if (begun !== null && begun.status !== "skipped") return false;
  if ((await unmetConditions(run.contract.conditions, await stateOf(run, output))).length > 0) return false;
  // What it has to leave behind belongs to what was asked of it.
  return (await missingOutputs(run, run.contract.spec?.artifacts.expectedOutputs ?? [])).length === 0;
}

/** The steps are through: the run is what its spec asks for, or it has failed. */
export async function assertRequirementsMet(run: ActiveRun, output: Json): Promise<void> {
  if (run.contract.spec === null) return;
  // First: a file that a step wrote by itself is an artifact from then on, for the other checks too.
  const missing = await missingOutputs(run, run.contract.spec.artifacts.expectedOutputs);
  const state = await stateOf(run, output);
  const unmet = [
    ...(await unmetConditions(run.contract.conditions, state)).map(
      (name) => `stop condition ${name} does not hold`,
    ),
    ...(run.policy.rules.noDuplicateExternalActions ? duplicates(run.runId, state.calls) : []),
    ...(run.contract.spec.constraints.mustCiteSources
      ? await missingCitations(run, run.contract.spec, state)
      : []),
    ...missing,
  ];
  if (unmet.length === 0) return;
  throw new UnmetConditionsError(
    `The steps of run ${run.runId} are through, and it is not done: ${unmet.join("; ")}. What is done is kept; resume it once that is mended, or fork it at an earlier turn.`,
    { unmet },
  );
}

async function stateOf(run: ActiveRun, output: Json): Promise<StopState> {
  const { session } = run.keeper;
  const { runId } = run;
  const calls = await run.store.listToolCalls(runId);
  return { runId, calls, artifacts: await run.artifacts.list(), session, output };
}

/** The ledger itself is looked at, not what was meant to keep it so. */
function duplicates(runId: string, calls: readonly ToolCallRecord[]): string[] {
  const first = new Map<string, string>();
  return calls
    .filter((call) => call.effect === "external" && call.status === "succeeded" && isOncePerRun(runId, call))
    .flatMap(({ identityHash, tool, toolCallId }) => {
      const before = first.get(identityHash);
      first.set(identityHash, before ?? toolCallId);
      return before === undefined
        ? []
        : [
            `no_duplicate_external_actions: ${tool} had the same effect twice, in ${before} and ${toolCallId}`,
          ];
    });
}

/** Its key says so. A tool whose every call is wanted (`dedupe: "call"`), or that nobody knows to be external, has others. */
function isOncePerRun(runId: string, call: ToolCallRecord): boolean {
  const { namespace, tool, occurrence, idempotencyKey } = call;
  const identityHash = Buffer.from(call.identityHash, "hex");
  const scope = { kind: "effect" } as const;
  return (
    toolCallKey({ runId, namespace, tool, identityHash, scope, occurrence }).toString("hex") ===
    idempotencyKey
  );
}

async function missingOutputs(run: ActiveRun, names: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const name of names)
    if (!(await run.artifacts.hasOutput(name))) missing.push(`expected output ${name} is missing`);
  return missing;
}

const TEXT = /\.(md|markdown|html?|txt)$/i;

/** What people read of the run: the texts among its expected outputs, of its artifacts, or else its answer. */
async function reportsOf(
  run: ActiveRun,
  { artifacts: { expectedOutputs } }: RunSpec,
  { artifacts, output }: StopState,
): Promise<ReadonlyMap<string, string>> {
  const texts = artifacts.map(({ name }) => name).filter((name) => TEXT.test(name));
  const expected = texts.filter((name) => expectedOutputs.includes(name));
  const reports = new Map<string, string>();
  for (const name of expected.length > 0 ? expected : texts) {
    const bytes = await run.artifacts.read(name);
    if (bytes !== null) reports.set(name, Buffer.from(bytes).toString("utf8"));
  }
  if (reports.size === 0 && typeof output === "string") reports.set("the output", output);
  return reports;
}

async function missingCitations(run: ActiveRun, spec: RunSpec, state: StopState): Promise<string[]> {
  const sources = await sourcesOf(run, state.calls);
  const problems: string[] = [];
  for (const [name, report] of await reportsOf(run, spec, state)) {
    const { uncited, unfetched, citesNothing } = checkCitations(report, sources);
    if (citesNothing) problems.push(`must_cite_sources: ${name} cites none of the sources that were fetched`);
    for (const url of uncited) problems.push(`must_cite_sources: ${name} uses ${url} and does not cite it`);
    for (const url of unfetched)
      problems.push(`must_cite_sources: ${name} cites ${url}, which was never fetched`);
  }
  return problems;
}

/** What the run has read from outside, and under which address. */
async function sourcesOf(
  run: ActiveRun,
  calls: readonly ToolCallRecord[],
): Promise<{ readonly url: string; readonly text: string }[]> {
  const sources: { url: string; text: string }[] = [];
  for (const { effect, tool, request, receipt } of calls) {
    if (effect !== "read_only" || receipt?.status !== "succeeded") continue;
    const urls = addressesIn(request);
    if (urls.length === 0) continue;
    const value = receipt.blob === null ? receipt.output.value : await readBlobValue(run, receipt.blob, tool);
    for (const url of urls) {
      const parts = urls.length === 1 ? [value] : partsOf(value, url);
      sources.push({ url, text: parts.flatMap(textsIn).join("\n") });
    }
  }
  return sources;
}

/** Where several pages were read at once, what belongs to one of them: the objects that name it, or have it as a key. */
function partsOf(value: Json, url: string): readonly Json[] {
  if (Array.isArray(value)) return value.flatMap((each: Json) => partsOf(each, url));
  if (!isJsonObject(value)) return [];
  const own = ownProperty(value, url);
  if (own !== undefined) return [own];
  const members = Object.values(value);
  if (members.includes(url)) return [value];
  return members.flatMap((each) => (each === undefined ? [] : partsOf(each, url)));
}

function addressesIn(value: Json): string[] {
  return textsIn(value).filter((text) => /^https?:\/\//i.test(text) && URL.canParse(text));
}

function textsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value)
    ? Object.values(value).flatMap((each) => (each === undefined ? [] : textsIn(each)))
    : [];
}

import { toolCallKey } from "../../core/call/tool-call-key.ts";
import { checkCitations } from "../../core/citations.ts";
import { UnmetConditionsError } from "../../core/errors.ts";
import { requiredOutputs } from "../../core/job/run-outputs.ts";
import type { RunSpec } from "../../core/job/run-spec.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { NewStep, ToolCallRecord } from "../../store/store.ts";
import { type StopState, unmetConditions } from "../definition/stop-conditions.ts";
import type { RunWith } from "./active-run.ts";
import { readBlobValue } from "./blob-hydrator.ts";

/**
 * True if all stop conditions hold and all expected outputs exist, so that the remaining steps are skipped. Always false
 * without stop conditions, and if the next step has begun: that step may be the reason why they hold, and it is finished.
 */
export async function canFinishEarly(
  run: RunWith<"store" | "runId" | "contract" | "artifacts" | "keeper">,
  output: Json,
  next?: NewStep,
): Promise<boolean> {
  if (Object.keys(run.contract.conditions).length === 0) return false;
  const begun = next === undefined ? null : await run.store.findStep(run.runId, next.path);
  if (begun !== null && begun.status !== "skipped") return false;
  if ((await unmetConditions(run.contract.conditions, await stateOf(run, output))).length > 0) return false;
  return (await missingOutputs(run)).length === 0;
}

/** Called after the last step: throws if the run does not fulfil its RunSpec. */
export async function assertRequirementsMet(
  run: RunWith<"store" | "runId" | "contract" | "policy" | "artifacts" | "keeper">,
  output: Json,
): Promise<void> {
  if (run.contract.spec === null) return;
  // First: it turns files that steps wrote themselves into artifacts, which the other checks see.
  const missing = await missingOutputs(run);
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
    `All steps of run ${run.runId} have finished, and its RunSpec is not fulfilled: ${unmet.join("; ")}. Finished work is kept; fix this and resume, or fork the run at an earlier turn.`,
    { unmet },
  );
}

async function stateOf(
  { store, runId, artifacts, keeper: { session } }: RunWith<"store" | "runId" | "artifacts" | "keeper">,
  output: Json,
): Promise<StopState> {
  const calls = await store.listToolCalls(runId);
  return { runId, calls, artifacts: await artifacts.list(), session, output };
}

/** Checks the ledger itself, independently of the code that is meant to prevent duplicates. */
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

/** True if the call's key has the scope of the run, unlike `dedupe: "call"` and tools not known to be external. */
function isOncePerRun(runId: string, call: ToolCallRecord): boolean {
  const { namespace, tool, occurrence, idempotencyKey } = call;
  const identityHash = Buffer.from(call.identityHash, "hex");
  const scope = { kind: "effect" } as const;
  return (
    toolCallKey({ runId, namespace, tool, identityHash, scope, occurrence }).toString("hex") ===
    idempotencyKey
  );
}

async function missingOutputs({
  artifacts,
  contract: { spec },
}: RunWith<"artifacts" | "contract">): Promise<string[]> {
  const missing: string[] = [];
  for (const name of spec === null ? [] : requiredOutputs(spec.artifacts))
    if (!(await artifacts.hasOutput(name))) missing.push(`expected output ${name} is missing`);
  return missing;
}

const TEXT_FILE = /\.(md|markdown|html?|txt)$/i;

/** The texts that must cite sources: among the expected outputs, else among all artifacts, else the run's output. */
async function reportsOf(
  run: RunWith<"artifacts">,
  spec: RunSpec,
  { artifacts, output }: StopState,
): Promise<ReadonlyMap<string, string>> {
  const texts = artifacts.map(({ name }) => name).filter((name) => TEXT_FILE.test(name));
  const required = requiredOutputs(spec.artifacts);
  const expected = texts.filter((name) => required.includes(name));
  const reports = new Map<string, string>();
  for (const name of expected.length > 0 ? expected : texts) {
    const bytes = await run.artifacts.read(name);
    if (bytes !== null) reports.set(name, Buffer.from(bytes).toString("utf8"));
  }
  if (reports.size === 0 && typeof output === "string") reports.set("the output", output);
  return reports;
}

async function missingCitations(
  run: RunWith<"store" | "runId" | "artifacts">,
  spec: RunSpec,
  state: StopState,
): Promise<string[]> {
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

/** The texts that the run has read from outside, with their URLs. */
async function sourcesOf(
  run: RunWith<"store" | "runId">,
  calls: readonly ToolCallRecord[],
): Promise<{ readonly url: string; readonly text: string }[]> {
  const sources: { url: string; text: string }[] = [];
  for (const { effect, tool, request, receipt } of calls) {
    if (effect !== "read_only" || receipt?.status !== "succeeded") continue;
    const urls = urlsIn(request);
    if (urls.length === 0) continue;
    const value = receipt.blob === null ? receipt.output.value : await readBlobValue(run, receipt.blob, tool);
    for (const url of urls) {
      const parts = urls.length === 1 ? [value] : partsOf(value, url);
      sources.push({ url, text: parts.flatMap(textsIn).join("\n") });
    }
  }
  return sources;
}

/** The parts of a result for several pages that belong to one page: the objects that hold its URL as a value or a key. */
function partsOf(value: Json, url: string): readonly Json[] {
  if (Array.isArray(value)) return value.flatMap((each: Json) => partsOf(each, url));
  if (!isJsonObject(value)) return [];
  const own = ownProperty(value, url);
  if (own !== undefined) return [own];
  const members = Object.values(value);
  if (members.includes(url)) return [value];
  return members.flatMap((each) => (each === undefined ? [] : partsOf(each, url)));
}

function urlsIn(value: Json): string[] {
  return textsIn(value).filter((text) => /^https?:\/\//i.test(text) && URL.canParse(text));
}

function textsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value)
    ? Object.values(value).flatMap((each) => (each === undefined ? [] : textsIn(each)))
    : [];
}

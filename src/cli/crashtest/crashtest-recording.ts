import { TELEMETRY_FILES } from "../../core/artifact-name.ts";
import { canonicalHash } from "../../core/canonical-json.ts";
import { FinalFailure, NeedsHuman } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { parseToolCallId } from "../../core/step-path.ts";
import type { Usage } from "../../core/usage/usage.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import { QUESTION } from "../../engine/definition/ask-human.ts";
import { toolsOf } from "../../engine/definition/known-tools.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import type {
  Receipt,
  RunRecord,
  StoreReader,
  ToolCallRecord,
  TurnRecord,
  WaitRecord,
} from "../../store/store.ts";
import type { ModelStandIn, PersonStandIn, ToolStandIn } from "../../testing/crash/scenario.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { anyTool, type Setup } from "./crashtest-setup.ts";

/** A call of a run that has ended, and all that came of it. */
type RecordedCall = {
  readonly call: ToolCallRecord;
  readonly receipt: Receipt;
  /** What the tool returned, or what was said of its failure. */
  readonly value: Json;
  readonly artifacts: readonly { readonly name: string; readonly bytes: Uint8Array }[];
  /** What a person was asked by it; the answer is its result. */
  readonly question: string | null;
};

/** A run that succeeded, with all that is needed to let it happen again. */
export type RecordedRun = {
  readonly run: RunRecord;
  readonly input: Json;
  readonly turns: readonly TurnRecord[];
  readonly usages: ReadonlyMap<string, Usage>;
  readonly calls: readonly RecordedCall[];
  readonly waits: readonly WaitRecord[];
};

export async function readRecordedRun(store: StoreReader, run: RunRecord): Promise<RecordedRun> {
  const { runId } = run;
  const modelCalls = await store.listModelCalls(runId);
  const waits = await store.listWaits(runId);
  const rows = await store.listToolCalls(runId);
  const made = (await store.listArtifacts(runId)).filter(({ name }) => !TELEMETRY_FILES.includes(name));
  const calls: RecordedCall[] = [];
  for (const call of rows) {
    const { receipt } = call;
    if (receipt === null) continue;
    const artifacts: { name: string; bytes: Uint8Array }[] = [];
    for (const { name, stepPath, at } of made) {
      const isOfCall = stepPath === call.stepPath && (call.startedAt ?? Infinity) <= at && at <= receipt.at;
      if (!isOfCall) continue;
      artifacts.push({ name, bytes: (await store.readArtifact(runId, name)) ?? gone(runId) });
    }
    const asked = waits.find(({ kind, toolCallId }) => kind === "question" && toolCallId === call.toolCallId);
    const value = await valueOf(store, runId, receipt);
    calls.push({ call, receipt, value, artifacts, question: asked?.question ?? null });
  }
  const usages = modelCalls.flatMap(({ stepPath, turnIndex, charge }) =>
    charge?.basis === "provider" ? [[place(stepPath, turnIndex), charge.usage] as const] : [],
  );
  return {
    run,
    input: (await store.readRunInput(runId)).input,
    turns: await store.listTurns(runId),
    usages: new Map(usages),
    calls,
    waits,
  };
}

async function valueOf(store: StoreReader, runId: string, { output, blob }: Receipt): Promise<Json> {
  if (blob === null) return output.value;
  const bytes = (await store.readBlob(runId, blob.blobId)) ?? gone(runId);
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as Json;
}

function gone(runId: string): never {
  throw new WrongUseError(
    `A large result of run ${runId} is gone (\`pawl gc\` deletes them), so it cannot happen again: name another run with --run.`,
  );
}

function place(stepPath: string, turnIndex: number): string {
  return `${stepPath}#${turnIndex}`;
}

/** The model, the tools and the people of a run, saying again what they said then. Nothing real is called. */
export function recordedSetup(recorded: RecordedRun, pipeline: Agent | StepNode): Setup {
  // They change the session and nothing else, and are not to be stood in for.
  const ofSession = new Set(
    toolsOf(pipeline, {}).flatMap(({ name, tool }) => (tool.isSessionTool ? [name] : [])),
  );
  const standIn = toolStandIn(recorded);
  return {
    model: modelStandIn(recorded),
    tools: anyTool((name) => (ofSession.has(name) ? undefined : standIn)),
    person: personStandIn(recorded),
  };
}

function modelStandIn({ run, turns, usages }: RecordedRun): ModelStandIn {
  return (_request, { stepPath, turnIndex }) => {
    const turn = turns.find((each) => each.stepPath === stepPath && each.turnIndex === turnIndex);
    if (turn === undefined)
      throw new Error(
        `Run ${run.runId} had no turn ${turnIndex} of ${stepPath}, so nobody knows what to say.`,
      );
    const { content, finishReason, responseId, invalidCalls = {} } = turn.response;
    const usage = usages.get(place(stepPath, turnIndex)) ?? null;
    return { content, finishReason, responseId, invalidCalls, usage };
  };
}

/** What a tool says of itself is believed: one with a key hands it on, and one that looks up finds what is there. */
function toolStandIn(recorded: RecordedRun): ToolStandIn {
  return {
    execute: async (_input, call, outside) => {
      void call.idempotencyKey;
      const row = await outside.store.getToolCall(call.toolCallId);
      const known = row === null ? undefined : findCall(recorded, row);
      if (known === undefined)
        throw new Error(
          `Run ${recorded.run.runId} had no such call of ${row?.tool ?? "a tool"} (${call.toolCallId}), so nobody knows what came of it.`,
        );
      const { receipt, value, artifacts, question } = known;
      if (question !== null) throw new NeedsHuman(QUESTION, question);
      for (const { name, bytes } of artifacts) await call.artifact(name, bytes);
      if (receipt.status !== "succeeded")
        throw new FinalFailure(textOf(value), receipt.uncertain ? {} : { applied: false });
      for (const event of receipt.sessionEvents) call.session.dispatch(event);
      return value;
    },
    reconcile: (_input, call, outside) => {
      const effect = outside.happened(call.idempotencyKey);
      return effect === null ? { status: "absent" } : { status: "done", result: effect.result };
    },
  };
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** An agent's call by its place. The code of a step may call in another order, so there it is by what was asked for. */
function findCall({ calls }: RecordedRun, row: ToolCallRecord): RecordedCall | undefined {
  return calls.find(({ call }) => {
    if (call.stepPath !== row.stepPath || call.turnIndex !== row.turnIndex || call.tool !== row.tool)
      return false;
    if (row.turnIndex > 0) return call.callIndex === row.callIndex;
    return call.occurrence === row.occurrence && isSameRequest(call, row);
  });
}

function isSameRequest(a: ToolCallRecord, b: ToolCallRecord): boolean {
  return canonicalHash(a.request).equals(canonicalHash(b.request));
}

function personStandIn({ waits }: RecordedRun): PersonStandIn {
  const answerOf = (wait: WaitRecord) =>
    waits.find(({ kind, toolCallId, answer }) => {
      return kind === wait.kind && answer !== null && isSamePlace(toolCallId, wait.toolCallId);
    })?.answer ?? null;
  return {
    approval: (wait) => {
      const answer = answerOf(wait);
      const isDenied = answer !== null && "approved" in answer && !answer.approved;
      return isDenied ? { deny: answer.why } : "approve";
    },
    question: (wait) => {
      const answer = answerOf(wait);
      return answer !== null && "as" in answer && answer.as === "answered" ? answer.value : "Yes.";
    },
  };
}

/** The same call of two runs. */
function isSamePlace(a: string | null, b: string | null): boolean {
  const [one, other] = [a, b].map((id) => (id === null ? null : parseToolCallId(id)));
  if (!one || !other) return a === b;
  return one.path === other.path && one.turnIndex === other.turnIndex && one.callIndex === other.callIndex;
}

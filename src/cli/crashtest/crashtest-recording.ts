import { TELEMETRY_FILES } from "../../core/artifact-name.ts";
import { canonicalHash } from "../../core/canonical-json.ts";
import { FinalFailure, NeedsHuman } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { parseToolCallId } from "../../core/step-path.ts";
import type { Usage } from "../../core/usage/usage.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import { toolsOf } from "../../engine/definition/known-tools.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import { QUESTION } from "../../engine/definition/waiting/ask-human.ts";
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
import { anyTool, type CrashtestSetup } from "./crashtest-setup.ts";

/** A tool call of an ended run, with its outcome. */
type RecordedCall = {
  readonly call: ToolCallRecord;
  readonly receipt: Receipt;
  /** The result, or the error message. */
  readonly value: Json;
  readonly artifacts: readonly { readonly name: string; readonly bytes: Uint8Array }[];
  /** The question it asked a person, whose answer is its result. */
  readonly question: string | null;
};

/** A succeeded run, with everything needed to replay it. */
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
      artifacts.push({ name, bytes: (await store.readArtifact(runId, name)) ?? deleted(runId) });
    }
    const asked = waits.find(({ kind, toolCallId }) => kind === "question" && toolCallId === call.toolCallId);
    const value = await valueOf(store, runId, receipt);
    calls.push({ call, receipt, value, artifacts, question: asked?.question ?? null });
  }
  const usages = modelCalls.flatMap(({ stepPath, turnIndex, charge }) =>
    charge?.basis === "provider" ? [[turnId(stepPath, turnIndex), charge.usage] as const] : [],
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
  const bytes = (await store.readBlob(runId, blob.blobId)) ?? deleted(runId);
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as Json;
}

function deleted(runId: string): never {
  throw new WrongUseError(
    `A large result of run ${runId} was deleted by \`pawl gc\`, so it cannot be replayed: name another run with --run.`,
  );
}

function turnId(stepPath: string, turnIndex: number): string {
  return `${stepPath}#${turnIndex}`;
}

/** Stand-ins for the model, tools and people of a run that repeat their recorded answers. Nothing real is called. */
export function recordedSetup(recorded: RecordedRun, pipeline: Agent | StepNode): CrashtestSetup {
  // Session tools only change the session, and need no stand-in.
  const sessionTools = new Set(
    toolsOf(pipeline, {}).flatMap(({ name, tool }) => (tool.isSessionTool ? [name] : [])),
  );
  const standIn = toolStandIn(recorded);
  return {
    model: modelStandIn(recorded),
    tools: anyTool((name) => (sessionTools.has(name) ? undefined : standIn)),
    person: personStandIn(recorded),
  };
}

function modelStandIn({ run, turns, usages }: RecordedRun): ModelStandIn {
  return (_request, { stepPath, turnIndex }) => {
    const turn = turns.find((each) => each.stepPath === stepPath && each.turnIndex === turnIndex);
    if (turn === undefined)
      throw new Error(
        `Run ${run.runId} has no turn ${turnIndex} of ${stepPath}, so there is no response to replay.`,
      );
    const { content, finishReason, responseId, invalidCalls = {} } = turn.response;
    const usage = usages.get(turnId(stepPath, turnIndex)) ?? null;
    return { content, finishReason, responseId, invalidCalls, usage };
  };
}

/** A tool's declarations are trusted: a keyed tool passes its key on, and a reconciling one finds what is there. */
function toolStandIn(recorded: RecordedRun): ToolStandIn {
  return {
    execute: async (_input, call, outside) => {
      void call.idempotencyKey;
      const row = await outside.store.getToolCall(call.toolCallId);
      const known = row === null ? undefined : findCall(recorded, row);
      if (known === undefined)
        throw new Error(
          `Run ${recorded.run.runId} has no such call of ${row?.tool ?? "a tool"} (${call.toolCallId}), so there is no result to replay.`,
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

/** Finds an agent's call by its position. Step code may call in another order, so its calls are matched by their arguments. */
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
      return kind === wait.kind && answer !== null && isSameCall(toolCallId, wait.toolCallId);
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

/** True if the ids name the same call in two runs. */
function isSameCall(a: string | null, b: string | null): boolean {
  const [one, other] = [a, b].map((id) => (id === null ? null : parseToolCallId(id)));
  if (!one || !other) return a === b;
  return one.path === other.path && one.turnIndex === other.turnIndex && one.callIndex === other.callIndex;
}

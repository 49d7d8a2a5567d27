import type { ChainProblem } from "../../../core/event-chain.ts";
import { type StepPath, stepId, toolCallId } from "../../../core/step-path.ts";
import { waitId } from "../../../core/wait.ts";
import { RUN_ROW } from "../covered-rows.ts";
import { get, type SqlScript } from "../script.ts";
import type { CoveredTable } from "../table-list.ts";
import type { RunRow } from "../tables/run-row.ts";
import { isCoveredTable, keyColumns } from "./stored-rows.ts";

// Events name a row by its table and key (`receipts 7`). People see the step and the call that it belongs to
// (`receipt q-1/research#2.1`).

/** A name in an event, in its parts. */
type NameParts = {
  readonly table: CoveredTable;
  readonly key: { readonly [column: string]: string };
  /** Empty for the part of a row that never changes. */
  readonly group: string;
};

/** A row in words: `run` is the run's id, and `path` and `call` are those that the row belongs to. */
type Words = (
  key: NameParts["key"],
  of: { readonly run: string; readonly path: StepPath; readonly call: string },
  group: string,
) => string;

const WORDS: { readonly [table in CoveredTable]: Words } = {
  run_inputs: (_, __, group) => (group === "shape" ? "run shape" : "run input"),
  run_labels: ({ name, value }) => `metadata ${name}: ${value}`,
  addresses: ({ address }) => `address ${address}`,
  messages: ({ message_no }, _, group) =>
    `${group === "state" ? "state of message" : group === "turn" ? "turn of message" : "message"} ${message_no}`,
  attempts: ({ epoch }) => `attempt ${epoch}`,
  run_steps: (_, { path }, group) => (group === "output" ? `step ${path}` : `state of step ${path}`),
  loop_decisions: ({ iteration }, { path }) => `decision ${path}[${iteration}]`,
  granular_states: (_, { path }) => `turns of step ${path}`,
  fingerprints: ({ lineage }, { path }) => `fingerprint of step ${path}~${lineage}`,
  lineages: ({ lineage }, { run, path }) => `lineage ${stepId(run, path)}~${lineage}`,
  exchanges: ({ exchange_no }, { run, path }, group) =>
    `${group === "" ? "exchange" : "end of exchange"} ${stepId(run, path)}!${exchange_no}`,
  turns: ({ turn_index }, { run, path }, group) =>
    `${group === "follow_up" ? "follow-up" : "turn"} ${stepId(run, path)}#${turn_index}`,
  failed_model_calls: ({ turn_index, attempt }, { run, path }) =>
    `model call ${stepId(run, path)}#${turn_index}@${attempt}`,
  tool_calls: (_, { call }, group) => (group === "" ? `call ${call}` : `state of call ${call}`),
  receipts: (_, { call }) => `receipt ${call}`,
  tool_call_attempts: ({ attempt }, { call }, group) =>
    `${group === "late" ? "late outcome of attempt" : "attempt"} ${attempt} of ${call}`,
  uncertain_calls: (_, { call }) => `doubt about ${call}`,
  waits: ({ wait_index }, { run }, group) =>
    `${group === "answer" ? "wait" : group === "clock" ? "time of wait" : "question"} ${waitId(run, Number(wait_index))}`,
  slices: ({ slice_name }) => `slice ${slice_name}`,
  slice_items: ({ slice_name, item_index }) => `slice ${slice_name}[${item_index}]`,
  applied_calls: (_, { call }) => `events of ${call} in the session`,
  checkpoints: ({ checkpoint_index }, { run }) => `checkpoint ${run}~${checkpoint_index}`,
  slice_contents: ({ content_hash }) => `piece of a slice ${String(content_hash).slice(0, 12)}`,
  artifacts: ({ artifact_name }) => `artifact ${artifact_name}`,
};

/** The names of a run's rows for people. Steps and calls are looked up in the run as it is stored. */
export class RowNames {
  readonly #run: Pick<RunRow, "key" | "runId">;
  readonly #paths = new Map<number, StepPath | null>();
  readonly #calls = new Map<number, string | null>();

  constructor(run: Pick<RunRow, "key" | "runId">) {
    this.#run = run;
  }

  /** The problems with the rows in words. Several groups of a row may have one name: each problem is listed once. */
  *problems(found: readonly ChainProblem[]): SqlScript<ChainProblem[]> {
    const unique = new Map<string, ChainProblem>();
    for (const { row, what } of found) {
      const name = yield* this.inWords(row);
      unique.set(`${name}\n${what}`, { row: name, what });
    }
    return [...unique.values()];
  }

  /** If the step or call is missing, the name remains as events have it. */
  *inWords(name: string): SqlScript<string> {
    if (name === RUN_ROW) return "run";
    const parts = partsOf(name);
    if (parts === null) return name;
    const { table, key, group } = parts;
    const path = key.step_no === undefined ? "" : yield* this.#path(Number(key.step_no));
    const call = key.call_no === undefined ? "" : yield* this.call(Number(key.call_no));
    if (path === null || call === null) return group === "" ? name : name.slice(0, -1 - group.length);
    return WORDS[table](key, { run: this.#run.runId, path, call }, group);
  }

  /** The id of a call; null if it is missing. */
  *call(callNo: number): SqlScript<string | null> {
    const known = this.#calls.get(callNo);
    if (known !== undefined) return known;
    const row = yield* get(CALL, this.#run.key, callNo);
    const id =
      row === null
        ? null
        : toolCallId(this.#run.runId, row.text("step_path"), row.int("turn_index"), row.int("call_index"));
    this.#calls.set(callNo, id);
    return id;
  }

  *#path(stepNo: number): SqlScript<StepPath | null> {
    const known = this.#paths.get(stepNo);
    if (known !== undefined) return known;
    const row = yield* get(STEP, this.#run.key, stepNo);
    const path = row?.text("step_path") ?? null;
    this.#paths.set(stepNo, path);
    return path;
  }
}

const STEP = "SELECT step_path FROM run_steps WHERE run_key = ? AND step_no = ?";
const CALL = `SELECT step_path, turn_index, call_index FROM tool_calls JOIN run_steps USING (run_key, step_no)
   WHERE run_key = ? AND call_no = ?`;

const NAME = /^(?<table>\w+)(?: (?<key>.+?))?(?::(?<group>\w+))?$/s;
const KEY_PART = /"(?:[^"\\]|\\.)*"|[^.]+/g;

/** Null if it is no name of a row that Pawl writes. */
export function partsOf(name: string): NameParts | null {
  const { table = "", key = "", group = "" } = NAME.exec(name)?.groups ?? {};
  if (!isCoveredTable(table)) return null;
  const columns = keyColumns(table);
  const texts = key.match(KEY_PART) ?? [];
  if (texts.length !== columns.length) return null;
  const values: { [column: string]: string } = {};
  for (const [i, column] of columns.entries()) {
    const value = keyValue(texts[i] ?? "");
    if (value === null || (NUMBERED.has(column) && !/^\d{1,9}$/.test(value))) return null;
    values[column] = value;
  }
  return { table, group, key: values };
}

/** The columns by which steps and calls are looked up. */
const NUMBERED: ReadonlySet<string> = new Set(["step_no", "call_no"]);

function keyValue(text: string): string | null {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    return null;
  }
}

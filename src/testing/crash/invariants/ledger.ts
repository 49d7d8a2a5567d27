import { isDeepStrictEqual } from "node:util";
import { outputForModel } from "../../../core/call/duplicate-note.ts";
import { type AssistantMessage, ledgerCallsOf, type Message, toolCallsOf } from "../../../core/message.ts";
import type { ToolCallRecord, TurnRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import type { WitnessLine } from "../witness.ts";
import { firstDifference } from "./first-difference.ts";
import {
  allObservations,
  earlierAndLater,
  isDeleted,
  keyName,
  type Observation,
  turnName,
} from "./observations.ts";
import { wasStoppedBefore } from "./stopped-before-sending.ts";

export const callsMatchTheLedger: Invariant = {
  name: "calls-match-the-ledger",
  promise:
    "Every tool call of a response has one row in the ledger, a receipt and a result, and every row belongs to a call.",
  judge: (evidence) => {
    const observations = allObservations(evidence);
    const turns = observations.flatMap((observation) =>
      observation.account.turns.map((turn) => ({ observation, turn })),
    );
    const ofTurns = checkEach(turns, ({ observation, turn }) => judgeTurn(observation, turn));
    const histories = observations.flatMap((observation) =>
      Object.entries(observation.account.histories).map(([path, history]) => ({
        observation,
        path,
        history,
      })),
    );
    const ofHistories = checkEach(histories, ({ observation, path, history }) =>
      judgeHistory(observation, path, history),
    );
    const stray = observations.flatMap(strayRows);
    return {
      looked: ofTurns.looked,
      problems: [...ofTurns.problems, ...ofHistories.problems, ...stray, ...sharedKeys(evidence)],
    };
  },
};

function judgeTurn({ account, when }: Observation, turn: TurnRecord): readonly Problem[] {
  const { stepPath, turnIndex, committed } = turn;
  const name = turnName(account.run.runId, stepPath, turnIndex);
  const requested = ledgerCallsOf(turn.response.content);
  const rows = rowsOf(account, turn);
  if (rows.length !== requested.length)
    return wrong(
      `${name} requests ${requested.length} calls ${when}, but the ledger has ${rows.length} of them`,
    );
  for (const [i, row] of rows.entries()) {
    const part = requested[i];
    if (part?.toolName !== row.tool || row.callIndex !== i + 1)
      return wrong(
        `${name} requests ${part?.toolName} as call ${i + 1}, but the ledger has ${row.tool} as call ${row.callIndex} ${when}`,
        row.tool,
      );
    if (committed && row.receipt === null)
      return wrong(`${name} is committed ${when}, but its call of ${row.tool} has no receipt`, row.tool);
  }
  return FINE;
}

function rowsOf({ calls }: RunAccount, { stepPath, turnIndex }: TurnRecord): readonly ToolCallRecord[] {
  return calls.filter((call) => call.stepPath === stepPath && call.turnIndex === turnIndex);
}

/** Rows that no response requested. Calls of code steps have turn 0; once the step has succeeded, each has a receipt. */
function strayRows({ account, when }: Observation): readonly Problem[] {
  const { run, turns, calls, steps } = account;
  const known = new Set(turns.map(({ stepPath, turnIndex }) => `${stepPath}#${turnIndex}`));
  const done = new Set(steps.filter(({ status }) => status === "succeeded").map(({ path }) => path));
  return calls.flatMap(({ stepPath, turnIndex, tool, toolCallId, receipt }) => {
    if (turnIndex > 0 && !known.has(`${stepPath}#${turnIndex}`))
      return wrong(
        `The ledger of ${run.runId} has ${toolCallId} (${tool}) ${when}, which no response requests`,
        tool,
      );
    if (turnIndex === 0 && receipt === null && done.has(stepPath))
      return wrong(
        `Step ${stepPath} of ${run.runId} has succeeded ${when}, but ${toolCallId} (${tool}) has no receipt`,
        tool,
      );
    return FINE;
  });
}

function sharedKeys({ accounts }: Evidence): readonly Problem[] {
  const calls = accounts.flatMap((account) => account.calls);
  return [...Map.groupBy(calls, ({ idempotencyKey }) => idempotencyKey)].flatMap(([key, rows]) =>
    rows.length === 1
      ? FINE
      : wrong(`${rows.map(({ toolCallId }) => toolCallId).join(" and ")} share the key ${keyName(key)}`),
  );
}

/** The history of the current lineage: a response for each committed turn, followed by a result for each of its calls. */
function judgeHistory(
  { account, when }: Observation,
  path: string,
  history: readonly Message[],
): readonly Problem[] {
  const { run, turns, lineages } = account;
  const first = Math.max(
    1,
    ...lineages.filter(({ stepPath }) => stepPath === path).map(({ firstTurn }) => firstTurn),
  );
  const committed = turns.filter(
    (turn) => turn.stepPath === path && turn.committed && turn.turnIndex >= first,
  );
  const turnsInHistory = historyTurns(history);
  if (turnsInHistory.length !== committed.length)
    return wrong(
      `The history of ${path} in ${run.runId} ${when} has ${turnsInHistory.length} responses, but ${committed.length} turns are committed`,
    );
  return committed.flatMap((turn, i) => judgeHistoryTurn(account, turn, turnsInHistory[i] ?? null, when));
}

type HistoryTurn = { readonly response: AssistantMessage; readonly results: readonly Message[] };

function historyTurns(history: readonly Message[]): readonly HistoryTurn[] {
  return history.flatMap((response, i) => {
    if (response.role !== "assistant") return [];
    const rest = history.slice(i + 1);
    const end = rest.findIndex(({ role }) => role !== "tool");
    return [{ response, results: end === -1 ? rest : rest.slice(0, end) }];
  });
}

function judgeHistoryTurn(
  account: RunAccount,
  turn: TurnRecord,
  inHistory: HistoryTurn | null,
  when: string,
): readonly Problem[] {
  const name = turnName(account.run.runId, turn.stepPath, turn.turnIndex);
  const rows = rowsOf(account, turn);
  const results = toolCallsOf(turn.response.content).map(({ toolCallId, toolName }, i) => ({
    role: "tool",
    content: [{ type: "tool-result", toolCallId, toolName, output: shownOutputOf(rows[i]) }],
  }));
  if (!isDeepStrictEqual(inHistory?.response.content, turn.response.content))
    return wrong(`The history has another response than ${name} ${when}`);
  const difference = firstDifference(results, inHistory?.results ?? []);
  return difference === null
    ? FINE
    : wrong(`The results that follow ${name} in the history are not its receipts ${when}: ${difference}`);
}

export const receiptsImmutable: Invariant = {
  name: "receipts-immutable",
  promise: "A receipt is written once, and never changes.",
  judge: (evidence) => {
    const receipts = earlierAndLater(evidence).flatMap((pair) =>
      pair.account.calls.filter(({ receipt }) => receipt !== null).map((call) => ({ pair, call })),
    );
    return checkEach(receipts, ({ pair: { when, later, laterWhen }, call }) => {
      const { toolCallId, tool, receipt } = call;
      const found = later?.calls.find((other) => other.toolCallId === toolCallId);
      const difference = firstDifference(receipt, found?.receipt ?? null);
      if (difference === null) return FINE;
      return wrong(
        `The receipt of ${tool} (${toolCallId}) stored ${when} has changed ${laterWhen}: ${difference}`,
        tool,
      );
    });
  },
};

export const journalBeforeTools: Invariant = {
  name: "journal-before-tools",
  promise: "No tool is entered before the store has its call as running.",
  judge: (evidence) => {
    const entered = [...evidence.witness, ...evidence.again.witness].filter(isEntered);
    // A process that was paused right before its tool had a journaled call; meanwhile another worker has continued it.
    const checked = entered.filter((line) => {
      const life = evidence.lives.find(({ number }) => number === line.life);
      return life === undefined || !wasStoppedBefore(life, line);
    });
    const calls = new Map(
      evidence.accounts.flatMap(({ calls }) => calls.map((call) => [call.toolCallId, call])),
    );
    return checkEach(checked, ({ tool, toolCallId, attempt, life, journaled, runId }) => {
      const which = `${tool} (${toolCallId}, attempt ${attempt}) was entered by process ${life}`;
      if (!journaled) return wrong(`${which} while the store did not have it as running`, tool);
      if (isDeleted(evidence, runId)) return FINE;
      const attempts = calls.get(toolCallId)?.attempt ?? 0;
      return attempts >= attempt ? FINE : wrong(`${which}, but the ledger has ${attempts} attempts`, tool);
    });
  },
};

function isEntered(line: WitnessLine): line is Extract<WitnessLine, { kind: "entered" }> {
  return line.kind === "entered";
}

export const nothingRunsAtRest: Invariant = {
  name: "nothing-runs-at-rest",
  promise: "In a run that no worker owns, no call is running: a call that may have happened is in doubt.",
  judge: (evidence) =>
    checkEach(
      allObservations(evidence).filter(({ account }) => account.run.status !== "running"),
      ({ account: { run, calls }, when }) =>
        calls
          .filter(({ status }) => status === "running")
          .flatMap(({ tool, toolCallId }) =>
            wrong(`${run.runId} is ${run.status} ${when}, but ${tool} (${toolCallId}) is running`, tool),
          ),
    ),
};

/** The history has a result as the model sees it: a duplicate with other arguments has a note. */
function shownOutputOf(row: ToolCallRecord | undefined) {
  const receipt = row?.receipt ?? null;
  return receipt === null ? null : outputForModel(receipt);
}

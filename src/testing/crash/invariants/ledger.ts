import { isDeepStrictEqual } from "node:util";
import { type AssistantMessage, ledgerCallsOf, type Message, toolCallsOf } from "../../../core/message.ts";
import type { ToolCallRecord, TurnRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { FINE, type Invariant, lookAt, type Problem, wrong } from "../invariant.ts";
import type { WitnessLine } from "../witness.ts";
import { firstDifference } from "./first-difference.ts";
import { earlierAndLater, everySight, keyName, type Sight, turnName } from "./places.ts";
import { stoodBefore } from "./stopped-before-sending.ts";

export const callsMatchTheLedger: Invariant = {
  name: "calls-match-the-ledger",
  promise:
    "Every tool call of a response has one row in the ledger, a receipt and a result; and the other way round.",
  judge: (evidence) => {
    const sights = everySight(evidence);
    const turns = sights.flatMap((sight) => sight.account.turns.map((turn) => ({ sight, turn })));
    const ofTurns = lookAt(turns, ({ sight, turn }) => judgeTurn(sight, turn));
    const histories = sights.flatMap((sight) =>
      Object.entries(sight.account.histories).map(([path, history]) => ({ sight, path, history })),
    );
    const ofHistories = lookAt(histories, ({ sight, path, history }) => judgeHistory(sight, path, history));
    const stray = sights.flatMap(strayRows);
    return {
      looked: ofTurns.looked,
      problems: [...ofTurns.problems, ...ofHistories.problems, ...stray, ...sharedKeys(evidence)],
    };
  },
};

function judgeTurn({ account, when }: Sight, turn: TurnRecord): readonly Problem[] {
  const { stepPath, turnIndex, committed } = turn;
  const name = turnName(account.run.runId, stepPath, turnIndex);
  const asked = ledgerCallsOf(turn.response.content);
  const rows = rowsOf(account, turn);
  if (rows.length !== asked.length)
    return wrong(`${name} asks for ${asked.length} calls ${when}, and the ledger has ${rows.length} of them`);
  for (const [i, row] of rows.entries()) {
    const part = asked[i];
    if (part?.toolName !== row.tool || row.callIndex !== i + 1)
      return wrong(
        `${name} asks for ${part?.toolName} as call ${i + 1}, and the ledger has ${row.tool} as call ${row.callIndex} ${when}`,
        row.tool,
      );
    if (committed && row.receipt === null)
      return wrong(`${name} is committed ${when}, and its call of ${row.tool} has no receipt`, row.tool);
  }
  return FINE;
}

function rowsOf({ calls }: RunAccount, { stepPath, turnIndex }: TurnRecord): readonly ToolCallRecord[] {
  return calls.filter((call) => call.stepPath === stepPath && call.turnIndex === turnIndex);
}

/** Rows that no response asks for. Code steps ask from turn 0, and one that has succeeded knows what became of each. */
function strayRows({ account, when }: Sight): readonly Problem[] {
  const { run, turns, calls, steps } = account;
  const known = new Set(turns.map(({ stepPath, turnIndex }) => `${stepPath}#${turnIndex}`));
  const done = new Set(steps.filter(({ status }) => status === "succeeded").map(({ path }) => path));
  return calls.flatMap(({ stepPath, turnIndex, tool, toolCallId, receipt }) => {
    if (turnIndex > 0 && !known.has(`${stepPath}#${turnIndex}`))
      return wrong(
        `The ledger of ${run.runId} has ${toolCallId} (${tool}) ${when}, which no response asks for`,
        tool,
      );
    if (turnIndex === 0 && receipt === null && done.has(stepPath))
      return wrong(
        `Step ${stepPath} of ${run.runId} has succeeded ${when}, and ${toolCallId} (${tool}) has no receipt`,
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

/** The history of the present line: a response for each committed turn, and after it a result for each of its calls. */
function judgeHistory(
  { account, when }: Sight,
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
  const told = answersIn(history);
  if (told.length !== committed.length)
    return wrong(
      `The history of ${path} in ${run.runId} ${when} has ${told.length} responses, and ${committed.length} turns are committed`,
    );
  return committed.flatMap((turn, i) => judgeAnswer(account, turn, told[i] ?? null, when));
}

type ToldAnswer = { readonly response: AssistantMessage; readonly results: readonly Message[] };

function answersIn(history: readonly Message[]): readonly ToldAnswer[] {
  return history.flatMap((response, i) => {
    if (response.role !== "assistant") return [];
    const rest = history.slice(i + 1);
    const end = rest.findIndex(({ role }) => role !== "tool");
    return [{ response, results: end === -1 ? rest : rest.slice(0, end) }];
  });
}

function judgeAnswer(
  account: RunAccount,
  turn: TurnRecord,
  told: ToldAnswer | null,
  when: string,
): readonly Problem[] {
  const name = turnName(account.run.runId, turn.stepPath, turn.turnIndex);
  const rows = rowsOf(account, turn);
  const results = toolCallsOf(turn.response.content).map(({ toolCallId, toolName }, i) => ({
    role: "tool",
    content: [{ type: "tool-result", toolCallId, toolName, output: rows[i]?.receipt?.output ?? null }],
  }));
  if (!isDeepStrictEqual(told?.response.content, turn.response.content))
    return wrong(`The history has another response than ${name} ${when}`);
  const difference = firstDifference(results, told?.results ?? []);
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
    return lookAt(receipts, ({ pair: { when, later, laterWhen }, call }) => {
      const { toolCallId, tool, receipt } = call;
      const found = later?.calls.find((other) => other.toolCallId === toolCallId);
      const difference = firstDifference(receipt, found?.receipt ?? null);
      if (difference === null) return FINE;
      return wrong(
        `The receipt of ${tool} (${toolCallId}) that there was ${when} is another one ${laterWhen}: ${difference}`,
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
    // Whoever wakes right before its tool finds that its call was gone on with: it was journaled when it looked.
    const judged = entered.filter((line) => {
      const life = evidence.lives.find(({ number }) => number === line.life);
      return life === undefined || !stoodBefore(life, line);
    });
    const calls = new Map(
      evidence.accounts.flatMap(({ calls }) => calls.map((call) => [call.toolCallId, call])),
    );
    return lookAt(judged, ({ tool, toolCallId, attempt, life, journaled }) => {
      const which = `${tool} (${toolCallId}, try ${attempt}) was entered by process ${life}`;
      if (!journaled) return wrong(`${which} while the store did not have it as running`, tool);
      const tries = calls.get(toolCallId)?.attempt ?? 0;
      return tries >= attempt ? FINE : wrong(`${which}, and the ledger tells of ${tries} tries`, tool);
    });
  },
};

type Entered = Extract<WitnessLine, { kind: "entered" }>;

function isEntered(line: WitnessLine): line is Entered {
  return line.kind === "entered";
}

export const nothingRunsAtRest: Invariant = {
  name: "nothing-runs-at-rest",
  promise: "In a run that nobody works on no call is running: what may have happened is in doubt.",
  judge: (evidence) =>
    lookAt(
      everySight(evidence).filter(({ account }) => account.run.status !== "running"),
      ({ account: { run, calls }, when }) =>
        calls
          .filter(({ status }) => status === "running")
          .flatMap(({ tool, toolCallId }) =>
            wrong(`${run.runId} is ${run.status} ${when}, and ${tool} (${toolCallId}) is running`, tool),
          ),
    ),
};

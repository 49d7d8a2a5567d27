import { isJsonObject } from "../../../core/json.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import type { WitnessLine } from "../witness.ts";
import type { ProcessOutcome } from "../world.ts";
import { firstDifference } from "./first-difference.ts";
import { accountOf } from "./observations.ts";
import { mayEndDifferently } from "./same-end.ts";

export const endsOrWaits: Invariant = {
  name: "ends-or-waits",
  promise: "Every run ends, or waits for a recorded reason.",
  judge: (evidence) => {
    const ofRuns = checkEach(evidence.accounts, judgeRest);
    return { looked: ofRuns.looked + 1, problems: [...ofRuns.problems, ...judgeLives(evidence)] };
  },
};

function judgeRest({ run, waits }: RunAccount): readonly Problem[] {
  const { runId, status, error, epoch } = run;
  if (status === "running") return wrong(`${runId} is left running, but no process works on it`);
  // A fork that was never started is rightly queued.
  if (status === "queued" && epoch > 0) return wrong(`${runId} is left queued, but no process resumes it`);
  if (status === "waiting" && error === null && waits.every((wait) => wait.status !== "open"))
    return wrong(`${runId} waits, but has neither an open wait nor an error`);
  return status === "failed" && error === null ? wrong(`${runId} has failed, but has no error`) : FINE;
}

/** The last process ends as it does undisturbed, and no process hangs. */
function judgeLives(evidence: Evidence): readonly Problem[] {
  const { lives, undisturbed } = evidence;
  const stuck = lives
    .filter(({ end }) => end.kind === "stuck")
    .flatMap(({ number }) => wrong(`Process ${number} hangs: it neither works nor waits for anything`));
  const last = lives.at(-1)?.end;
  if (last === undefined || last.kind === "died") return [...stuck, ...wrong("No process ended")];
  const expected = undisturbed?.lives.at(-1)?.end;
  if (expected === undefined || mayEndDifferently(evidence)) return stuck;
  return outcomesDiffer(expected, last)
    ? [
        ...stuck,
        ...wrong(`The last process ${outcomeText(last)}, but undisturbed it ${outcomeText(expected)}`),
      ]
    : stuck;
}

function outcomesDiffer(a: ProcessOutcome, b: ProcessOutcome): boolean {
  return a.kind !== b.kind || (a.kind === "threw" && b.kind === "threw" && a.name !== b.name);
}

function outcomeText(end: ProcessOutcome): string {
  return end.kind === "threw" ? `threw ${end.name} (${end.message})` : end.kind;
}

export const resumingTwiceIsResumingOnce: Invariant = {
  name: "resuming-twice-is-resuming-once",
  promise: "Resuming a run that has nothing left to do does nothing.",
  judge: (evidence) => {
    const { accounts, again, lives } = evidence;
    // Resuming a failed run rightly tries it again, each time.
    const notFailed = accounts.filter(({ run }) => run.status !== "failed");
    const { looked, problems } = checkEach(notFailed, (account) =>
      judgeAgain(account, accountOf(again.accounts, account.run.runId), evidence),
    );
    if (notFailed.length < accounts.length || accounts.length === 0) return { looked, problems };
    const made = again.accounts.filter(({ run }) => accountOf(accounts, run.runId) === null);
    return {
      looked,
      problems: [
        ...problems,
        ...made.flatMap(({ run }) => wrong(`Resuming again created another run, ${run.runId}`)),
        ...judgeSecondEnd(lives.at(-1)?.end, again.end),
      ],
    };
  },
};

function judgeAgain(account: RunAccount, later: RunAccount | null, { again }: Evidence): readonly Problem[] {
  const { runId } = account.run;
  const lines = again.witness.filter((line) => line.runId === runId);
  const called = [...new Set(lines.map(calledBy))];
  if (called.length > 0) return wrong(`Resuming ${runId} again called ${called.join(", ")}`, toolOf(called));
  const difference = later === null ? "it is gone" : firstDifference(stateOf(account), stateOf(later));
  return difference === null ? FINE : wrong(`Resuming ${runId} again changed it: ${difference}`);
}

const MODEL = "the model";
const RECEIVER = "the receiver of a webhook";

function calledBy(line: WitnessLine): string {
  if ("tool" in line) return line.tool;
  return line.kind === "received" ? RECEIVER : MODEL;
}

function toolOf(called: readonly string[]): string | undefined {
  return called.find((name) => name !== MODEL && name !== RECEIVER);
}

function stateOf({
  run,
  turns,
  calls,
  modelCalls,
  session,
  artifacts,
  checkpoints,
  lineages,
  steps,
}: RunAccount) {
  const { status, output, context, charged, reserved, error } = run;
  return {
    run: { status, output, context, charged, reserved, error: error?.code ?? null },
    steps: steps.map(({ path, status, output }) => ({ path, status, output })),
    turns,
    calls,
    modelCalls,
    session,
    artifacts,
    checkpoints,
    lineages,
  };
}

function judgeSecondEnd(first: ProcessOutcome | undefined, second: ProcessOutcome): readonly Problem[] {
  if (first === undefined) return FINE;
  if (outcomesDiffer(first, second))
    return wrong(`The last process ${outcomeText(first)}, but when repeated it ${outcomeText(second)}`);
  if (first.kind !== "returned" || second.kind !== "returned") return FINE;
  const difference = firstDifference(resultOf(first.value), resultOf(second.value));
  return difference === null ? FINE : wrong(`The same work repeated returns another result: ${difference}`);
}

/** The part of the runner's result that does not depend on the process. */
function resultOf(value: unknown): unknown {
  if (!isJsonObject(value)) return null;
  const { runId = null, status = null, output = null } = value;
  return { runId, status, output };
}

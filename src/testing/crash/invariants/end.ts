import { isJsonObject } from "../../../core/json.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { FINE, type Invariant, lookAt, type Problem, wrong } from "../invariant.ts";
import type { LifeEnd } from "../world.ts";
import { firstDifference } from "./first-difference.ts";
import { accountOf } from "./places.ts";
import { mayEndOtherwise } from "./same-end.ts";

export const endsOrWaits: Invariant = {
  name: "ends-or-waits",
  promise: "Every run ends, or waits and says what for.",
  judge: (evidence) => {
    const ofRuns = lookAt(evidence.accounts, judgeRest);
    return { looked: ofRuns.looked + 1, problems: [...ofRuns.problems, ...judgeLives(evidence)] };
  },
};

function judgeRest({ run, waits }: RunAccount): readonly Problem[] {
  const { runId, status, error, epoch } = run;
  if (status === "running") return wrong(`${runId} is left running, and nobody works on it`);
  // A fork that nobody has started waits for somebody to do so.
  if (status === "queued" && epoch > 0) return wrong(`${runId} is left queued, and nobody goes on with it`);
  if (status === "waiting" && error === null && waits.every((wait) => wait.status !== "open"))
    return wrong(`${runId} waits, and says neither for whom nor why`);
  return status === "failed" && error === null ? wrong(`${runId} has failed, and does not say why`) : FINE;
}

/** The last process comes to the end that it comes to undisturbed; none of them hangs. */
function judgeLives(evidence: Evidence): readonly Problem[] {
  const { lives, undisturbed } = evidence;
  const stuck = lives
    .filter(({ end }) => end.kind === "stuck")
    .flatMap(({ number }) => wrong(`Process ${number} hangs: it neither works nor waits for anything`));
  const last = lives.at(-1)?.end;
  if (last === undefined || last.kind === "died") return [...stuck, ...wrong("No process came to its end")];
  const expected = undisturbed?.lives.at(-1)?.end;
  if (expected === undefined || mayEndOtherwise(evidence)) return stuck;
  return waysDiffer(expected, last)
    ? [...stuck, ...wrong(`The last process ${told(last)}, and undisturbed it ${told(expected)}`)]
    : stuck;
}

function waysDiffer(a: LifeEnd, b: LifeEnd): boolean {
  return a.kind !== b.kind || (a.kind === "threw" && b.kind === "threw" && a.name !== b.name);
}

function told(end: LifeEnd): string {
  return end.kind === "threw" ? `threw ${end.name} (${end.message})` : end.kind;
}

export const resumingTwiceIsResumingOnce: Invariant = {
  name: "resuming-twice-is-resuming-once",
  promise: "Going on with a run that has nothing left to do does nothing.",
  judge: (evidence) => {
    const { accounts, again, lives } = evidence;
    // A run that has failed is tried again, each time: that is what resuming it is for.
    const rested = accounts.filter(({ run }) => run.status !== "failed");
    const { looked, problems } = lookAt(rested, (account) =>
      judgeAgain(account, accountOf(again.accounts, account.run.runId), evidence),
    );
    if (rested.length < accounts.length || accounts.length === 0) return { looked, problems };
    const made = again.accounts.filter(({ run }) => accountOf(accounts, run.runId) === null);
    return {
      looked,
      problems: [
        ...problems,
        ...made.flatMap(({ run }) => wrong(`Resuming once more made another run, ${run.runId}`)),
        ...judgeSecondEnd(lives.at(-1)?.end, again.end),
      ],
    };
  },
};

function judgeAgain(account: RunAccount, later: RunAccount | null, { again }: Evidence): readonly Problem[] {
  const { runId } = account.run;
  const lines = again.witness.filter((line) => line.runId === runId);
  const called = [...new Set(lines.map((line) => ("tool" in line ? line.tool : "the model")))];
  if (called.length > 0)
    return wrong(`Resuming ${runId} once more called ${called.join(", ")}`, toolOf(called));
  const difference = later === null ? "it is gone" : firstDifference(restOf(account), restOf(later));
  return difference === null ? FINE : wrong(`Resuming ${runId} once more changed it: ${difference}`);
}

function toolOf(called: readonly string[]): string | undefined {
  return called.find((name) => name !== "the model");
}

function restOf({
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

function judgeSecondEnd(first: LifeEnd | undefined, second: LifeEnd): readonly Problem[] {
  if (first === undefined) return FINE;
  if (waysDiffer(first, second))
    return wrong(`The last process ${told(first)}, and when the same is done once more it ${told(second)}`);
  if (first.kind !== "returned" || second.kind !== "returned") return FINE;
  const difference = firstDifference(resultOf(first.value), resultOf(second.value));
  return difference === null ? FINE : wrong(`The same done once more comes to another result: ${difference}`);
}

/** Of what the runner returns, what does not tell which process it was. */
function resultOf(value: unknown): unknown {
  if (!isJsonObject(value)) return null;
  const { runId = null, status = null, output = null } = value;
  return { runId, status, output };
}

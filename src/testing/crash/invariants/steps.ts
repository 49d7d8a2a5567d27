import type { RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { earlierAndLater, objectOf } from "./observations.ts";

export const stepsDoneOnce: Invariant = {
  name: "steps-done-once",
  promise: "A finished step is never entered again, and a loop decides each iteration once.",
  judge: (evidence) => {
    const entered = checkEach(evidence.again.accounts, stepsEnteredAgain);
    const finished = earlierAndLater(evidence).flatMap((pair) =>
      pair.account.steps.filter(({ status }) => status === "succeeded").map((step) => ({ pair, step })),
    );
    const kept = checkEach(finished, ({ pair, step }) => {
      const later = pair.later?.steps.find(({ path }) => path === step.path);
      return later?.status === "succeeded" && JSON.stringify(later.output) === JSON.stringify(step.output)
        ? FINE
        : wrong(`Step ${step.path} had finished ${pair.when}, but ${pair.laterWhen} its result differs`);
    });
    return { looked: kept.looked, problems: [...entered.problems, ...kept.problems] };
  },
};

function stepsEnteredAgain({ run, events }: RunAccount): readonly Problem[] {
  const done = new Set<string>();
  return events.flatMap(({ type, data, seq }) => {
    const isDecision = type === "loop.decided";
    if (!isDecision && !type.startsWith("step.")) return FINE;
    const { step = null, iteration = null } = objectOf(data);
    const name = JSON.stringify(isDecision ? { step, iteration } : { step });
    const isAgain = done.has(name);
    if (isDecision || type === "step.finished") done.add(name);
    return isAgain ? wrong(`In ${run.runId}, ${name} was done, but event ${seq} is ${type}`) : FINE;
  });
}

import type { RunAccount } from "../evidence.ts";
import { FINE, type Invariant, lookAt, type Problem, wrong } from "../invariant.ts";
import { earlierAndLater, objectOf } from "./places.ts";

export const stepsDoneOnce: Invariant = {
  name: "steps-done-once",
  promise: "A step that has finished is never entered again, and a loop decides about each iteration once.",
  judge: (evidence) => {
    const told = lookAt(evidence.again.accounts, stepsEnteredAgain);
    const finished = earlierAndLater(evidence).flatMap((pair) =>
      pair.account.steps.filter(({ status }) => status === "succeeded").map((step) => ({ pair, step })),
    );
    const kept = lookAt(finished, ({ pair, step }) => {
      const later = pair.later?.steps.find(({ path }) => path === step.path);
      return later?.status === "succeeded" && JSON.stringify(later.output) === JSON.stringify(step.output)
        ? FINE
        : wrong(`Step ${step.path} had finished ${pair.when}, and ${pair.laterWhen} its end is another`);
    });
    return { looked: kept.looked, problems: [...told.problems, ...kept.problems] };
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
    return isAgain ? wrong(`In ${run.runId}, ${name} was done, and event ${seq} is ${type}`) : FINE;
  });
}

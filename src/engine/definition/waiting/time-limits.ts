import { assertPayload } from "../../../core/canonical-json.ts";
import { ConfigurationError } from "../../../core/errors.ts";
import { durationInWords } from "../../../core/job/duration.ts";
import type { Json } from "../../../core/json.ts";
import { assertOptions, type OptionNames } from "../../../core/naming/option-names.ts";
import { ALLOWED_ON_DUE } from "../../../core/run/due-wait.ts";
import type { NewWait, OnDue, PersonWaitKind, WaitClock } from "../../../core/wait.ts";
import { assertWaitMs } from "./received-message.ts";

/**
 * What happens to a question that nobody answers in time. Nothing is ever approved or settled by silence.
 *
 * @example
 * new Runner(clerk, { policy: { approve: ["external"], timeLimits: { approval: { afterMs: 86_400_000, onDue: "deny" } } } });
 */
export type TimeLimit = {
  /** How long people have, from when the question is asked. */
  readonly afterMs: number;
  /**
   * `"escalate"`: it stays open and is marked, for any question. `"deny"`: for approvals, possible duplicates and budgets.
   * `"fail"`: for questions; the call fails. `{ answer }`: for questions and escalations; this is the answer.
   */
  readonly onDue: "escalate" | "deny" | "fail" | { readonly answer: Json };
  /** How often people are reminded until then; never by default. */
  readonly remindEveryMs?: number;
};

/** Time limits by the kind of question. A kind without one waits for ever. */
export type TimeLimits = { readonly [K in PersonWaitKind]?: TimeLimit };

const LIMIT_NAMES = {
  afterMs: true,
  onDue: true,
  remindEveryMs: true,
} satisfies OptionNames<TimeLimit>;

const OTHER_LIMIT_NAMES = {
  ms: "afterMs",
  timeoutMs: "afterMs",
  onTimeout: "onDue",
  remindMs: "remindEveryMs",
};

const KIND_NAMES = {
  approval: true,
  possible_duplicate: true,
  in_doubt: true,
  escalation: true,
  question: true,
  budget: true,
} satisfies OptionNames<TimeLimits>;

/** Time limits, checked, in the form that the store uses. */
export type WaitClocks = { readonly [K in PersonWaitKind]?: WaitClock };

/** Checks `policy.timeLimits`. */
export function timeLimitsOf(given: TimeLimits = {}): WaitClocks {
  assertOptions("policy.timeLimits", given, KIND_NAMES, {
    approvals: "approval",
    human: "question",
    time: "a sleep has a time of its own.",
    message: "a receive has timeoutMs.",
  });
  const kinds = Object.keys(KIND_NAMES) as readonly PersonWaitKind[];
  return Object.fromEntries(
    kinds.flatMap((kind) => {
      const limit = given[kind];
      return limit === undefined ? [] : [[kind, timeLimitOf(`policy.timeLimits.${kind}`, kind, limit)]];
    }),
  );
}

/** Checks one time limit of a kind of question. */
export function timeLimitOf(what: string, kind: PersonWaitKind, limit: TimeLimit): WaitClock {
  assertOptions(what, limit, LIMIT_NAMES, OTHER_LIMIT_NAMES);
  const { afterMs, remindEveryMs } = limit;
  assertWaitMs(`${what} has afterMs`, afterMs);
  if (remindEveryMs !== undefined) {
    assertWaitMs(`${what} has remindEveryMs`, remindEveryMs);
    if (remindEveryMs < LEAST_REMINDER_MS)
      throw new ConfigurationError(
        `${what} has remindEveryMs ${remindEveryMs}: give at least ${LEAST_REMINDER_MS}.`,
      );
  }
  return {
    due: { inMs: afterMs },
    onDue: onDueOf(what, kind, limit),
    ...(remindEveryMs === undefined ? {} : { remindEveryMs }),
  };
}

/** Each reminder is a commit. */
const LEAST_REMINDER_MS = 1_000;

function onDueOf(what: string, kind: PersonWaitKind, { onDue, afterMs }: TimeLimit): OnDue {
  const given: unknown = onDue;
  const action = typeof given === "object" && given !== null && "answer" in given ? "answer" : given;
  const allowed = ALLOWED_ON_DUE[kind].map((each) =>
    each === "answer" ? "{ answer }" : JSON.stringify(each),
  );
  if (!ALLOWED_ON_DUE[kind].some((each) => each === action))
    throw new ConfigurationError(
      `${what} has onDue ${JSON.stringify(given)}: a wait of the kind ${kind} takes ${allowed.join(" or ")}.`,
    );
  const within = durationInWords(afterMs);
  if (typeof onDue === "object") {
    assertOptions(`${what}.onDue`, onDue, { answer: true });
    assertPayload(onDue.answer, `The answer of ${what}`);
    return { action: "answer", value: onDue.answer };
  }
  switch (onDue) {
    case "escalate":
      return { action: "escalate" };
    case "deny":
      return { action: "deny", why: `Nobody allowed it within ${within}.` };
    case "fail":
      return { action: "fail", why: `Nobody answered within ${within}.` };
  }
}

/** The wait with the time limit of its kind, unless it has one of its own. */
export function withTimeLimit(clocks: WaitClocks, wait: NewWait): NewWait {
  if (wait.kind === "time" || wait.kind === "message" || wait.due !== undefined) return wait;
  return { ...clocks[wait.kind], ...wait };
}

import type { Evidence } from "./evidence.ts";

/** The result of checking an invariant: how many items were checked, and the problems, in sentences. */
export type Finding = {
  /** 0 if there was nothing to check: a promise that was not tested is not proven, only unbroken. */
  readonly looked: number;
  readonly problems: readonly Problem[];
};

/** What is wrong in the evidence of a schedule. */
export type Problem = {
  readonly what: string;
  /** The tool that it concerns, if any. */
  readonly tool?: string;
};

/** A promise, and the check that it was kept. */
export type Invariant = {
  /** `effects-at-most-once` */
  readonly name: string;
  /** One sentence, for people. */
  readonly promise: string;
  readonly judge: (evidence: Evidence) => Finding;
};

/** A user's own invariant: returns the problem as a sentence, or nothing. */
export type OwnInvariant = (
  evidence: Evidence,
) => string | null | undefined | Promise<string | null | undefined>;

/** Checks each item, and collects the problems. */
export function checkEach<T>(items: Iterable<T>, check: (item: T) => readonly Problem[]): Finding {
  let looked = 0;
  const problems: Problem[] = [];
  for (const item of items) {
    looked += 1;
    problems.push(...check(item));
  }
  return { looked, problems };
}

export function wrong(what: string, tool?: string): readonly Problem[] {
  return [tool === undefined ? { what } : { what, tool }];
}

export const FINE: readonly Problem[] = [];

import type { Evidence } from "./evidence.ts";

/** What a look at the evidence came to: how many things were looked at, and what is wrong, in sentences. */
export type Finding = {
  /** 0 where there was nothing to look at: a promise that nobody put to the test is not kept, only unbroken. */
  readonly looked: number;
  readonly problems: readonly Problem[];
};

export type Problem = {
  readonly what: string;
  /** The tool that it is about, where it is about one. */
  readonly tool?: string;
};

/** A promise, and how to see whether it was kept. */
export type Invariant = {
  /** `effects-at-most-once` */
  readonly name: string;
  /** One sentence, for people. */
  readonly promise: string;
  readonly judge: (evidence: Evidence) => Finding;
};

/** An invariant of a user's own: what is wrong, in a sentence, or nothing. */
export type OwnInvariant = (
  evidence: Evidence,
) => string | null | undefined | Promise<string | null | undefined>;

/** Collects what a look at each of several things came to. */
export function lookAt<T>(things: Iterable<T>, judge: (thing: T) => readonly Problem[]): Finding {
  let looked = 0;
  const problems: Problem[] = [];
  for (const thing of things) {
    looked += 1;
    problems.push(...judge(thing));
  }
  return { looked, problems };
}

export function wrong(what: string, tool?: string): readonly Problem[] {
  return [tool === undefined ? { what } : { what, tool }];
}

export const FINE: readonly Problem[] = [];

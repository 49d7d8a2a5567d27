import type { StepPath } from "../step-path.ts";

// Which parts of its parent a fork begins with.

/** True for the forked step and the loops around it, which continue; other finished steps stay finished. */
export function continuesIn(path: StepPath, forked: StepPath): boolean {
  return path === forked || forked.startsWith(`${path}[`) || forked.startsWith(`${path}/`);
}

/** True if a fork has this decision of a loop: of a loop around the forked step, it has those of earlier iterations. */
export function isDecided(loop: StepPath, iteration: number, forked: StepPath): boolean {
  if (!forked.startsWith(`${loop}[`)) return true;
  return iteration < Number.parseInt(forked.slice(loop.length + 1), 10);
}

/** The outcome of a call. */
export type CallOutcome = {
  /** Calls of the same identity are the same effect. */
  readonly identity: string;
  readonly at: number;
  /** It failed, and may have happened all the same. */
  readonly isUncertain: boolean;
  readonly hasSucceeded: boolean;
};

/**
 * The calls that may have happened, as far as these outcomes show: a success clears the uncertain calls before it. A
 * later success of the parent run is not among them, and does not count for the fork.
 */
export function uncertainCalls<O extends CallOutcome>(outcomes: readonly O[]): readonly O[] {
  const uncertain = new Map<string, O[]>();
  for (const outcome of outcomes.toSorted((a, b) => a.at - b.at)) {
    const { identity, hasSucceeded, isUncertain } = outcome;
    if (hasSucceeded) uncertain.delete(identity);
    else if (isUncertain) uncertain.set(identity, [...(uncertain.get(identity) ?? []), outcome]);
  }
  return [...uncertain.values()].flat();
}

/** A stored artifact, as the log of a run has it. */
export type ArtifactVersion = {
  readonly name: string;
  readonly step: StepPath;
  readonly size: number;
  readonly hash: string;
  readonly at: number;
};

/** The last version of each artifact that one of the copied steps had stored. Takes the versions in their order. */
export function lastVersions(
  versions: readonly ArtifactVersion[],
  isCopied: (step: StepPath) => boolean,
): readonly ArtifactVersion[] {
  const copied = versions.filter(({ step }) => isCopied(step));
  return [...new Map(copied.map((version) => [version.name, version])).values()];
}

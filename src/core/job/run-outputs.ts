import type { RunSpec } from "./run-spec.ts";

type SpecArtifacts = RunSpec["artifacts"];

/** The files that must exist when the run ends. */
export function requiredOutputs({ expectedOutputs, finalOutput }: SpecArtifacts): readonly string[] {
  if (finalOutput === null || expectedOutputs.includes(finalOutput)) return expectedOutputs;
  return [...expectedOutputs, finalOutput];
}

/** The file that is the result of a run: the one that the contract names, or the only one; null if neither. */
export function finalOutputOf(artifacts: SpecArtifacts): string | null {
  const [first, ...others] = requiredOutputs(artifacts);
  return artifacts.finalOutput ?? (others.length === 0 ? (first ?? null) : null);
}

import type { Answer } from "../../api/client.ts";

export type Held = Answer<"getActivity">["held"][number];

export type Owner = {
  readonly owner: string;
  /** Without what distinguishes its starts. */
  readonly process: string;
  readonly runs: readonly Held[];
};

/** Who holds what, the one with most runs first; and what no worker holds, the longest first. */
export function heldRuns(held: readonly Held[]): {
  readonly owners: readonly Owner[];
  readonly left: readonly Held[];
} {
  const isLeft = ({ isInterrupted, owner }: Held): boolean => isInterrupted || owner === null;
  const byOwner = Map.groupBy(
    held.filter((run) => !isLeft(run)),
    ({ owner }) => owner ?? "",
  );
  const owners = [...byOwner].map(([owner, runs]) => ({ owner, process: processOf(owner), runs }));
  return {
    owners: owners.toSorted((a, b) => b.runs.length - a.runs.length || a.owner.localeCompare(b.owner)),
    left: held.filter(isLeft).toSorted((a, b) => b.silentMs - a.silentMs),
  };
}

/** `host/pid` of `host/pid/instance`. */
function processOf(owner: string): string {
  return owner.replace(/^(.+\/\d+)\/[^/]*$/, "$1");
}

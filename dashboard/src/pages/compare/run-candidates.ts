import type { RunHead } from "../../api/documents.ts";

export type Candidate = {
  readonly head: RunHead;
  readonly why: "its parent" | "its fork" | "a sibling" | "the same pipeline";
};

const ORDER: readonly Candidate["why"][] = ["its parent", "its fork", "a sibling", "the same pipeline"];

/** The runs that one is compared with: its relatives first, then others of its pipeline, newest first. */
export function runCandidates(head: RunHead, others: readonly RunHead[]): readonly Candidate[] {
  const unique = new Map(others.map((other) => [other.runId, other]));
  unique.delete(head.runId);
  return [...unique.values()]
    .map((other) => ({ head: other, why: relation(head, other) }))
    .toSorted((a, b) => ORDER.indexOf(a.why) - ORDER.indexOf(b.why));
}

function relation(head: RunHead, other: RunHead): Candidate["why"] {
  if (head.forkedFrom === other.runId) return "its parent";
  if (other.forkedFrom === head.runId) return "its fork";
  if (head.forkedFrom !== null && head.forkedFrom === other.forkedFrom) return "a sibling";
  return "the same pipeline";
}

import { visibleLine } from "../../../../../src/core/visible-text.ts";
import { counted } from "../../../words/money-words.ts";
import { longDurationWords } from "../../../words/time-words.ts";
import type { Life, Mark, Merged, Slice, TimelineWait } from "./timeline-documents.ts";

/** `web-1/4102` of `web-1/4102/k3x9`: what a person finds a process by. */
export function ownerWords(owner: string): string {
  const match = /^(.+)\/(\d+)\/[^/]+$/.exec(owner);
  return visibleLine(match === null ? owner : `${match[1] ?? ""}/${match[2] ?? ""}`);
}

export function sliceWords({ name, isCut, isOpen, start, end, outcome }: Slice): string {
  const how = isCut
    ? `cut off after ${longDurationWords(end - start)}`
    : isOpen
      ? "running"
      : longDurationWords(end - start);
  const outcomeWords = outcome === null || isCut ? "" : ` · ${visibleLine(outcome)}`;
  return `${visibleLine(name)} · ${how}${outcomeWords}`;
}

const MANY = { step: "steps", turn: "turns", model: "requests to models", tool: "tool calls" } as const;

export function blockWords({ category, count, cut }: Pick<Merged, "category" | "count" | "cut">): string {
  const cutWords = cut === 0 ? "" : `, ${cut} cut off`;
  return `${count} ${MANY[category]}${cutWords}`;
}

/** How a life ended, in words. */
export function lifeEndWords({ end, endStatus, resumedFrom }: Life): string {
  const begun = resumedFrom === "milestone" ? "from its milestone · " : "";
  switch (end) {
    case "open":
      return `${begun}at work`;
    case "died":
      return `${begun}died`;
    case "left":
      return `${begun}let go for another worker`;
    case "released":
      return `${begun}${endStatus === null ? "released" : visibleLine(endStatus)}`;
  }
}

const ASKED = {
  approval: "for an approval",
  possible_duplicate: "for an approval of a possible duplicate",
  in_doubt: "for a call in doubt to be settled",
  escalation: "for a person",
  question: "for an answer",
  budget: "for a higher budget",
  time: "for a time",
  message: "for a message",
} as const satisfies { readonly [K in TimelineWait["kind"]]: string };

/** `waited 14 m for an approval · ana`. */
export function waitWords({ kind, status, start, end, people }: TimelineWait, now: number): string {
  const verb = status === "open" ? "waits" : "waited";
  const by = people.length === 0 ? "" : ` · ${people.map(visibleLine).join(", ")}`;
  const how = status === "withdrawn" ? " · withdrawn" : by;
  return `${verb} ${longDurationWords((end ?? now) - start)} ${ASKED[kind]}${how}`;
}

const MARKS = {
  commit: ["commit", "commits"],
  checkpoint: ["checkpoint", "checkpoints"],
  lineage: ["new line of history", "new lines of history"],
  compaction: ["compaction", "compactions"],
  artifact: ["artifact", "artifacts"],
  crash: ["crash", "crashes"],
} as const satisfies { readonly [K in Mark["kind"]]: readonly [string, string] };

export function markWords({ kind, name, count }: Mark): string {
  const [one, many] = MARKS[kind];
  return count > 1 ? counted(count, one, many) : kind === "commit" ? one : visibleLine(name);
}

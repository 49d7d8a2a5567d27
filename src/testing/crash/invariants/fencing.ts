import type { Evidence, ProcessRecord } from "../evidence.ts";
import { checkEach, FINE, type Invariant, wrong } from "../invariant.ts";
import { allLines } from "./observations.ts";

export const writesUnderTheEpoch: Invariant = {
  name: "writes-under-the-epoch",
  promise: "Only the current owner of a run writes to it.",
  judge: ({ writes }) =>
    checkEach(writes, ({ intent, life, epoch, currentEpoch }) =>
      epoch === currentEpoch
        ? FINE
        : wrong(
            `Process ${life} did ${intent} under epoch ${epoch}, when the run was at epoch ${currentEpoch}`,
          ),
    ),
};

export const divergedIsSilent: Invariant = {
  name: "diverged-is-silent",
  promise:
    "A process whose prompt, model or tools differ from those that the run began with calls nothing outside.",
  judge: (evidence) =>
    checkEach(divergedLives(evidence), ({ number }) => {
      // What is sent to webhooks is about the run, and no part of it.
      const lines = allLines(evidence).filter(({ life, kind }) => life === number && kind !== "received");
      const called = lines.map((line) => ("tool" in line ? line.tool : "the model"));
      return called.length === 0
        ? FINE
        : wrong(
            `Process ${number} found that the run had diverged, but called ${[...new Set(called)].join(", ")}`,
          );
    }),
};

function divergedLives({ lives }: Evidence): readonly ProcessRecord[] {
  return lives.filter(({ end }) => end.kind === "threw" && end.isDiverged);
}

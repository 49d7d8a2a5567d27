import type { Evidence, LifeRecord } from "../evidence.ts";
import { FINE, type Invariant, lookAt, wrong } from "../invariant.ts";
import { allLines } from "./places.ts";

export const writesUnderTheEpoch: Invariant = {
  name: "writes-under-the-epoch",
  promise: "Only the worker that has the run now writes to it.",
  judge: ({ writes }) =>
    lookAt(writes, ({ intent, life, epoch, currentEpoch }) =>
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
    "A process that finds another prompt, model or tools than the run began with calls nothing outside.",
  judge: (evidence) =>
    lookAt(divergedLives(evidence), ({ number }) => {
      const lines = allLines(evidence).filter(({ life }) => life === number);
      const called = lines.map((line) => ("tool" in line ? line.tool : "the model"));
      return called.length === 0
        ? FINE
        : wrong(
            `Process ${number} found that the run had diverged, and called ${[...new Set(called)].join(", ")}`,
          );
    }),
};

function divergedLives({ lives }: Evidence): readonly LifeRecord[] {
  return lives.filter(({ end }) => end.kind === "threw" && end.isDiverged);
}

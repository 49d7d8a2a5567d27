import type { Evidence } from "../evidence.ts";
import { FINE, type Invariant, lookAt, wrong } from "../invariant.ts";
import type { Effect, SeenCall } from "../witness.ts";
import { allLines, keyName } from "./places.ts";
import { mayRunEndOtherwise } from "./same-end.ts";
import { excusedEffects } from "./stopped-before-sending.ts";

export const noMoreEffectsThanUndisturbed: Invariant = {
  name: "no-more-effects-than-undisturbed",
  promise: "However often a run is interrupted, no more happens outside than when nothing disturbs it.",
  judge: (evidence) => {
    const { undisturbed } = evidence;
    if (undisturbed === null) return { looked: 0, problems: [] };
    const expected = Map.groupBy(effectsOf(undisturbed), whatHappened);
    const judged = effectsOf(evidence).filter(({ runId }) => !mayRunEndOtherwise(evidence, runId));
    return lookAt(Map.groupBy(judged, whatHappened), ([what, effects]) => {
      const [was, is] = [expected.get(what)?.length ?? 0, effects.length];
      const tool = effects[0]?.tool ?? "";
      const keys = effects.map(({ key }) => keyName(key)).join(", ");
      return is <= was
        ? FINE
        : wrong(
            `${tool} happened ${is} times with the same arguments (keys ${keys}), and undisturbed it does ${was} times`,
            tool,
          );
    });
  },
};

function effectsOf(evidence: Evidence): readonly Effect[] {
  const lines = allLines(evidence);
  const excused = excusedEffects(evidence, lines);
  return lines.filter((line): line is Effect => {
    if (line.kind !== "effect" || line.isDropped || line.recovery === "repeat") return false;
    return (line.effect === "external" || line.effect === "memory") && !excused.has(line);
  });
}

function whatHappened({ runId, tool, fingerprint }: SeenCall): string {
  return `${runId} ${tool} ${fingerprint}`;
}

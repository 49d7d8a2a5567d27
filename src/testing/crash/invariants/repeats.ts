import type { Evidence } from "../evidence.ts";
import { checkEach, FINE, type Invariant, wrong } from "../invariant.ts";
import type { Effect, SeenCall } from "../witness.ts";
import { allLines, keyName } from "./observations.ts";
import { mayRunEndDifferently } from "./same-end.ts";
import { excusedEffects } from "./stopped-before-sending.ts";

export const noMoreEffectsThanUndisturbed: Invariant = {
  name: "no-more-effects-than-undisturbed",
  promise: "However often a run is interrupted, it has no more side effects than undisturbed.",
  judge: (evidence) => {
    const { undisturbed } = evidence;
    if (undisturbed === null) return { looked: 0, problems: [] };
    const expected = Map.groupBy(effectsOf(undisturbed), effectName);
    const checked = effectsOf(evidence).filter(({ runId }) => !mayRunEndDifferently(evidence, runId));
    return checkEach(Map.groupBy(checked, effectName), ([what, effects]) => {
      const [was, is] = [expected.get(what)?.length ?? 0, effects.length];
      const tool = effects[0]?.tool ?? "";
      const keys = effects.map(({ key }) => keyName(key)).join(", ");
      return is <= was
        ? FINE
        : wrong(
            `${tool} happened ${is} times with the same arguments (keys ${keys}), but undisturbed ${was} times`,
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

function effectName({ runId, tool, fingerprint }: SeenCall): string {
  return `${runId} ${tool} ${fingerprint}`;
}

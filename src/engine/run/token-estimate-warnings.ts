import { withoutIterations } from "../../core/step-path.ts";
import { rateEstimate } from "../../core/usage/estimate-rating.ts";
import type { ModelPort } from "../ports/model-port.ts";

/** What a provider has counted of a request, beside what was estimated of it. */
export type CountedRequest = {
  readonly step: string;
  readonly model: Pick<ModelPort, "provider" | "modelId">;
  readonly estimated: number;
  readonly counted: number;
};

/** Notices an estimate that is far from what the provider counts: once for each step and model of a run. */
export class TokenEstimateWarnings {
  readonly #warned = new Set<string>();

  /** What to warn of; null where there is nothing to compare, the figures are near, or it was said before. */
  warning({ step, model, estimated, counted }: CountedRequest): string | null {
    const { kind } = rateEstimate(estimated, counted);
    if (kind === "near" || kind === "no_count") return null;
    const name = `${model.provider}/${model.modelId}`;
    const known = JSON.stringify([withoutIterations(step), name]);
    if (this.#warned.has(known)) return null;
    this.#warned.add(known);
    const off =
      kind === "too_low"
        ? `${(counted / estimated).toFixed(1)} times too few`
        : `${(estimated / counted).toFixed(1)} times too many`;
    return `Step ${step}: ${name} counted ${counted} input tokens where ${estimated} were estimated, ${off}. Reservations, historyMaxTokens and maxResultTokens go by the estimate: give the Runner an \`estimateTokens\` that counts as this model does.`;
  }
}

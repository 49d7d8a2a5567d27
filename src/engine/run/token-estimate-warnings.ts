import { withoutIterations } from "../../core/step-path.ts";
import { rateEstimate } from "../../core/usage/estimate-rating.ts";
import type { ModelPort } from "../ports/model-port.ts";

/** The input tokens of a request, as estimated and as the provider counted them. */
export type CountedRequest = {
  readonly step: string;
  readonly model: Pick<ModelPort, "provider" | "modelId">;
  readonly estimated: number;
  readonly counted: number;
};

/** Warns of estimates that are far from the provider's count: once for each step and model of a run. */
export class TokenEstimateWarnings {
  readonly #warned = new Set<string>();

  /** The warning; null if there is no count, the figures are close, or this step and model were warned of already. */
  warning({ step, model, estimated, counted }: CountedRequest): string | null {
    const { kind } = rateEstimate(estimated, counted);
    if (kind === "near" || kind === "no_count") return null;
    const name = `${model.provider}/${model.modelId}`;
    const key = JSON.stringify([withoutIterations(step), name]);
    if (this.#warned.has(key)) return null;
    this.#warned.add(key);
    const off =
      kind === "too_low"
        ? `${(counted / estimated).toFixed(1)} times too few`
        : `${(estimated / counted).toFixed(1)} times too many`;
    return `Step ${step}: ${name} counted ${counted} input tokens where ${estimated} were estimated, ${off}. Reservations, historyMaxTokens and maxResultTokens use the estimate: give the Runner an \`estimateTokens\` that counts like this model.`;
  }
}

import type { LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import type { LiveListener } from "../../core/turn/live-part.ts";

/** A whole answer of the provider. */
export type ProviderAnswer = Pick<
  LanguageModelV4GenerateResult,
  "content" | "finishReason" | "usage" | "warnings"
> & {
  /** The provider's own id. The SDK would make one up if there is none. */
  readonly responseId: string | null;
  /** How the answer exceeds a limit, as the end of a sentence; then nothing of it is used. */
  readonly excess: string | null;
};

export type ExchangeOptions = {
  readonly call: Omit<LanguageModelV4CallOptions, "abortSignal">;
  readonly signal: AbortSignal;
  /** Gets the parts of the answer as they arrive; null asks for a whole answer. */
  readonly live: LiveListener | null;
  readonly idleTimeoutMs: number;
};

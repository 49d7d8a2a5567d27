import type { Json, JsonObject } from "../../core/json.ts";
import type { AssistantPart, FileReference, Message } from "../../core/message.ts";
import type { LiveListener } from "../../core/turn/live-part.ts";
import type { Usage } from "../../core/usage/usage.ts";

/**
 * A model, as the engine sees it: one request, one response. The loop and the retries are the engine's, so a port
 * has neither.
 */
export interface ModelPort {
  readonly provider: string;
  readonly modelId: string;
  /** True if `respond` passes on its answers as they arrive. */
  readonly streams?: boolean;
  /** Loads what the model needs. Called before a run is started or resumed: what is missing must not make it fail. */
  load?(): Promise<void>;
  /**
   * Rejects with a `ModelCallError` that records how far the request got. With `live`, a port that can stream passes on the
   * answer as it arrives; one that cannot ignores it. Only the response counts: a port never resolves with a part of one.
   */
  respond(request: ModelRequest, live?: LiveListener): Promise<ModelResponse>;
}

/** One request to a model. */
export type ModelRequest = {
  readonly instructions: string;
  /** Without the instructions. A `system` message in the list replaces messages that were left out. */
  readonly messages: readonly RequestMessage[];
  readonly tools: readonly ModelTool[];
  /** The JSON Schema of the answer; null for a text. The engine validates the answer. */
  readonly outputSchema: JsonObject | null;
  readonly settings: ModelSettings;
  /** Aborts with a reason: the engine's timeout or the caller's cancellation. */
  readonly signal: AbortSignal;
  /** How long an answer that is streamed may pause while the model writes; 60,000 ms if it is not given. */
  readonly idleTimeoutMs?: number;
};

/** A message of a request. What a user says is a text, or a list of texts and files. */
export type RequestMessage = Message<RequestFile>;

/** A file of a user's message, as a port gets it: with its bytes, which are the same in every attempt. */
export type RequestFile = FileReference & { readonly data: Uint8Array };

/** A tool, as a request offers it to the model. */
export type ModelTool = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Returns the parsed input, or a sentence for the model about what is wrong with it. */
  validate(input: unknown): Promise<Validated>;
};

type Validated = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: string };

/** The settings of a request. They are part of the fingerprint. */
export type ModelSettings = {
  /** The output cap of a request; 4,096 by default. */
  readonly maxOutputTokens: number;
  /** How much the answers vary; by default the provider's. */
  readonly temperature?: number;
  /** The share of likely tokens to choose from; by default the provider's. */
  readonly topP?: number;
  /** A seed for providers that take one; by default none. */
  readonly seed?: number;
  /** Texts that end an answer. */
  readonly stopSequences?: readonly string[];
  /** How much the model reasons, such as `low` or `high`; by default the provider's. */
  readonly reasoning?: string;
  /** Options for one provider, by its name. */
  readonly providerOptions?: JsonObject;
};

/** The response of a model. */
export type ModelResponse = {
  /** JSON, ready to be stored and sent back in the next request. */
  readonly content: readonly AssistantPart[];
  readonly finishReason: string;
  /** Null if the provider reported no usage. */
  readonly usage: Usage | null;
  /** Tool calls with invalid arguments or an unknown tool: call id → a sentence for the model. */
  readonly invalidCalls: { readonly [toolCallId: string]: string };
  /** The provider's id of the response; null if it has none. */
  readonly responseId: string | null;
};

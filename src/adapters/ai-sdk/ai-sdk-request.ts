// One request to a model of the AI SDK.

import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { LanguageModel } from "ai";
import type { LiveListener } from "../../core/turn/live-part.ts";
import type { ModelRequest, ModelResponse } from "../../engine/ports/model-port.ts";
import { watchNetwork } from "../net/network-attempt.ts";
import { type ModelExtras, type SharedCall, SharedCalls } from "./ai-sdk-call-options.ts";
import { exchange } from "./ai-sdk-exchange.ts";
import { emptyAnswer, excessiveAnswer, modelCallFailed } from "./ai-sdk-failure.ts";
import type { AiSdkPackage } from "./ai-sdk-package.ts";
import { copyOf, promptOf } from "./ai-sdk-prompt.ts";
import { isEmptyAnswer, responseOf } from "./ai-sdk-response.ts";
import { Warnings } from "./ai-sdk-warnings.ts";

export type ModelObject = Exclude<LanguageModel, string>;

/** Without parts for this long while the model writes, an answer that is streamed counts as broken off. */
const DEFAULT_IDLE_MS = 60_000;

/** One model of the AI SDK, and what its requests share. */
export class AiSdkRequests {
  readonly #name: string;
  readonly #ai: AiSdkPackage;
  readonly #model: LanguageModelV4;
  readonly #extras: ModelExtras;
  readonly #shared: SharedCalls;
  readonly #warnings = new Warnings();

  /** `name` is that of the model, for errors. */
  constructor(name: string, ai: AiSdkPackage, model: ModelObject, extras: ModelExtras) {
    this.#name = name;
    this.#ai = ai;
    // Without a middleware this only converts the models of earlier versions.
    this.#model = ai.wrapLanguageModel({ model, middleware: [] });
    this.#extras = extras;
    this.#shared = new SharedCalls(extras);
  }

  /** Makes one request. */
  async ask(request: ModelRequest, live: LiveListener | null): Promise<ModelResponse> {
    const { shared, call } = await this.#prepare(request);
    const { response, excess } = await this.#send(request, shared, call, live);
    if (excess !== null) throw excessiveAnswer(this.#name, excess, response);
    if (isEmptyAnswer(response.content)) throw emptyAnswer(this.#name, response);
    return response;
  }

  /** Everything that may fail before something is sent; files are downloaded here. */
  async #prepare(request: ModelRequest) {
    const [ai, model, extras] = [this.#ai, this.#model, this.#extras];
    try {
      const shared = await this.#shared.of(ai, model, request);
      const prompt = await promptOf({ ai, model, extras, shared }, request);
      // Copied: a middleware may change what it gets.
      const { tools, headers, providerOptions, ...options } = shared.options;
      const call = {
        ...options,
        prompt,
        ...(tools === undefined ? {} : { tools: tools.map((tool) => ({ ...tool })) }),
        ...(headers === undefined ? {} : { headers: { ...headers } }),
        ...(providerOptions === undefined ? {} : { providerOptions: copyOf(providerOptions) }),
      };
      return { shared, call };
    } catch (error) {
      const { signal } = request;
      throw modelCallFailed(this.#name, error, { began: false, network: "unseen", signal });
    }
  }

  #send(
    request: ModelRequest,
    shared: SharedCall,
    call: LanguageModelV4CallOptions,
    live: LiveListener | null,
  ): Promise<{ readonly response: ModelResponse; readonly excess: string | null }> {
    const { signal, idleTimeoutMs = DEFAULT_IDLE_MS } = request;
    const [ai, model] = [this.#ai, this.#model];
    let began = false;
    return watchNetwork(async (network) => {
      try {
        signal.throwIfAborted();
        began = true;
        const answer = await exchange(model, { call, signal, live, idleTimeoutMs });
        await this.#warnings.report(ai, model, answer.warnings);
        const response = await responseOf({ ai, model, shared }, request, answer);
        return { response, excess: answer.excess };
      } catch (error) {
        throw modelCallFailed(this.#name, error, { began, network: network.progress, signal });
      }
    });
  }
}

import { ConfigurationError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { StepPath } from "../../core/step-path.ts";
import { frozenJson } from "../../session/frozen-json.ts";
import type { GranularState, Store } from "../../store/store.ts";

/** The run's context, and the state of the last agent before now. */
export type ContextWithGranularState = JsonObject & { readonly granularState?: GranularState };

/** The kind of the steps that have such a state. */
const AGENT = "turn-loop";

/** What the last granular step of a run came to, or is at. */
export async function lastGranularState(store: Store, runId: string): Promise<GranularState | null> {
  for (const { path, kind } of (await store.listSteps(runId)).toReversed()) {
    const state = kind === AGENT ? await store.readGranularState(runId, path) : null;
    if (state !== null) return state;
  }
  return null;
}

/** The same for the steps of a run that come after it: read once, however many of them look. */
export class LatestGranularState {
  readonly #store: Store;
  readonly #runId: string;
  /** Undefined: not looked for so far. */
  #path: StepPath | null | undefined;
  #state: GranularState | null = null;

  constructor(store: Store, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /** An agent begins or continues: whatever was known is not the latest any more. */
  begins(path: StepPath): void {
    this.#path = path;
    this.#state = null;
  }

  async read(): Promise<GranularState | null> {
    if (this.#path === null || this.#state !== null) return this.#state;
    const state =
      this.#path === undefined
        ? await lastGranularState(this.#store, this.#runId)
        : await this.#store.readGranularState(this.#runId, this.#path);
    if (state === null) this.#path ??= null;
    // Nobody can change it, so all may have the same.
    this.#state = state === null ? null : (frozenJson(state) as GranularState);
    return this.#state;
  }

  /**
   * A context as code is to see it. The state is in no copy of it and is never stored with it: the history is in the store
   * already, and a copy with every step that follows would grow without end.
   */
  async withGranularState(context: JsonObject): Promise<ContextWithGranularState> {
    const state = await this.read();
    if (state === null) return context;
    return Object.defineProperty({ ...context }, "granularState", {
      enumerable: false,
      configurable: true,
      get: () => state,
      set: () => {
        throw new ConfigurationError(
          "context.granularState is the state of the last agent, and cannot be changed: keep yours under another name.",
        );
      },
    });
  }
}

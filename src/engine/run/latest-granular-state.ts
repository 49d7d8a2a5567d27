import { ConfigurationError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { StepPath } from "../../core/step-path.ts";
import { frozenJson } from "../../session/frozen-json.ts";
import type { GranularState, Store } from "../../store/store.ts";

/** The run's context, and the state of its last agent. */
export type ContextWithGranularState = JsonObject & { readonly granularState?: GranularState };

/** The kinds of the steps that have a granular state. */
const AGENT_KINDS: readonly string[] = ["turn-loop", "conversation"];

/** The state of the last granular step of a run, finished or not. */
export async function lastGranularState(store: Store, runId: string): Promise<GranularState | null> {
  for (const { path, kind } of (await store.listSteps(runId)).toReversed()) {
    const state = AGENT_KINDS.includes(kind) ? await store.readGranularState(runId, path) : null;
    if (state !== null) return state;
  }
  return null;
}

/** The state of the last agent, for the steps after it. It is read from the store once, however many steps use it. */
export class LatestGranularState {
  readonly #store: Store;
  readonly #runId: string;
  /** Null: the run has none. Undefined: not looked up yet. */
  #path: StepPath | null | undefined;
  #state: GranularState | null = null;

  constructor(store: Store, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /** Called when an agent begins or continues: its state is the latest from now on. */
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
    // Frozen, so all steps can share it.
    this.#state = state === null ? null : (frozenJson(state) as GranularState);
    return this.#state;
  }

  /**
   * The context for user code, with the state as a property that is neither copied nor stored: the history is already in
   * the store, and a copy with every later step would grow without end.
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

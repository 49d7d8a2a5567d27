import { basename } from "node:path";
import { blobReferenceOf } from "../../core/blob-reference.ts";
import { isJson } from "../../core/canonical-json.ts";
import { ModelCallError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { textOf } from "../../core/message.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { LiveListener } from "../../core/turn/live-part.ts";
import { isUncharged } from "../../core/turn/model-retry.ts";
import { usageOf } from "../../core/usage/usage.ts";
import type { PreparedTool } from "../../engine/definition/prepared-tool.ts";
import type { ToolCallContext } from "../../engine/definition/tool.ts";
import type { ModelPort, ModelRequest, ModelResponse } from "../../engine/ports/model-port.ts";
import { DIRECT_EFFECTS, type EffectsPort, type ModelAttemptId } from "../../engine/run/effects-port.ts";
import { wholeText } from "../../export/text-pieces.ts";
import type { FileContent } from "../../store/guarded-folder.ts";
import type { Store } from "../../store/store.ts";
import { faultError, type ModelFaults } from "./model-fault.ts";
import {
  type ExecuteStandIn,
  type ModelStandInContext,
  modelStandIn,
  type Scenario,
  type StandInContext,
} from "./scenario.ts";
import type { Activity, SimulatedProcess } from "./simulated-process.ts";
import { type Effect, fingerprintOf, heardFile, type SeenCall, type Witness } from "./witness.ts";

/** An answer in pieces, as its provider knows it. */
type StreamedText = { hasPieces: boolean; text: string | null };

/** Shared by the outside systems of all processes. */
export type SharedOutside = {
  readonly scenario: Scenario;
  readonly witness: Witness;
  /** A separate connection: it reads only what is durable. */
  readonly observer: Store;
  readonly activity: Activity;
  readonly faults: ModelFaults;
};

/** The outside of one process: a point before and after each call, stand-ins that serve it, and a witness that records it. */
export class SimulatedOutside implements EffectsPort {
  readonly #world: SharedOutside;
  readonly #life: SimulatedProcess;

  constructor(world: SharedOutside, life: SimulatedProcess) {
    this.#world = world;
    this.#life = life;
  }

  ask(
    model: ModelPort,
    request: ModelRequest,
    place: ModelAttemptId,
    live?: LiveListener,
  ): Promise<ModelResponse> {
    return this.#life.call("model", async () => {
      const seen = { life: this.#life.number, ...place };
      this.#world.witness.record({ kind: "asked", ...seen, heard: heardIn(request) });
      try {
        return await this.#answer(model, request, place, live);
      } catch (error) {
        if (ModelCallError.isInstance(error)) this.#recordFailure(seen, error.details);
        throw error;
      }
    });
  }

  async #answer(
    model: ModelPort,
    request: ModelRequest,
    place: ModelAttemptId,
    live: LiveListener | undefined,
  ): Promise<ModelResponse> {
    const life = this.#life.number;
    const streamed: StreamedText = { hasPieces: false, text: null };
    const context = this.#modelContext(streamed);
    const fault = this.#world.faults(life, place);
    if (fault === "silent") return context.hang(request.signal);
    if (fault !== null && fault !== "answer-lost") throw faultError(fault);
    const answer = modelStandIn(this.#world.scenario.model ?? model);
    const response = await answer(request, place, context, live);
    const usage = usageOf(response.usage, { hasContent: response.content.length > 0 });
    const finished = streamed.hasPieces ? streamed.text : textOf(response.content);
    this.#world.witness.record({ kind: "answered", life, ...place, usage, finished });
    if (fault !== null) throw faultError(fault);
    return response;
  }

  /** The provider knows whether it refused, or answered with a response that cannot be used. */
  #recordFailure(seen: ModelAttemptId & { readonly life: number }, details: ModelCallError["details"]): void {
    const { usage } = details;
    if (usage !== undefined) this.#world.witness.record({ kind: "answered", ...seen, usage, finished: null });
    else if (isUncharged(details)) this.#world.witness.record({ kind: "refused", ...seen });
  }

  execute(tool: PreparedTool, input: unknown, call: ToolCallContext): Promise<unknown> {
    return this.#life.call(`tool.${tool.name}`, async (nth) => {
      const seen = this.#seen(tool, input, call, nth);
      const row = await this.#world.observer.getToolCall(call.toolCallId);
      this.#world.witness.record({ kind: "entered", ...seen, journaled: row?.status === "running" });
      const key = new KeyWatch(this.#abandonOnDeath(call), input);
      let isRecorded = false;
      const effect = (result: Json = null) => {
        isRecorded = true;
        this.#recordEffect(seen, { keySeen: key.isSeen, result });
      };
      const result = await this.#executor(tool)(input as never, key.context, this.#standInContext(effect));
      if (!isRecorded)
        this.#recordEffect(seen, { keySeen: key.isSeen, result: isJson(result) ? result : null });
      return result;
    });
  }

  reconcile(tool: PreparedTool, input: unknown, call: ToolCallContext): Promise<unknown> {
    return this.#life.call(`reconcile.${tool.name}`, async (nth) => {
      const context = this.#standInContext(() => undefined);
      const found = await this.#lookUp(tool)(input as never, this.#abandonOnDeath(call), context);
      this.#world.witness.record({
        kind: "looked",
        ...this.#seen(tool, input, call, nth),
        found: foundIn(found),
      });
      return found;
    });
  }

  /** Content that comes in pieces is read before the point: the process reads it, and may die while it does. */
  async writeFile(path: string, given: FileContent): Promise<void> {
    const isWhole = typeof given === "string" || given instanceof Uint8Array;
    const content = isWhole ? given : await wholeText(given);
    return this.#life.call(`file.${basename(path)}`, () => DIRECT_EFFECTS.writeFile(path, content));
  }

  #executor(tool: PreparedTool): ExecuteStandIn {
    const standIn = ownProperty(this.#world.scenario.tools ?? {}, tool.name);
    return (typeof standIn === "object" ? standIn.execute : standIn) ?? tool.execute;
  }

  /** A stand-in for a tool stands in for its look-up too: no real system knows of the simulated effect. */
  #lookUp(tool: PreparedTool): ExecuteStandIn {
    const standIn = ownProperty(this.#world.scenario.tools ?? {}, tool.name);
    const reconcile = typeof standIn === "object" ? standIn.reconcile : undefined;
    if (reconcile !== undefined) return reconcile;
    const hasStandIn = typeof standIn === "function" || standIn?.execute !== undefined;
    if (!hasStandIn) return (input, call) => tool.reconcile?.(input, call);
    return (_, { idempotencyKey }, outside) => {
      const effect = outside.happened(idempotencyKey);
      return effect === null ? { status: "absent" } : { status: "done", result: effect.result };
    };
  }

  /** A system that deduplicates by key accepts each key once, if it is given the key at all. */
  #recordEffect(seen: SeenCall, { keySeen, result }: Pick<Effect, "keySeen" | "result">): void {
    const { witness } = this.#world;
    const isDeduplicating = seen.recovery === "keyed" && keySeen;
    const isDropped = isDeduplicating && witness.effectsOf(seen.key).some((effect) => effect.keySeen);
    witness.record({ kind: "effect", ...seen, keySeen, isDropped, result });
  }

  #seen(
    { name, effect, recovery, keyProperty }: PreparedTool,
    input: unknown,
    call: ToolCallContext,
    nth: number,
  ): SeenCall {
    const { runId, toolCallId, attempt, epoch, idempotencyKey: key } = call;
    const payload = isJson(input) ? withoutKey(input, keyProperty) : null;
    const fingerprint = fingerprintOf(name, payload);
    return {
      life: this.#life.number,
      nth,
      runId,
      toolCallId,
      tool: name,
      attempt,
      epoch,
      key,
      fingerprint,
      effect,
      recovery,
    };
  }

  #standInContext(effect: (result?: Json) => void): StandInContext {
    const { witness, observer, activity } = this.#world;
    return {
      effect,
      happened: (key) => witness.effectsOf(key)[0] ?? null,
      hang: (signal) => idle(activity, "hanging", Promise.race([aborted(signal), this.#rejectOnDeath()])),
      take: (ms, signal) =>
        idle(activity, "inFlight", Promise.race([this.#life.sleep(ms, signal), this.#rejectOnDeath()])),
      store: observer,
    };
  }

  #modelContext(streamed: StreamedText): ModelStandInContext {
    return {
      ...this.#standInContext(() => undefined),
      piece: (show) => {
        streamed.hasPieces = true;
        const shown = this.#life.call("model.piece", show);
        shown.catch(() => undefined);
        return idle(this.#world.activity, "inFlight", Promise.race([shown, this.#rejectOnDeath()]));
      },
      finish: (text) => {
        streamed.text = text;
      },
    };
  }

  /** Requests of a tool to its process (to store an id, to read a file) are rejected once the process is dead. */
  #abandonOnDeath(call: ToolCallContext): ToolCallContext {
    return new Proxy(call, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          const requested: unknown = Reflect.apply(member, target, args);
          if (!(requested instanceof Promise)) return requested;
          const answer = idle(
            this.#world.activity,
            "inFlight",
            Promise.race([requested, this.#rejectOnDeath()]),
          );
          answer.catch(() => undefined);
          return answer;
        };
      },
    });
  }

  /** So that no outside system waits for a dead process. */
  async #rejectOnDeath(): Promise<never> {
    await this.#life.death;
    throw new Error("The process that asked is dead.");
  }
}

/** A call that waits for time to pass does not count as in flight. */
async function idle<T>(activity: Activity, how: "hanging" | "inFlight", waiting: Promise<T>): Promise<T> {
  activity.inFlight -= 1;
  if (how === "hanging") activity.hanging += 1;
  try {
    return await waiting;
  } finally {
    activity.inFlight += 1;
    if (how === "hanging") activity.hanging -= 1;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

function withoutKey(input: Json, property: string | null): Json {
  if (property === null || !isJsonObject(input)) return input;
  const { [property]: _, ...rest } = input;
  return rest;
}

function foundIn(reconciliation: unknown): boolean | null {
  if (!isJsonObject(reconciliation)) return null;
  if (reconciliation.status === "done") return true;
  return reconciliation.status === "absent" ? false : null;
}

/** Detects whether a tool reads its key: one that does not cannot pass it on. */
class KeyWatch {
  readonly context: ToolCallContext;
  #isSeen: boolean;

  constructor(call: ToolCallContext, input: unknown) {
    this.#isSeen = isJson(input) && JSON.stringify(input).includes(call.idempotencyKey);
    this.context = new Proxy(call, {
      get: (target, name) => {
        if (name === "idempotencyKey") this.#isSeen = true;
        return Reflect.get(target, name, target) as unknown;
      },
    });
  }

  get isSeen(): boolean {
    return this.#isSeen;
  }
}

/** What users have said in a request. */
function heardIn({ messages }: ModelRequest): string[] {
  return messages.flatMap((message) => {
    if (message.role !== "user") return [];
    if (typeof message.content === "string") return [message.content];
    // Of a file, what its bytes are: those that the request has, not those that it names.
    return message.content.map((part) =>
      part.type === "text" ? part.text : heardFile({ ...part, ...blobReferenceOf(part.data) }),
    );
  });
}

import { basename } from "node:path";
import { isJson } from "../../core/canonical-json.ts";
import { ModelCallError } from "../../core/errors.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import { ownProperty } from "../../core/own-property.ts";
import { usageOf } from "../../core/usage/usage.ts";
import type { PreparedTool } from "../../engine/definition/prepared-tool.ts";
import type { ToolCallContext } from "../../engine/definition/tool.ts";
import type { ModelPort, ModelRequest, ModelResponse } from "../../engine/ports/model-port.ts";
import { DIRECT, type ModelCallPlace, type Outside } from "../../engine/run/effects-port.ts";
import { wholeText } from "../../export/text-pieces.ts";
import type { FileContent } from "../../store/guarded-folder.ts";
import type { Store } from "../../store/store.ts";
import type { Activity, Life } from "./life.ts";
import { faultError, type ModelFaults } from "./model-fault.ts";
import { type ExecuteStandIn, modelStandIn, type OtherSide, type Scenario } from "./scenario.ts";
import { fingerprintOf, type SeenCall, type Witness } from "./witness.ts";

/** What everything outside of the processes shares. */
export type OutsideWorld = {
  readonly scenario: Scenario;
  readonly witness: Witness;
  /** A connection of its own: what it reads is durable. */
  readonly observer: Store;
  readonly activity: Activity;
  readonly faults: ModelFaults;
};

/** The doors of one process: a point before and after each call, stand-ins behind them, and a witness that writes it down. */
export class SimulatedOutside implements Outside {
  readonly #world: OutsideWorld;
  readonly #life: Life;

  constructor(world: OutsideWorld, life: Life) {
    this.#world = world;
    this.#life = life;
  }

  ask(model: ModelPort, request: ModelRequest, place: ModelCallPlace): Promise<ModelResponse> {
    return this.#life.through("model", async () => {
      const seen = { life: this.#life.number, ...place };
      this.#world.witness.tell({ kind: "asked", ...seen });
      try {
        return await this.#answer(model, request, place);
      } catch (error) {
        if (error instanceof ModelCallError) this.#tellFailure(seen, error.details);
        throw error;
      }
    });
  }

  async #answer(model: ModelPort, request: ModelRequest, place: ModelCallPlace): Promise<ModelResponse> {
    const life = this.#life.number;
    const otherSide = this.#otherSide(() => undefined);
    const fault = this.#world.faults(life, place);
    if (fault === "silent") return otherSide.hang(request.signal);
    if (fault !== null && fault !== "answer-lost") throw faultError(fault);
    const answer = modelStandIn(this.#world.scenario.model ?? model);
    const response = await answer(request, place, otherSide);
    const usage = usageOf(response.usage, { hasContent: response.content.length > 0 });
    this.#world.witness.tell({ kind: "answered", life, ...place, usage });
    if (fault !== null) throw faultError(fault);
    return response;
  }

  /** A provider knows whether it has refused, or has answered with what nobody can use. */
  #tellFailure(seen: ModelCallPlace & { readonly life: number }, details: ModelCallError["details"]): void {
    const { kind, usage } = details;
    if (usage !== undefined) this.#world.witness.tell({ kind: "answered", ...seen, usage });
    else if (kind === "rejected" || kind === "rate_limited" || kind === "not_sent")
      this.#world.witness.tell({ kind: "refused", ...seen });
  }

  execute(tool: PreparedTool, input: unknown, call: ToolCallContext): Promise<unknown> {
    return this.#life.through(`tool.${tool.name}`, async (nth) => {
      const seen = this.#seen(tool, input, call, nth);
      const row = await this.#world.observer.getToolCall(call.toolCallId);
      this.#world.witness.tell({ kind: "entered", ...seen, journaled: row?.status === "running" });
      const key = new KeyWatch(this.#servedBy(call), input);
      let hasSpoken = false;
      const effect = (result: Json = null) => {
        hasSpoken = true;
        this.#happen(seen, key.isSeen, result);
      };
      const result = await this.#executor(tool)(input as never, key.context, this.#otherSide(effect));
      if (!hasSpoken) this.#happen(seen, key.isSeen, isJson(result) ? result : null);
      return result;
    });
  }

  reconcile(tool: PreparedTool, input: unknown, call: ToolCallContext): Promise<unknown> {
    return this.#life.through(`reconcile.${tool.name}`, async (nth) => {
      const other = this.#otherSide(() => undefined);
      const found = await this.#lookUp(tool)(input as never, this.#servedBy(call), other);
      this.#world.witness.tell({
        kind: "looked",
        ...this.#seen(tool, input, call, nth),
        found: foundIn(found),
      });
      return found;
    });
  }

  /** What comes in pieces is made before the door: its reader is the process, which may die on the way. */
  async writeFile(path: string, given: FileContent): Promise<void> {
    const isWhole = typeof given === "string" || given instanceof Uint8Array;
    const content = isWhole ? given : await wholeText(given);
    return this.#life.through(`file.${basename(path)}`, () => DIRECT.writeFile(path, content));
  }

  #executor(tool: PreparedTool): ExecuteStandIn {
    const standIn = ownProperty(this.#world.scenario.tools ?? {}, tool.name);
    return (typeof standIn === "object" ? standIn.execute : standIn) ?? tool.execute;
  }

  /** Whoever stands in for what a tool does stands in for its look-up: nobody real knows of what happened here. */
  #lookUp(tool: PreparedTool): ExecuteStandIn {
    const standIn = ownProperty(this.#world.scenario.tools ?? {}, tool.name);
    const stoodIn = typeof standIn === "object" ? standIn.reconcile : undefined;
    if (stoodIn !== undefined) return stoodIn;
    const isStoodIn = typeof standIn === "function" || standIn?.execute !== undefined;
    if (!isStoodIn) return (input, call) => tool.reconcile?.(input, call);
    return (_, { idempotencyKey }, outside) => {
      const effect = outside.happened(idempotencyKey);
      return effect === null ? { status: "absent" } : { status: "done", result: effect.result };
    };
  }

  /** A side that knows keys takes each once, where it is told the key at all. */
  #happen(seen: SeenCall, keySeen: boolean, result: Json): void {
    const { witness } = this.#world;
    const knowsKeys = seen.recovery === "keyed" && keySeen;
    const isDropped = knowsKeys && witness.effectsOf(seen.key).some((effect) => effect.keySeen);
    witness.tell({ kind: "effect", ...seen, keySeen, isDropped, result });
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

  #otherSide(effect: (result?: Json) => void): OtherSide {
    const { witness, observer, activity } = this.#world;
    return {
      effect,
      happened: (key) => witness.effectsOf(key)[0] ?? null,
      hang: (signal) => idle(activity, "hanging", Promise.race([aborted(signal), this.#dies()])),
      take: (ms, signal) =>
        idle(activity, "underWay", Promise.race([this.#life.sleeps(ms, signal), this.#dies()])),
      store: observer,
    };
  }

  /** What the other side asks of the process (to keep an id, to read a file) has no answer once that is dead. */
  #servedBy(call: ToolCallContext): ToolCallContext {
    return new Proxy(call, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          const asked: unknown = Reflect.apply(member, target, args);
          if (!(asked instanceof Promise)) return asked;
          const answer = idle(this.#world.activity, "underWay", Promise.race([asked, this.#dies()]));
          answer.catch(() => undefined);
          return answer;
        };
      },
    });
  }

  /** Whoever served a process that is dead need not wait for it. */
  async #dies(): Promise<never> {
    await this.#life.death;
    throw new Error("The process that asked is dead.");
  }
}

/** While it waits for time to go by, nobody is at work. */
async function idle<T>(activity: Activity, how: "hanging" | "underWay", waiting: Promise<T>): Promise<T> {
  activity.underWay -= 1;
  if (how === "hanging") activity.hanging += 1;
  try {
    return await waiting;
  } finally {
    activity.underWay += 1;
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

/** Notices whether a tool looks at its key: one that does not cannot hand it to the other side. */
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

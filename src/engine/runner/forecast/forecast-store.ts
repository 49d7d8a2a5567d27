import { createHash } from "node:crypto";
import { type Change, PawlError } from "../../../core/errors.ts";
import { ROOT_PATH, type StepPath } from "../../../core/step-path.ts";
import { assertDroppable } from "../../../core/turn/turn-decision.ts";
import { fingerprintChanges, hashChanges } from "../../../core/turn/turn-fingerprint.ts";
import { Quota } from "../../../core/usage/quota.ts";
import { addAmount } from "../../../core/usage/usage.ts";
import {
  type ArtifactRecord,
  type Conversation,
  isStoreIntent,
  type LeftBehind,
  type NewStep,
  type Receipt,
  type RunRecord,
  type StepRecord,
  type Store,
  type SummaryOpening,
  type ToolCallAttempt,
  type ToolCallRecord,
} from "../../../store/store.ts";

/** Ends a forecast: the next operation would have an effect, and is not performed. */
export class ForecastEnd extends PawlError {
  readonly code = "forecast_end";
  constructor() {
    super("A forecast ends before the first effect.", {});
  }
}

/** The changes of an agent that a resume accepts, and what identifies them. */
export type AcceptedChanges = { readonly changes: readonly Change[]; readonly changesHash: string };

/** A step that would be entered; `isBegun` if it was begun before. */
export type EnteredStep = { readonly path: StepPath; readonly phase: string; readonly isBegun: boolean };

/**
 * The store as the next worker would find it. Writes of the executors before the first effect are remembered in memory and
 * read back, not stored. Any other write ends the forecast.
 */
export class ForecastStore {
  /** The store that the executors get. */
  readonly store: Store;
  readonly entered: EnteredStep[] = [];
  /** The changes that would be accepted in the step entered last; null if there are none. */
  accepted: AcceptedChanges | null = null;
  /** The calls of a response that would be dropped. */
  dropped: readonly ToolCallRecord[] = [];
  /** The turn whose model call, or the summary before it, would be reserved for. */
  opening: (SummaryOpening & { readonly isSummary: boolean }) | null = null;
  readonly #store: Store;
  readonly #run: Pick<RunRecord, "runId" | "limit" | "charged" | "reserved">;
  readonly #unsent: LeftBehind["unsent"];
  readonly #conversations = new Map<number, Partial<Conversation>>();
  readonly #artifacts = new Map<string, { readonly record: ArtifactRecord; readonly bytes: Uint8Array }>();

  constructor(
    store: Store,
    run: Pick<RunRecord, "runId" | "limit" | "charged" | "reserved">,
    unsent: LeftBehind["unsent"],
  ) {
    this.#store = store;
    this.#run = run;
    this.#unsent = unsent;
    const own: Partial<Store> = { ...this.#reads(), ...this.#intents() };
    this.store = new Proxy(store, {
      get(target, name): unknown {
        if (Object.hasOwn(own, name)) return Reflect.get(own, name);
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return isStoreIntent(name) ? end : value.bind(target);
      },
    });
  }

  /** Gives the calls of the open turn a receipt, whatever their outcome would be. */
  async settleOpenTurn(stepKey: number): Promise<void> {
    const { journaled } = await this.store.readConversation(this.#run.runId, stepKey, 0);
    if (journaled === null) return;
    const calls = journaled.calls.map((call) =>
      call.receipt !== null || call.status === "prepared" ? call : { ...call, receipt: SOME_RECEIPT },
    );
    this.#change(stepKey, { journaled: { ...journaled, calls } });
  }

  #change(stepKey: number, change: Partial<Conversation>): void {
    this.#conversations.set(stepKey, { ...this.#conversations.get(stepKey), ...change });
  }

  #reads(): Partial<Store> {
    const { runId, reserved } = this.#run;
    return {
      readConversation: async (id, stepKey, tailTokens, limits) => {
        const stored = await this.#store.readConversation(id, stepKey, tailTokens, limits);
        const { journaled } = stored;
        const claimed =
          journaled === null ? null : { ...journaled, calls: journaled.calls.map(inDoubtIfRunning) };
        return { ...stored, journaled: claimed, ...this.#conversations.get(stepKey) };
      },
      listToolCalls: async (id, range) => (await this.#store.listToolCalls(id, range)).map(inDoubtIfRunning),
      listCodeStepCalls: async (id, stepKey) =>
        (await this.#store.listCodeStepCalls(id, stepKey)).map(inDoubtIfRunning),
      listToolCallAttempts: async (id) => [
        ...(await this.#store.listToolCallAttempts(id)),
        ...this.#unsent.map((unsent) => ({ ...NEVER_SENT, ...unsent })),
      ],
      // A claim charges what is still reserved.
      readUsage: async (id) => {
        const { baseline, ...usage } = await this.#store.readUsage(id);
        return {
          ...usage,
          charged: addAmount(usage.charged, reserved),
          baseline: { ...baseline, charged: addAmount(baseline.charged, reserved) },
        };
      },
      listArtifacts: async () => {
        const kept = [...this.#artifacts.values()].map(({ record }) => record);
        const stored = await this.#store.listArtifacts(runId);
        return [...stored.filter(({ name }) => !this.#artifacts.has(name)), ...kept];
      },
      readArtifact: async (id, name) =>
        this.#artifacts.get(name)?.bytes ?? (await this.#store.readArtifact(id, name)),
    };
  }

  #intents(): Partial<Store> {
    const { runId, limit, charged, reserved } = this.#run;
    const reserve = (opening: SummaryOpening, isSummary: boolean) => {
      const reservation = new Quota(limit, charged, reserved).reserve(opening.reserve);
      if (reservation.kind === "denied") return Promise.resolve(reservation);
      this.opening = { ...opening, isSummary };
      return end();
    };
    return {
      beginStep: async (_fence, step) => {
        const known = await this.#store.findStep(runId, step.path);
        const isBegun = known !== null && known.status !== "skipped";
        this.entered.push({ ...step, isBegun });
        return isBegun ? known : newInstance(step, known?.stepKey ?? -this.entered.length);
      },
      pinShape: () => Promise.resolve(),
      skipStep: () => Promise.resolve(),
      dropTurn: async (_fence, { stepKey, turnIndex }) => {
        const { journaled } = await this.store.readConversation(runId, stepKey, 0);
        this.dropped = journaled?.calls ?? [];
        const isBegun = this.dropped.some(({ attempt, receipt }) => attempt > 0 || receipt !== null);
        assertDroppable({ runId, stepPath: journaled?.stepPath ?? "", turnIndex, isBegun });
        this.#change(stepKey, { journaled: null });
      },
      acceptDivergence: async (_fence, { stepKey, fingerprint }) => {
        const { fingerprint: was } = await this.store.readConversation(runId, stepKey, 0);
        const changes = fingerprintChanges(was?.document ?? null, fingerprint.document);
        this.accepted = { changes, changesHash: hashChanges(changes) };
        this.#change(stepKey, { fingerprint });
      },
      beginLineage: async (_fence, { stepKey, fingerprint }) => {
        const { turnIndex, journaled, lineages } = await this.store.readConversation(runId, stepKey, 0);
        const firstTurn = (journaled?.turnIndex ?? turnIndex) + 1;
        this.#change(stepKey, {
          turnIndex: firstTurn - 1,
          fingerprint,
          lineages: [...lineages, { firstTurn, baseTurn: 0 }],
          summary: null,
          messages: 0,
          tokens: 0,
          tail: [],
          journaled: null,
        });
        return firstTurn;
      },
      openTurn: (_fence, opening) => reserve(opening, false),
      openSummary: (_fence, opening) => reserve(opening, true),
      keepArtifact: (_fence, { name, bytes }) => {
        const hash = createHash("sha256").update(bytes).digest("hex");
        const record = { name, size: bytes.byteLength, hash, stepPath: ROOT_PATH, at: 0 };
        this.#artifacts.set(name, { record, bytes });
        return Promise.resolve(record);
      },
    };
  }
}

function end(): Promise<never> {
  return Promise.reject(new ForecastEnd());
}

/** A call that was running when its worker stopped is in doubt, even if the ledger does not say so yet. */
export function inDoubtIfRunning(call: ToolCallRecord): ToolCallRecord {
  return call.status === "running" && call.receipt === null ? { ...call, status: "in_doubt" } : call;
}

/** The record that a claim writes for a call attempt that was certainly never sent. */
const NEVER_SENT = {
  startedAt: 0,
  endedAt: 0,
  outcome: "not_applied",
  errorCode: "not_sent",
  errorDetail: null,
  correlationId: null,
  late: null,
} as const satisfies Omit<ToolCallAttempt, "toolCallId" | "attempt">;

function newInstance(step: NewStep, stepKey: number): StepRecord {
  return {
    ...step,
    stepKey,
    stepIndex: 0,
    status: "running",
    output: null,
    context: null,
    errorCode: null,
    errorDetail: null,
    createdAt: 0,
    updatedAt: 0,
  };
}

/** A placeholder for the receipt that a call will have. */
const SOME_RECEIPT: Receipt = {
  status: "failed",
  output: { type: "text", value: "" },
  blob: null,
  tokens: 0,
  errorCode: null,
  uncertain: false,
  source: "pawl",
  correlationId: null,
  duplicateOf: null,
  sessionEvents: [],
  at: 0,
};

import type { Runner } from "../../engine/runner/runner.ts";
import type { ClaimLimits, ClaimOptions, Store, WorkerFacts } from "../../store/store.ts";
import type { Intent } from "./ported-store.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

/** A claim of a run, with what was true right after it. */
export type NotedClaim = {
  readonly life: number;
  readonly runId: string;
  readonly epoch: number;
  /** A worker has claimed it, and no person. */
  readonly isOfWorker: boolean;
  /** The process that had claimed the run and not released it; null if there was none. */
  readonly from: null | {
    readonly life: number;
    readonly isDead: boolean;
    /** For how long it had not renewed its lease, by the clock that shows more. */
    readonly silentMs: number;
  };
  /** The other runs that a process had claimed and not released. */
  readonly held: readonly string[];
  /** The limits of the claim, each with the claimed runs that it is about, this one included. */
  readonly limits: readonly NotedLimit[];
  /** How many lines the witness had. */
  readonly witnessed: number;
};

export type NotedLimit = {
  readonly by: keyof ClaimLimits;
  readonly most: number;
  readonly running: readonly string[];
};

/** A run that was enqueued under a key, as its caller was told. */
export type NotedEnqueue = {
  readonly life: number;
  readonly pipeline: string;
  readonly key: string;
  readonly runId: string;
};

/** A worker that a process had. */
export type NotedWorker = { readonly life: number } & Pick<WorkerFacts, "pipelines" | "queues">;

type Holder = { readonly life: SimulatedProcess; heardAt: Moment };

/** By both clocks of the machine: an administrator may move the one that leases are measured with. */
type Moment = { readonly monotonic: number; readonly wall: number };

type Clocks = { readonly monotonic: () => number; readonly now: () => number };

/** Records who claims and releases which run. It reads what the store holds, and what the processes are doing. */
export class OwnershipLog {
  readonly claims: NotedClaim[] = [];
  readonly enqueued: NotedEnqueue[] = [];
  readonly workers: NotedWorker[] = [];
  readonly #holders = new Map<string, Holder>();
  readonly #observer: Store;
  readonly #clocks: Clocks;
  readonly #witnessed: () => number;

  constructor(observer: Store, clocks: Clocks, witnessed: () => number) {
    this.#observer = observer;
    this.#clocks = clocks;
    this.#witnessed = witnessed;
  }

  /** Called after each intent that has succeeded. */
  async note(
    life: SimulatedProcess,
    intent: Intent,
    args: readonly unknown[],
    result: unknown,
  ): Promise<void> {
    const [first] = args;
    if (intent === "reportWorker") this.#noteWorker(life, first);
    if (intent === "createRun" || intent === "claimRun") {
      const claim = claimIn(result);
      if (claim !== null) await this.#noteClaim(life, claim, optionsIn(args[1]));
      return;
    }
    const runId =
      typeof first === "object" && first !== null && "runId" in first ? String(first.runId) : null;
    const holder = runId === null ? undefined : this.#holders.get(runId);
    if (runId === null || holder?.life !== life) return;
    if (intent === "releaseRun" || intent === "interruptRun") this.#holders.delete(runId);
    if (intent === "renewLease") holder.heardAt = this.#moment();
  }

  #moment(): Moment {
    return { monotonic: this.#clocks.monotonic(), wall: this.#clocks.now() };
  }

  async #noteClaim(
    life: SimulatedProcess,
    { runId, epoch }: ClaimedRun,
    { limits = {}, onlyIfReady: isOfWorker = false }: Partial<ClaimOptions>,
  ): Promise<void> {
    const now = this.#moment();
    const holder = this.#holders.get(runId);
    this.#holders.delete(runId);
    const held = [...this.#holders.keys()];
    this.#holders.set(runId, { life, heardAt: now });
    const from =
      holder === undefined || holder.life === life
        ? null
        : {
            life: holder.life.number,
            isDead: holder.life.state === "dead",
            silentMs: Math.max(now.monotonic - holder.heardAt.monotonic, now.wall - holder.heardAt.wall),
          };
    const witnessed = this.#witnessed();
    const noted = { life: life.number, runId, epoch, isOfWorker, from, held, witnessed };
    this.claims.push({ ...noted, limits: await this.#running(runId, limits) });
  }

  async #running(runId: string, limits: ClaimLimits): Promise<readonly NotedLimit[]> {
    const kinds = (["total", "queue", "key"] as const).filter((by) => limits[by] !== undefined);
    if (kinds.length === 0) return [];
    const run = await this.#observer.getRun(runId);
    const running = (await this.#observer.listRuns()).filter(({ status }) => status === "running");
    return kinds.flatMap((by) => {
      if (run === null || (by === "key" && run.concurrencyKey === null)) return [];
      const alike = running.filter(
        ({ queue, concurrencyKey }) =>
          by === "total" ||
          (queue === run.queue && (by === "queue" || concurrencyKey === run.concurrencyKey)),
      );
      return [{ by, most: limits[by] ?? 0, running: alike.map((each) => each.runId) }];
    });
  }

  #noteWorker({ number }: SimulatedProcess, report: unknown): void {
    if (this.workers.some(({ life }) => life === number)) return;
    if (typeof report !== "object" || report === null || !("facts" in report)) return;
    const { pipelines, queues } = report.facts as WorkerFacts;
    this.workers.push({ life: number, pipelines, queues });
  }
}

type ClaimedRun = { readonly runId: string; readonly epoch: number };

/** Of the result of a claim; null if the run was not claimed. */
function claimIn(result: unknown): ClaimedRun | null {
  if (typeof result !== "object" || result === null || !("claim" in result)) return null;
  const { claim } = result;
  if (typeof claim !== "object" || claim === null || !("run" in claim) || !("epoch" in claim)) return null;
  const { run, epoch } = claim;
  if (typeof run !== "object" || run === null || !("runId" in run)) return null;
  return { runId: String(run.runId), epoch: Number(epoch) };
}

/** Those of a claim; a run that is created has none. */
function optionsIn(options: unknown): Partial<ClaimOptions> {
  return typeof options === "object" && options !== null ? options : {};
}

/** The same runner, which reports what it has enqueued under a key. */
export function notingEnqueues(runner: Runner, note: (key: string, runId: string) => void): Runner {
  const enqueue = runner.enqueue.bind(runner);
  runner.enqueue = async (...given) => {
    const made = await enqueue(...given);
    const key = given[1]?.key;
    if (key !== undefined) note(key, made.runId);
    return made;
  };
  return runner;
}

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ConfigurationError } from "../../core/errors.ts";
import { ownProperty } from "../../core/own-property.ts";
import { checkInvariants } from "./check-invariants.ts";
import { crashDatabase } from "./databases/index.ts";
import type { Evidence } from "./evidence.ts";
import {
  assertExplorable,
  type CrashExplorerOptions,
  type ExplorerMode,
  explorerFolder,
} from "./explorer-options.ts";
import type { OwnInvariant } from "./invariant.ts";
import { INVARIANTS } from "./invariants/index.ts";
import { checkedPerson } from "./person-answers.ts";
import { isSamePoint, type Point, pointText } from "./point.ts";
import { CrashReport, type ReportCounts, type Violation } from "./report/crash-report.ts";
import { type ExplorerFolder, runSchedule } from "./run-schedule.ts";
import { parseSchedule, type Schedule, sizeOf, UNDISTURBED } from "./schedule.ts";
import { sample, seededRandom } from "./seeded-random.ts";
import {
  assertStandInsFit,
  assertStandInsFitted,
  enteredTools,
  knownBefore,
  neverRunTools,
} from "./stand-in-names.ts";

export type { CrashExplorerOptions, ExplorerMode, ExplorerProgress } from "./explorer-options.ts";

/**
 * Runs an agent once to find every point at which its process could die; then once for each point, with a crash there and
 * a new process that continues. Each time it checks that every promise was kept. The stand-ins that are given replace the
 * model and the tools, and time is simulated. The database is a real one, in a folder of its own.
 *
 * @example
 * const report = await crashExplorer({ pipeline: mailer, input: "Ann", model: scriptedModel([{ text: "Hello." }]) });
 * report.assertKept();
 */
export async function crashExplorer(options: CrashExplorerOptions): Promise<CrashReport> {
  assertExplorable(options);
  const folder = mkdtempSync(join(options.folder ?? explorerFolder(), "pawl-explorer-"));
  try {
    const database = await crashDatabase(options.database, folder);
    try {
      return await new Exploration(options, { folder, database }).explore();
    } finally {
      await database.remove();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class Exploration {
  readonly #options: CrashExplorerOptions;
  readonly #explorerFolder: ExplorerFolder;
  readonly #random: () => number;
  readonly #violations = new Map<string, Violation>();
  readonly #counts: ReportCounts = {
    schedules: 0,
    disturbances: 0,
    byMode: {},
    points: {},
    looked: {},
    askedAbout: {},
    missed: 0,
  };
  readonly #ran = new Set<string>();
  #undisturbed: Evidence | null = null;
  /** An answer of `person` that is none: it ends the exploration, since no schedule says anything then. */
  #refused: ConfigurationError | null = null;

  constructor(options: CrashExplorerOptions, folder: ExplorerFolder) {
    const person = checkedPerson(options.person ?? {}, (error) => {
      this.#refused ??= error;
    });
    this.#options = { ...options, person };
    this.#explorerFolder = folder;
    this.#random = seededRandom(options.seed ?? 1);
  }

  async explore(): Promise<CrashReport> {
    const { schedule: given, modes = ["crash", "pause"] } = this.#options;
    const schedule = typeof given === "string" ? parseSchedule(given) : given;
    const known = await knownBefore(this.#options);
    assertStandInsFit(this.#options, known);
    const undisturbed = await this.#try("crash", UNDISTURBED, 0);
    this.#undisturbed = undisturbed;
    assertStandInsFitted(this.#options, known, undisturbed);
    const points = undisturbed.lives[0]?.reached ?? [];
    for (const point of points) this.#counts.points[pointText({ ...point, nth: 1 })] ??= 0;
    if (schedule !== undefined) await this.#try(modeOf(schedule), schedule, 0);
    else await this.#explore(points, new Set(modes));
    const neverRan = neverRunTools(this.#options, known, this.#ran);
    const violations = [...this.#violations.values()];
    return new CrashReport(this.#options, undisturbed, this.#counts, violations, neverRan);
  }

  async #explore(points: readonly Point[], modes: ReadonlySet<ExplorerMode>): Promise<void> {
    const { crashes = points.length, pairs = 100, courses = 50, seed = 1 } = this.#options;
    const found: (readonly [Point, Point])[] = [];
    // The points of a recovery are known only after a crash; for a few pairs, a few crashes are enough.
    const isWhole = modes.has("crash") || pairs === "all";
    const firsts = sample(this.#random, points, isWhole ? crashes : Math.ceil(Math.sqrt(pairs)));
    if (modes.has("crash") || modes.has("twice"))
      for (const [i, point] of firsts.entries()) {
        const evidence = await this.#try("crash", { kind: "crash", at: [point] }, firsts.length - i - 1);
        const recovery = evidence.lives[1]?.reached ?? [];
        found.push(...recovery.map((second) => [point, second] as const));
      }
    if (modes.has("twice")) {
      const tried = pairs === "all" ? found : sample(this.#random, found, pairs);
      for (const [i, at] of tried.entries())
        await this.#try("twice", { kind: "crash", at }, tried.length - i - 1);
    }
    if (modes.has("pause")) await this.#pauses(points);
    for (const kind of ["close", "disk"] as const) if (modes.has(kind)) await this.#closeOrFill(kind, points);
    if (modes.has("random"))
      for (let i = 0; i < courses; i++)
        await this.#try("random", { kind: "random", seed: seed + i }, courses - i - 1);
  }

  /** Each paused process wakes after the other has ended, and at some of the points before. */
  async #pauses(points: readonly Point[]): Promise<void> {
    const { wakes = 1, pauses = points.length } = this.#options;
    const stopped = sample(this.#random, points, pauses);
    for (const [i, at] of stopped.entries()) {
      const left = stopped.length - i - 1;
      const evidence = await this.#try("pause", { kind: "pause", at, wake: null }, left);
      const others = sinceTakeover(evidence.lives[1]?.reached ?? []);
      for (const wake of sample(this.#random, others, wakes))
        await this.#try("pause", { kind: "pause", at, wake }, left);
    }
  }

  /** At every point of the first process, or at a sample of them. */
  async #closeOrFill(kind: "close" | "disk", points: readonly Point[]): Promise<void> {
    const { ends = points.length } = this.#options;
    const tried = sample(this.#random, points, ends);
    for (const [i, at] of tried.entries()) await this.#try(kind, { kind, at }, tried.length - i - 1);
  }

  async #try(mode: ExplorerMode, schedule: Schedule, left: number): Promise<Evidence> {
    const evidence = await runSchedule(this.#explorerFolder, this.#options, schedule, this.#undisturbed);
    if (this.#refused !== null) throw this.#refused;
    const { invariants = {} } = this.#options;
    const own = Object.entries(invariants).filter(
      (entry): entry is [string, OwnInvariant] => entry[1] !== false,
    );
    const results = await checkInvariants(
      evidence,
      INVARIANTS.filter(({ name }) => invariants[name] !== false),
      Object.fromEntries(own),
    );
    this.#count(mode, evidence, results.looked);
    for (const { invariant, problems } of results.broken) {
      const known = this.#violations.get(invariant);
      const times = (known?.times ?? 0) + 1;
      const isShorter = known === undefined || sizeOf(schedule) < sizeOf(known.evidence.schedule);
      const shown = isShorter ? { problems, evidence } : known;
      this.#violations.set(invariant, {
        invariant,
        times,
        problems: shown.problems,
        evidence: shown.evidence,
      });
    }
    const { schedules } = this.#counts;
    this.#options.onProgress?.({ mode, schedules, left, violations: this.#violations.size });
    return evidence;
  }

  #count(mode: ExplorerMode, evidence: Evidence, looked: { readonly [name: string]: number }): void {
    const counts = this.#counts;
    for (const tool of enteredTools(evidence.witness)) this.#ran.add(tool);
    counts.schedules += 1;
    counts.byMode[mode] = (counts.byMode[mode] ?? 0) + 1;
    const { schedule } = evidence;
    if (isMissed(evidence)) counts.missed += 1;
    if (schedule.kind === "crash") {
      counts.disturbances += evidence.moments.length;
      for (const point of schedule.at.slice(0, evidence.moments.length)) {
        const name = pointText({ ...point, nth: 1 });
        counts.points[name] = (counts.points[name] ?? 0) + 1;
      }
    } else counts.disturbances += 1;
    for (const [name, times] of Object.entries(looked)) counts.looked = added(counts.looked, name, times);
    for (const { waits, calls } of evidence.accounts)
      for (const { kind, toolCallId } of waits) {
        const tool = calls.find((call) => call.toolCallId === toolCallId)?.tool;
        if (kind === "in_doubt" && tool !== undefined) counts.askedAbout = added(counts.askedAbout, tool, 1);
      }
  }
}

/** Copies instead of assigning: names come from users, and an assignment to "__proto__" would be lost. */
function added(
  counts: { readonly [name: string]: number },
  name: string,
  times: number,
): { [name: string]: number } {
  return { ...counts, [name]: (ownProperty(counts, name) ?? 0) + times };
}

/** The points after it took the run: a process that wakes earlier has not lost it. */
function sinceTakeover(points: readonly Point[]): readonly Point[] {
  const first = points.findIndex(({ call }) => !POLLING.has(call));
  const claimed = points.findLastIndex(({ call }, i) => i < first && call === "store.claimRun");
  return points.slice(Math.max(0, claimed));
}

const POLLING: ReadonlySet<string> = new Set([
  "store.createRun",
  "store.claimRun",
  "store.beginWork",
  "clock.sleep",
]);

/** True if a process never reached the point of its disturbance. */
function isMissed({ schedule, moments, lives }: Evidence): boolean {
  if (schedule.kind === "crash") return moments.length < schedule.at.length;
  if (schedule.kind === "random") return false;
  if (schedule.kind === "close" || schedule.kind === "disk") return moments.length === 0;
  const [, second] = lives;
  const { wake } = schedule;
  if (second === undefined) return true;
  return wake !== null && !second.reached.some((point) => isSamePoint(point, wake));
}

function modeOf(schedule: Schedule): ExplorerMode {
  if (schedule.kind !== "crash") return schedule.kind;
  return schedule.at.length > 1 ? "twice" : "crash";
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../store/open-store.ts";
import { CrashReport, type ReportCounts, type Violation } from "./crash-report.ts";
import type { Evidence } from "./evidence.ts";
import type { OwnInvariant } from "./invariant.ts";
import { INVARIANTS } from "./invariants/index.ts";
import { judge } from "./judge.ts";
import { type Laboratory, perform } from "./perform.ts";
import { type Point, pointText } from "./point.ts";
import type { Scenario } from "./scenario.ts";
import { type Schedule, sizeOf, UNDISTURBED } from "./schedule.ts";
import { sample, seededRandom } from "./seeded-random.ts";

/** How processes are disturbed: `crash` at every point, `twice` also in the recovery, `pause`d past their lease, or at `random`. */
export type ExplorerMode = "crash" | "twice" | "pause" | "random";

export type CrashExplorerOptions = Scenario & {
  /** Promises of your own, beside those of Pawl; `false` for one of Pawl's leaves it out. */
  readonly invariants?: { readonly [name: string]: OwnInvariant | false };
  /** `["crash", "pause"]` unless said. */
  readonly modes?: readonly ExplorerMode[];
  /** How many pairs of crashes are tried, by chance; 100 unless said. */
  readonly pairs?: number | "all";
  /** At how many of the points a process is paused, by chance; at all of them unless said. */
  readonly pauses?: number;
  /** How many places to wake at are tried for each process that was paused, beside the end; 1 unless said. */
  readonly wakes?: number;
  /** How many random courses are tried; 50 unless said. */
  readonly courses?: number;
  /** What chance is made from; the same number, the same course. 1 unless said. */
  readonly seed?: number;
  /** Where the databases are made, and removed again; the system's folder for temporary files unless said. */
  readonly folder?: string;
  /** Only this one, as a report named it. */
  readonly schedule?: Schedule;
  /** Told after each schedule. */
  readonly onProgress?: (progress: ExplorerProgress) => void;
};

export type ExplorerProgress = {
  readonly mode: ExplorerMode;
  readonly schedules: number;
  /** Of this mode, as far as it is known. */
  readonly left: number;
  readonly violations: number;
};

/**
 * Runs an agent once to find every place where its process could die; then once for each place, with a crash there and a
 * new process that goes on; and looks each time whether what is promised was kept. Nothing real is called: the model and
 * the tools are stood in for, and the time is simulated. The database is a real one, in a folder of its own.
 *
 * @example
 * const report = await crashExplorer({ pipeline: mailer, input: "Ann", model: scriptedModel([…]), tools: { send_email } });
 * report.assertKept();
 */
export async function crashExplorer(options: CrashExplorerOptions): Promise<CrashReport> {
  const folder = mkdtempSync(join(options.folder ?? tmpdir(), "pawl-explorer-"));
  try {
    const template = join(folder, "empty.db");
    await (await openStore(`file:${template}`)).close();
    return await new Exploration(options, { folder, template }).explore();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class Exploration {
  readonly #options: CrashExplorerOptions;
  readonly #laboratory: Laboratory;
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
  #undisturbed: Evidence | null = null;

  constructor(options: CrashExplorerOptions, laboratory: Laboratory) {
    this.#options = options;
    this.#laboratory = laboratory;
    this.#random = seededRandom(options.seed ?? 1);
  }

  async explore(): Promise<CrashReport> {
    const { schedule, modes = ["crash", "pause"] } = this.#options;
    const undisturbed = await this.#try("crash", UNDISTURBED, 0);
    this.#undisturbed = undisturbed;
    const points = undisturbed.lives[0]?.reached ?? [];
    for (const point of points) this.#counts.points[pointText({ ...point, nth: 1 })] ??= 0;
    if (schedule !== undefined) await this.#try(modeOf(schedule), schedule, 0);
    else await this.#explore(points, new Set(modes));
    return new CrashReport(this.#options, undisturbed, this.#counts, [...this.#violations.values()]);
  }

  async #explore(points: readonly Point[], modes: ReadonlySet<ExplorerMode>): Promise<void> {
    const { pairs = 100, courses = 50, seed = 1 } = this.#options;
    const found: (readonly [Point, Point])[] = [];
    // Only who has crashed at a point knows the points of the recovery: for a few pairs, some will do.
    const isWhole = modes.has("crash") || pairs === "all";
    const firsts = isWhole ? points : sample(this.#random, points, Math.ceil(Math.sqrt(pairs)));
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
    if (modes.has("random"))
      for (let i = 0; i < courses; i++)
        await this.#try("random", { kind: "random", seed: seed + i }, courses - i - 1);
  }

  /** Each process that was stopped wakes after the other has ended, and at some of the places before. */
  async #pauses(points: readonly Point[]): Promise<void> {
    const { wakes = 1, pauses = points.length } = this.#options;
    const stopped = sample(this.#random, points, pauses);
    for (const [i, at] of stopped.entries()) {
      const left = stopped.length - i - 1;
      const evidence = await this.#try("pause", { kind: "pause", at, wake: null }, left);
      const others = evidence.lives[1]?.reached ?? [];
      for (const wake of sample(this.#random, others, wakes))
        await this.#try("pause", { kind: "pause", at, wake }, left);
    }
  }

  async #try(mode: ExplorerMode, schedule: Schedule, left: number): Promise<Evidence> {
    const evidence = await perform(this.#laboratory, this.#options, schedule, this.#undisturbed);
    const { invariants = {} } = this.#options;
    const own = Object.entries(invariants).filter(
      (entry): entry is [string, OwnInvariant] => entry[1] !== false,
    );
    const verdict = await judge(
      evidence,
      INVARIANTS.filter(({ name }) => invariants[name] !== false),
      Object.fromEntries(own),
    );
    this.#count(mode, evidence, verdict.looked);
    for (const { invariant, problems } of verdict.broken) {
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
    counts.schedules += 1;
    counts.byMode[mode] = (counts.byMode[mode] ?? 0) + 1;
    const { schedule } = evidence;
    if (schedule.kind === "crash") {
      counts.disturbances += evidence.moments.length;
      if (evidence.moments.length < schedule.at.length) counts.missed += 1;
      for (const point of schedule.at.slice(0, evidence.moments.length)) {
        const name = pointText({ ...point, nth: 1 });
        counts.points[name] = (counts.points[name] ?? 0) + 1;
      }
    } else counts.disturbances += 1;
    for (const [name, times] of Object.entries(looked))
      counts.looked[name] = (counts.looked[name] ?? 0) + times;
    for (const { waits, calls } of evidence.accounts)
      for (const { kind, toolCallId } of waits) {
        const tool = calls.find((call) => call.toolCallId === toolCallId)?.tool;
        if (kind === "in_doubt" && tool !== undefined)
          counts.askedAbout[tool] = (counts.askedAbout[tool] ?? 0) + 1;
      }
  }
}

function modeOf(schedule: Schedule): ExplorerMode {
  if (schedule.kind !== "crash") return schedule.kind;
  return schedule.at.length > 1 ? "twice" : "crash";
}

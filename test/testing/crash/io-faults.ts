// A disk that fails: strace makes chosen writes and syncs of a worker's database fail, or kills the worker in them.

import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { checkInvariants } from "../../../src/testing/crash/check-invariants.ts";
import type { Evidence } from "../../../src/testing/crash/evidence.ts";
import { INVARIANTS } from "../../../src/testing/crash/invariants/index.ts";
import { type ChildOrder, runInChildren } from "../../../src/testing/crash/run-in-children.ts";
import { type ExplorerFolder, runSchedule } from "../../../src/testing/crash/run-schedule.ts";
import { UNDISTURBED } from "../../../src/testing/crash/schedule.ts";
import { pick, seededRandom } from "../../../src/testing/crash/seeded-random.ts";
import type { KilledChildren } from "./killed-children.ts";
import { EXPLORED_NAMES, SCENARIOS } from "./scenarios/index.ts";

/** Left out: the child resumes a run that the disk made fail with the scenario's pipeline, and these have several. */
const WITH_OTHER_PIPELINES = ["milestone-after-change", "accept-divergence", "diverged", "changed-shape"];

export const FAULT_SCENARIOS: readonly string[] = EXPLORED_NAMES.filter(
  (name) => !WITH_OTHER_PIPELINES.includes(name),
);

const CALLS = ["pwrite64", "fsync", "fdatasync", "ftruncate"] as const;
const FAILURES = ["EIO", "ENOSPC", "SIGKILL"] as const;

/** The nth of these calls on the database's files fails, counted from 1; or it and all after it. */
export type IoFault = {
  readonly call: (typeof CALLS)[number];
  readonly nth: number;
  readonly failure: (typeof FAILURES)[number];
  readonly isLasting: boolean;
};

/** `EIO in fsync 3`, `ENOSPC in pwrite64 7+` */
function faultText({ call, nth, failure, isLasting }: IoFault): string {
  return `${failure} in ${call} ${nth}${isLasting ? "+" : ""}`;
}

export function parseFault(text: string): IoFault {
  const [, failure, call, nth, lasting] = /^(\w+) in (\w+) (\d+)(\+?)$/.exec(text) ?? [];
  const [foundCall, foundFailure] = [
    CALLS.find((name) => name === call),
    FAILURES.find((name) => name === failure),
  ];
  if (foundCall === undefined || foundFailure === undefined)
    throw new Error(
      `${JSON.stringify(text)} is no fault: write "EIO in fsync 3" or "ENOSPC in pwrite64 7+".`,
    );
  return { call: foundCall, nth: Number(nth), failure: foundFailure, isLasting: lasting === "+" };
}

/** The reason why faults cannot be injected on this machine; null if they can. */
export function whyFaultsUnavailable(): string | null {
  const { status, error, stderr } = spawnSync("strace", ["-f", "-qq", "-e", "trace=none", "true"], {
    encoding: "utf8",
  });
  if (error !== undefined) return `strace cannot be started (${error.message})`;
  return status === 0 ? null : `strace cannot trace here (${stderr.trim()})`;
}

export type FaultTask = { readonly scenario: string; readonly fault: IoFault };

/** An injected fault, and the problems after it. */
export type FaultTrial = FaultTask & {
  /** True if the process reached the call that should fail. */
  readonly wasMade: boolean;
  readonly evidence: Evidence;
  readonly problems: readonly string[];
};

/** Injects disk failures into processes that work on the scenarios. */
export class IoFaults {
  readonly #explorerFolder: ExplorerFolder;
  readonly #children: KilledChildren;
  readonly #known = new Map<string, Promise<Known>>();

  constructor(explorerFolder: ExplorerFolder, children: KilledChildren) {
    this.#explorerFolder = explorerFolder;
    this.#children = children;
  }

  /** An endless sequence: one scenario after the other, each time with another call of its process. */
  async *tasks(names: readonly string[], seed: number): AsyncGenerator<FaultTask, never> {
    const random = seededRandom(seed);
    for (let number = 0; ; number++) {
      const scenario = names[number % names.length] ?? "";
      const { calls } = await this.#know(scenario);
      const call = pick(random, Object.keys(calls) as IoFault["call"][]);
      const nth = 1 + Math.floor(random() * (calls[call] ?? 1));
      const failure = pick(random, FAILURES);
      yield { scenario, fault: { call, nth, failure, isLasting: failure !== "SIGKILL" && random() < 0.5 } };
    }
  }

  /** One process with the fault, one without, and one that repeats the work. */
  async trial({ scenario, fault }: FaultTask): Promise<FaultTrial> {
    const { undisturbed } = await this.#know(scenario);
    const where = `${scenario} [${faultText(fault)}]`;
    const clean = this.#children.starter(scenario);
    let wasMade = false;
    const faulty = this.#children.starter(scenario, (order) => tracer(order, fault));
    const evidence = await runInChildren(this.#explorerFolder, undisturbed.scenario, {
      schedule: UNDISTURBED,
      undisturbed,
      children: [
        {
          at: null,
          start: async (order) => {
            const end = await faulty(order);
            wasMade = end.kind === "died" || readFileSync(logFile(order), "utf8").includes("(INJECTED)");
            return end;
          },
        },
        { at: null, start: clean },
      ],
      continuesAfter: () => true,
      again: clean,
    });
    const problems = await problemsIn(evidence, fault);
    return { scenario, fault, wasMade, evidence, problems: problems.map((what) => `${where}: ${what}`) };
  }

  #know(name: string): Promise<Known> {
    const known = this.#known.get(name) ?? this.#find(name);
    this.#known.set(name, known);
    return known;
  }

  async #find(name: string): Promise<Known> {
    const scenario = SCENARIOS[name]?.();
    if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
    const undisturbed = await runSchedule(this.#explorerFolder, scenario, UNDISTURBED, null);
    const calls: { [call: string]: number } = {};
    const counted = this.#children.starter(name, (order) => tracer(order, null));
    await runInChildren(this.#explorerFolder, scenario, {
      schedule: UNDISTURBED,
      undisturbed,
      children: [
        {
          at: null,
          start: async (order) => {
            const end = await counted(order);
            for (const [, call = ""] of readFileSync(logFile(order), "utf8").matchAll(/^\d+ +(\w+)\(/gm))
              calls[call] = (calls[call] ?? 0) + 1;
            return end;
          },
        },
      ],
      continuesAfter: () => false,
      again: this.#children.starter(name),
    });
    return { undisturbed, calls };
  }
}

type Known = {
  readonly undisturbed: Evidence;
  /** How often an undisturbed process makes each call on its database. */
  readonly calls: { readonly [call: string]: number };
};

/** Only calls on the database's own files are counted, and fail. */
function tracer(order: ChildOrder, fault: IoFault | null): readonly string[] {
  const database = join(order.folder, "pawl.db");
  rmSync(logFile(order), { force: true });
  return [
    "strace",
    "-fqq",
    `--output=${logFile(order)}`,
    `--trace=${CALLS.join(",")}`,
    ...["", "-wal", "-shm"].flatMap((suffix) => [`--trace-path=${database}${suffix}`]),
    ...(fault === null ? [] : [`--inject=${injection(fault)}`]),
  ];
}

function injection({ call, nth, failure, isLasting }: IoFault): string {
  const how = failure === "SIGKILL" ? "signal=SIGKILL" : `error=${failure}`;
  return `${call}:${how}:when=${nth}${isLasting ? "+" : ""}`;
}

function logFile({ folder, life }: ChildOrder): string {
  return join(folder, `life-${life}.strace`);
}

/** The process whose disk failed may only end with an error about the store; afterwards every promise is kept. */
async function problemsIn(evidence: Evidence, fault: IoFault): Promise<readonly string[]> {
  const results = await checkInvariants(evidence, INVARIANTS);
  const first = evidence.lives[0]?.end;
  const unexpected = first === undefined || isExpected(first, evidence.undisturbed, fault) ? [] : [first];
  return [
    ...unexpected.map(
      (end) => `its process should have reported the store, but ended with ${JSON.stringify(end)}`,
    ),
    ...results.broken.flatMap(({ invariant, problems }) =>
      problems.map(({ what }) => `${invariant}: ${what}`),
    ),
  ];
}

function isExpected(
  end: Evidence["lives"][number]["end"],
  undisturbed: Evidence | null,
  fault: IoFault,
): boolean {
  if (end.kind === "died") return fault.failure === "SIGKILL";
  if (end.kind === "threw" && end.name === "StoreUnavailableError") return true;
  const usual = undisturbed?.lives.at(-1)?.end;
  if (end.kind === "threw") return usual?.kind === "threw" && usual.name === end.name;
  return end.kind === usual?.kind;
}

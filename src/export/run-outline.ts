import type { Json } from "../core/json.ts";
import { missingRunError } from "../core/run/missing-run.ts";
import type {
  ArtifactRecord,
  AttemptRecord,
  EventRecord,
  LineageRecord,
  RunRecord,
  RunUsage,
  StoreReader,
} from "../store/store.ts";
import { factsOf, numberIn, textIn } from "./event-facts.ts";
import { LogReader } from "./log-reader.ts";

/** The part of a run that is held in memory during an export: what does not grow with its turns. The rest is looked up. */
export type RunOutline = {
  readonly run: RunRecord;
  readonly input: Json;
  readonly usage: RunUsage;
  readonly lineages: readonly LineageRecord[];
  readonly artifacts: readonly ArtifactRecord[];
  readonly chapters: readonly Chapter[];
  /** The last event that is exported: later ones are in no file. */
  readonly lastSeq: number;
};

/** One attempt of the run: what happened from one claim to the next. */
export type Chapter = {
  /** From 1. */
  readonly number: number;
  readonly attempt: AttemptRecord;
  /**
   * `released`: the worker released the run. `died`: it did not, and another worker took over or ended the run. `open`: no
   * other worker has claimed the run since.
   */
  readonly end: "released" | "died" | "open";
  /** The time of the worker's last sign of life. */
  readonly lastSign: number;
  /** Its events in the log: the first, the last, and the last one by the worker itself. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly lastOwnSeq: number;
};

/** The events of one worker in the log. */
export type OutlineSection = Pick<Chapter, "firstSeq" | "lastSeq" | "lastOwnSeq"> & {
  readonly epoch: number;
  readonly lastSign: number | null;
};

/**
 * The log is read first: so every record that it refers to exists, even if the run is being worked on. Records that are newer
 * than the log are in the store, but in no event.
 */
export async function readRunOutline(reader: StoreReader, runId: string): Promise<RunOutline> {
  const sections = await readSections(reader, runId);
  const run = await requireRun(reader, runId);
  const { input } = await reader.readRunInput(runId);
  return {
    run,
    input,
    usage: await reader.readUsage(runId),
    lineages: await reader.listLineages(runId),
    artifacts: await reader.listArtifacts(runId),
    chapters: chaptersOf(run, await reader.listAttempts(runId), sections.all),
    lastSeq: sections.lastSeq,
  };
}

export async function requireRun(reader: StoreReader, runId: string): Promise<RunRecord> {
  const run = await reader.getRun(runId);
  if (run !== null) return run;
  throw missingRunError(runId, await reader.getTombstone(runId));
}

/** The part of the log of each worker, collected event by event. Events before the first one belong to a fork. */
export class LogSections {
  readonly #sections: OutlineSection[] = [];
  #lastSeq = 0;

  get all(): readonly OutlineSection[] {
    return this.#sections;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  add(event: EventRecord): void {
    const { seq, at } = event;
    this.#lastSeq = seq;
    if (isClaim(event)) {
      const epoch = numberIn(factsOf(event), "epoch") ?? 0;
      this.#sections.push({ epoch, firstSeq: seq, lastSeq: seq, lastOwnSeq: 0, lastSign: null });
    }
    const section = this.#sections.pop();
    if (section === undefined) return;
    const later = { ...section, lastSeq: seq };
    this.#sections.push(isByOthers(event) ? later : { ...later, lastOwnSeq: seq, lastSign: at });
  }
}

async function readSections(reader: StoreReader, runId: string): Promise<LogSections> {
  const sections = new LogSections();
  for await (const event of new LogReader(reader, runId).events()) sections.add(event);
  return sections;
}

/** True for an event with which a worker gets the run. */
export function isClaim({ type }: Pick<EventRecord, "type">): boolean {
  return type === "run.created" || type === "run.claimed";
}

/** True for events by people, or by a worker that has lost the run: they are no sign of life of the current worker. */
export function isByOthers(event: EventRecord): boolean {
  if (event.type === "run.cancelled") return textIn(factsOf(event), "by") !== null;
  return event.type.startsWith("wait.") || BY_OTHERS.has(event.type);
}

const BY_OTHERS: ReadonlySet<string> = new Set([
  "call.late",
  "exchange.stop_requested",
  "message.sent",
  "message.withdrawn",
  "run.cancel_requested",
  "run.resume_requested",
  "run.stalled",
  "run.woken",
  "run.moved",
  "run.arrived",
]);

/** A run may have been claimed again since its log was read: that attempt has no events yet and is left out. */
export function chaptersOf(
  run: RunRecord,
  attempts: readonly AttemptRecord[],
  sections: readonly OutlineSection[],
): readonly Chapter[] {
  const byEpoch = new Map(sections.map((section) => [section.epoch, section]));
  const known = attempts.flatMap((attempt) => {
    const section = byEpoch.get(attempt.epoch);
    return section === undefined ? [] : [{ attempt, section }];
  });
  return known.map(({ attempt, section: { epoch: _, lastSign, ...range } }, i) => {
    const isLast = attempts.at(-1)?.epoch === attempt.epoch;
    const unreleased = isLast && run.status === "running" ? "open" : "died";
    return {
      number: i + 1,
      attempt,
      end: attempt.endedAt === null ? unreleased : "released",
      lastSign: lastSign ?? attempt.startedAt,
      ...range,
    };
  });
}

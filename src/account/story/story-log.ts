import { parseWaitId } from "../../core/wait.ts";
import { RecordLookup } from "../../export/record-lookup.ts";
import { type Incident, IncidentReader } from "../../export/run-incidents.ts";
import { type Chapter, chaptersOf, isClaim, LogSections } from "../../export/run-outline.ts";
import { ChapterSlices } from "../../export/trace-slices.ts";
import type { AttemptRecord, RunRecord, StoreReader } from "../../store/store.ts";
import { KeptItems } from "./kept-items.ts";
import type { LifeEnd } from "./life.ts";
import {
  type TimelineBlock,
  type TimelineMark,
  type TimelineSlice,
  type TimelineWait,
  timelineMark,
  timelineSlice,
  timelineWait,
} from "./timeline-items.ts";

/** The log of a run as slices, marks and waits. It is read once, and continued where the run has grown. */
export class StoryLog {
  readonly #store: StoreReader;
  readonly #runId: string;
  readonly #sections = new LogSections();
  readonly #waits = new Map<string, TimelineWait>();
  readonly #kept = new KeptItems();
  #incidents: IncidentReader | null = null;
  /** The slices of the last life, which has not been followed by another one. */
  #current: LifeSlices | null = null;

  constructor(store: StoreReader, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  get lastSeq(): number {
    return this.#sections.lastSeq;
  }

  /** In the order of their beginnings. */
  get slices(): readonly (TimelineSlice | TimelineBlock)[] {
    return this.#kept.slices;
  }

  get marks(): readonly TimelineMark[] {
    return this.#kept.marks;
  }

  get waits(): readonly TimelineWait[] {
    return [...this.#waits.values()];
  }

  chapters(run: RunRecord, attempts: readonly AttemptRecord[]): readonly Chapter[] {
    return chaptersOf(run, attempts, this.#sections.all);
  }

  /** The slices of the last life that have not ended, as if they ended now. */
  unfinished(now: number, end: LifeEnd): readonly TimelineSlice[] {
    return this.#current?.unfinished(now, end) ?? [];
  }

  /** Reads the events up to this one. `attempts` has at least the claims among them. */
  async readOn(run: RunRecord, attempts: readonly AttemptRecord[], lastSeq: number): Promise<void> {
    if (lastSeq <= this.lastSeq) return;
    // What was looked up before may have changed since.
    const records = new RecordLookup(this.#store, this.#runId);
    const outline = { run, lastSeq };
    const incidents =
      this.#incidents?.copy(outline, records) ?? new IncidentReader(this.#store, outline, records);
    for await (const incident of incidents.read({ firstSeq: this.lastSeq + 1, lastSeq }))
      this.#take(incident, attempts);
    this.#incidents = incidents;
    await this.#lookAtOpenWaits(records);
  }

  #take(incident: Incident, attempts: readonly AttemptRecord[]): void {
    if (isClaim(incident.event)) this.#current?.finish(attempts, this.#lastSign());
    this.#sections.add(incident.event);
    if (isClaim(incident.event)) this.#current = this.#nextLife(attempts);
    this.#current?.take(incident);
    for (const wait of [...incident.opened, ...incident.wakes, incident.answer])
      if (wait !== null) this.#waits.set(wait.waitId, timelineWait(wait));
  }

  #nextLife(attempts: readonly AttemptRecord[]): LifeSlices | null {
    const epoch = this.#sections.all.at(-1)?.epoch;
    const index = attempts.findIndex((each) => each.epoch === epoch);
    const attempt = attempts[index];
    if (attempt === undefined) return null;
    return new LifeSlices(this.#runId, index + 1, attempt, this.#kept);
  }

  /** Of the last worker so far. */
  #lastSign(): number {
    return this.#sections.all.at(-1)?.lastSign ?? 0;
  }

  /** A run that ends withdraws its waits, without an event for each. */
  async #lookAtOpenWaits(records: RecordLookup): Promise<void> {
    const open = this.waits.filter(({ status }) => status === "open");
    if (open.length === 0) return;
    const still = new Set(
      (await this.#store.listWaits(this.#runId, { open: true })).map(({ waitId }) => waitId),
    );
    for (const { waitId } of open) {
      const index = parseWaitId(waitId)?.index;
      const wait = still.has(waitId) || index === undefined ? null : await records.wait(index);
      if (wait !== null) this.#waits.set(waitId, timelineWait(wait));
    }
  }
}

/** The slices and marks of one life. */
class LifeSlices {
  readonly #slices: ChapterSlices;
  readonly #number: number;
  readonly #epoch: number;
  /** Known when the next life begins. */
  #end: LifeEnd = "open";

  constructor(runId: string, number: number, attempt: AttemptRecord, kept: KeptItems) {
    this.#number = number;
    this.#epoch = attempt.epoch;
    this.#slices = new ChapterSlices(
      runId,
      { number, attempt, end: "open" },
      {
        onSlice: (_, slice) => {
          const shown = timelineSlice(number, slice, this.#end);
          if (shown !== null) kept.addSlice(shown);
        },
        onMark: (mark) => kept.addMark(timelineMark(number, mark)),
      },
    );
  }

  take(incident: Incident): void {
    this.#slices.take(incident);
  }

  unfinished(now: number, end: LifeEnd): readonly TimelineSlice[] {
    return this.#slices.unfinished(now).flatMap((slice) => timelineSlice(this.#number, slice, end) ?? []);
  }

  /** Another worker has claimed the run. */
  finish(attempts: readonly AttemptRecord[], lastSign: number): void {
    const isReleased = attempts.some(({ epoch, endedAt }) => epoch === this.#epoch && endedAt !== null);
    this.#end = isReleased ? "released" : "died";
    this.#slices.finish({ end: this.#end, lastSign });
  }
}

import type { StoreReader } from "../../../store/store.ts";
import type { StoreActivity } from "../databases/crash-database.ts";
import { SimulatedViewer, type ViewerHost, type ViewerRecord } from "./simulated-viewer.ts";
import type { ViewerConduct } from "./viewer-conduct.ts";

/** The viewers of a world's run. They are given a step whenever a process reaches a point, and whenever time has passed. */
export class WorldViewers {
  readonly #viewers: readonly SimulatedViewer[];
  readonly #observer: StoreReader;
  readonly #runId: string;
  readonly #activity: StoreActivity;
  #last: Promise<void> = Promise.resolve();
  #steps = 0;
  #isThere = false;
  #isOver = false;

  constructor(
    conducts: readonly ViewerConduct[],
    host: ViewerHost,
    observer: StoreReader,
    activity: StoreActivity,
  ) {
    this.#viewers = conducts.map((conduct) => new SimulatedViewer(conduct, host));
    this.#observer = observer;
    this.#runId = host.runId;
    this.#activity = activity;
  }

  get records(): readonly ViewerRecord[] {
    return this.#viewers.map(({ record }) => record);
  }

  /** One after the other, and never two at once: the same schedule does the same each time. */
  step(workers: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.#activity.inFlight += 1;
    this.#last = this.#last
      .then(() => this.#step(workers))
      .finally(() => {
        this.#activity.inFlight -= 1;
      });
    return this.#last;
  }

  /** The work is done. Viewers see the rest; those that wait for the end join now. */
  async finish(): Promise<void> {
    await this.#last;
    this.#isOver = true;
    this.#isThere ||= (await this.#observer.getRun(this.#runId)) !== null;
    if (this.#isThere) for (const viewer of this.#viewers) await viewer.finish();
  }

  async #step(workers: number): Promise<void> {
    if (this.#isOver) return;
    this.#isThere ||= (await this.#observer.getRun(this.#runId)) !== null;
    if (!this.#isThere) return;
    this.#steps += 1;
    for (const viewer of this.#viewers) await viewer.step({ step: this.#steps, workers });
  }
}

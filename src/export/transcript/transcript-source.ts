import type { StepPath } from "../../core/step-path.ts";
import type {
  Receipt,
  StepRecord,
  StoreReader,
  ToolCallAttempt,
  ToolCallRecord,
  WaitRecord,
} from "../../store/store.ts";
import type { RecordLookup } from "../record-lookup.ts";
import { everyRecord } from "../record-pages.ts";
import { readLargeResult } from "../result-texts.ts";
import type { RunOutline } from "../run-outline.ts";
import { readGround, type StepGround } from "../step-ground.ts";
import { settledCall, settledLine } from "./transcript-call.ts";

/** What a transcript is written from, beside what its events tell of. */
export class TranscriptSource {
  readonly outline: RunOutline;
  readonly #reader: StoreReader;
  readonly #records: RecordLookup;
  /** By call, where a person has answered a question about it; null for one who gave no name. */
  readonly #answeredBy: ReadonlyMap<string, string | null>;

  #large: { readonly blobId: string; readonly text: string | null } | null = null;

  private constructor(
    reader: StoreReader,
    outline: RunOutline,
    records: RecordLookup,
    answeredBy: ReadonlyMap<string, string | null>,
  ) {
    this.outline = outline;
    this.#reader = reader;
    this.#records = records;
    this.#answeredBy = answeredBy;
  }

  static async open(
    reader: StoreReader,
    outline: RunOutline,
    records: RecordLookup,
  ): Promise<TranscriptSource> {
    const answeredBy = new Map<string, string | null>();
    for await (const wait of everyRecord<WaitRecord>((range) => reader.listWaits(outline.run.runId, range)))
      if (wait.toolCallId !== null && wait.status === "answered")
        answeredBy.set(wait.toolCallId, wait.answeredBy);
    return new TranscriptSource(reader, outline, records, answeredBy);
  }

  findTry(toolCallId: string, attempt: number): Promise<ToolCallAttempt | null> {
    return this.#records.toolCallTry(toolCallId, attempt);
  }

  /** What the agent was told after a turn, to make it go on. */
  async findFollowUp(stepPath: StepPath, turnIndex: number): Promise<string | null> {
    return (await this.#records.turn(stepPath, turnIndex))?.followUp ?? null;
  }

  findGround(step: StepRecord): Promise<StepGround | null> {
    return readGround(this.#reader, this.outline, step);
  }

  settledLine(call: ToolCallRecord): string {
    return settledLine(call, this.#answeredBy.get(call.toolCallId) ?? null);
  }

  /** With its result: of a large one the beginning, one after the other, since together they may be more than fits. */
  async settledCall(call: ToolCallRecord): Promise<string> {
    const beginning = call.receipt === null ? null : await this.#beginningOf(call.receipt);
    return settledCall(call, { settledBy: this.#answeredBy.get(call.toolCallId) ?? null, beginning });
  }

  /** A call that repeats another has its result: the last one that was read is kept. */
  async #beginningOf(receipt: Receipt): Promise<string | null> {
    if (receipt.blob === null) return null;
    const { blobId } = receipt.blob;
    if (this.#large?.blobId !== blobId)
      this.#large = { blobId, text: await readLargeResult(this.#reader, this.outline.run.runId, receipt) };
    return this.#large.text;
  }
}

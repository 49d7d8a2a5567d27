import type { StepPath } from "../../core/step-path.ts";
import type {
  MessageRecord,
  Receipt,
  StepRecord,
  StoreReader,
  ToolCallAttempt,
  ToolCallRecord,
  WaitRecord,
} from "../../store/store.ts";
import { type AgentSetup, readAgentSetup } from "../agent-setup.ts";
import { type ExchangeFigures, exchangeFigures } from "../exchanges.ts";
import type { RecordLookup } from "../record-lookup.ts";
import { everyRecord } from "../record-pages.ts";
import { readLargeResult } from "../result-texts.ts";
import type { RunOutline } from "../run-outline.ts";
import { settledCall, settledLine } from "./transcript-call.ts";

/** The data for a transcript that is not in the incidents. */
export class TranscriptSource {
  readonly outline: RunOutline;
  readonly #reader: StoreReader;
  readonly #records: RecordLookup;
  /** The person who answered a question about a call, by call; null for a person without a name. */
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

  findAttempt(toolCallId: string, attempt: number): Promise<ToolCallAttempt | null> {
    return this.#records.toolCallAttempt(toolCallId, attempt);
  }

  /** The message that the agent got after a turn, to make it continue. */
  async findFollowUp(stepPath: StepPath, turnIndex: number): Promise<string | null> {
    return (await this.#records.turn(stepPath, turnIndex))?.followUp ?? null;
  }

  /** The message of this number. */
  findMessage(messageNo: number): Promise<MessageRecord | null> {
    return this.#records.message(messageNo);
  }

  /** The exchange of this number, with what it cost. */
  findExchange(stepPath: StepPath, exchange: number): Promise<ExchangeFigures | null> {
    return exchangeFigures(this.#reader, this.outline.run.runId, { stepPath, exchange });
  }

  findAgentSetup(step: StepRecord): Promise<AgentSetup | null> {
    return readAgentSetup(this.#reader, this.outline, step);
  }

  settledLine(call: ToolCallRecord): string {
    return settledLine(call, this.#answeredBy.get(call.toolCallId) ?? null);
  }

  /** With its result, or the beginning of a large one. One at a time: together they may not fit into memory. */
  async settledCall(call: ToolCallRecord): Promise<string> {
    const beginning = call.receipt === null ? null : await this.#beginningOf(call.receipt);
    return settledCall(call, { settledBy: this.#answeredBy.get(call.toolCallId) ?? null, beginning });
  }

  /** A deduplicated call has the result of another call, so the last one that was read is cached. */
  async #beginningOf(receipt: Receipt): Promise<string | null> {
    if (receipt.blob === null) return null;
    const { blobId } = receipt.blob;
    if (this.#large?.blobId !== blobId)
      this.#large = { blobId, text: await readLargeResult(this.#reader, this.outline.run.runId, receipt) };
    return this.#large.text;
  }
}

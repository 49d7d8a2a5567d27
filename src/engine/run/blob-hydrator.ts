import { type BlobReference, renderMissingBlob } from "../../core/blob-reference.ts";
import { BlobMissingError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { ledgerCallsOf, type ToolOutput } from "../../core/message.ts";
import type { StoreReader, TurnRecord } from "../../store/store.ts";
import type { RunWith } from "./active-run.ts";

/** Replaces references to blobs in tool results by their content. Only a recorded reference counts as one. */
export class BlobHydrator {
  readonly #run: RunWith<"store" | "runId" | "observe">;
  readonly #mayBeMissing: (toolName: string) => boolean;

  /** A missing result of a tool for which `mayBeMissing` returns true is replaced by a marker; others throw. */
  constructor(run: RunWith<"store" | "runId" | "observe">, mayBeMissing: (toolName: string) => boolean) {
    this.#run = run;
    this.#mayBeMissing = mayBeMissing;
  }

  async turn(turn: TurnRecord): Promise<TurnRecord> {
    if (turn.calls.every((call) => (call.receipt?.blob ?? null) === null)) return turn;
    const parts = ledgerCallsOf(turn.response.content);
    const calls = await Promise.all(
      turn.calls.map(async (call) => {
        const { receipt } = call;
        if (receipt === null || receipt.blob === null) return call;
        const name = parts[call.callIndex - 1]?.toolName ?? call.tool;
        return {
          ...call,
          receipt: { ...receipt, output: await this.#output(receipt.output, receipt.blob, name) },
        };
      }),
    );
    return { ...turn, calls };
  }

  async #output(output: ToolOutput, blob: BlobReference, toolName: string): Promise<ToolOutput> {
    try {
      return { type: output.type, value: await readBlobValue(this.#run, blob, toolName) } as ToolOutput;
    } catch (error) {
      if (!(BlobMissingError.isInstance(error) && this.#mayBeMissing(toolName))) throw error;
      const message = `Blob ${blob.blobId} (a result of ${toolName}) is gone: the model sees a marker in its place.`;
      this.#run.observe.emit({ type: "warning", runId: this.#run.runId, message });
      return { type: "text", value: renderMissingBlob(blob) };
    }
  }
}

/** Reads a large result by its reference; throws `BlobMissingError` if it is gone. */
export async function readBlobValue(
  run: { readonly store: Pick<StoreReader, "readBlob">; readonly runId: string },
  { blobId, size }: BlobReference,
  toolName: string,
): Promise<Json> {
  const bytes = await run.store.readBlob(run.runId, blobId);
  if (bytes !== null) return JSON.parse(Buffer.from(bytes).toString("utf8")) as Json;
  throw new BlobMissingError(
    `Blob ${blobId} (${size} bytes, a result of ${toolName}) of run ${run.runId} is gone: restore it from a backup of the store, or set degradedReplay on the step if its tool is \`repeat\` or \`keyed\`.`,
    { blobId, runId: run.runId },
  );
}

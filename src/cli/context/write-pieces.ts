import { inChunks } from "../../export/text-pieces.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommandResult } from "./command.ts";

/** Streams a long text or document with backpressure; stops when the reader closes the stream. */
export async function writePieces(
  { stdout }: Pick<CliContext, "stdout">,
  pieces: AsyncIterable<string>,
): Promise<CommandResult> {
  for await (const piece of inChunks(pieces)) {
    if (stdout.isClosed) break;
    stdout.write(piece);
    await stdout.drained();
  }
  return { exitCode: 0, text: "", document: undefined };
}

import { inChunks } from "../../export/text-pieces.ts";
import type { CliContext } from "./cli-context.ts";
import type { CommandEnd } from "./command.ts";

/** Writes a long text or document as it is made, no faster than it is read, and until the reader has left. */
export async function writePieces(
  { stdout }: Pick<CliContext, "stdout">,
  pieces: AsyncIterable<string>,
): Promise<CommandEnd> {
  for await (const piece of inChunks(pieces)) {
    if (stdout.isClosed) break;
    stdout.write(piece);
    await stdout.drained();
  }
  return { exitCode: 0, text: "", document: undefined };
}

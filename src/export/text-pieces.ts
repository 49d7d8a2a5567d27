/** A text that is generated piece by piece: the text of a long run is never held in memory as a whole. */
export type TextPieces = AsyncGenerator<string, void, undefined>;

/** One write per piece would take longer than generating the pieces. */
const CHUNK_CHARACTERS = 1 << 16;

/** The same text in larger pieces. */
export async function* inChunks(pieces: AsyncIterable<string>): TextPieces {
  let chunk = "";
  for await (const piece of pieces) {
    chunk += piece;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

/** The whole text, if it is known to be short. */
export async function wholeText(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

/**
 * A document as `JSON.stringify` writes it, with a line end. A property may be a list that is generated item by item.
 *
 * @example
 * jsonPieces({ runId, turns: everyRecord<TurnRecord>((range) => reader.listTurns(runId, range)) }, 2);
 */
export async function* jsonPieces(document: object, indent: number): TextPieces {
  const [outer, inner] = [" ".repeat(indent), " ".repeat(indent * 2)];
  let separator = "{\n";
  for (const [name, value] of Object.entries(document)) {
    const head = `${separator}${outer}${JSON.stringify(name)}: `;
    if (isPieced(value)) {
      yield `${head}[`;
      let isEmpty = true;
      for await (const item of value) {
        yield `${isEmpty ? "" : ","}\n${inner}${indented(item, indent, inner)}`;
        isEmpty = false;
      }
      yield isEmpty ? "]" : `\n${outer}]`;
    } else {
      const text = indented(value, indent, outer);
      if (text === undefined) continue;
      yield `${head}${text}`;
    }
    separator = ",\n";
  }
  yield separator === "{\n" ? "{}\n" : "\n}\n";
}

function isPieced(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** JSON has line ends only between its tokens, never inside a string. Undefined for a value that JSON leaves out. */
function indented(value: unknown, indent: number, margin: string): string | undefined {
  const text = JSON.stringify(value, null, indent) as string | undefined;
  return text?.replaceAll("\n", `\n${margin}`);
}

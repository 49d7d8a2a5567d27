/** What can be known of a message without parsing it. */
export type MessageOutline = {
  /** The JSON of its id; null if it has none, or one that is too long. */
  readonly id: string | null;
  /** True for a request or notification, false for an answer. */
  readonly hasMethod: boolean;
  /** A lower bound of its number of values: commas and brackets outside of strings. */
  readonly values: number;
};

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** An id is a number or a short string. */
const LONGEST_ID = 100;
/** `method`, with every letter as an escape. */
const LONGEST_KEY = 40;

/**
 * Looks once at each character, and keeps nothing: parsing a message of many small values takes a hundred times as long. A
 * text that is not JSON has an outline too; the parser will reject it.
 */
export function outlineOf(text: string): MessageOutline {
  let depth = 0;
  let values = 1;
  let key = { from: 0, end: 0 };
  let idFrom: number | null = null;
  let id: string | null = null;
  let hasMethod = false;
  const endId = (end: number) => {
    if (depth !== 1 || idFrom === null) return;
    id = end - idFrom > LONGEST_ID ? null : text.slice(idFrom, end).trim();
    idFrom = null;
  };
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (depth === 1) key = { from: at, end };
        at = end;
        break;
      }
      case COLON: {
        if (depth !== 1) break;
        const name = keyIn(text, key);
        // Of duplicate keys, the parser uses the last.
        if (name === "id") idFrom = at + 1;
        else if (name === "method") hasMethod = true;
        break;
      }
      case COMMA:
        values += 1;
        endId(at);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        values += 1;
        depth += 1;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        endId(at);
        depth -= 1;
        break;
    }
  }
  return { id, hasMethod, values };
}

/** The end of the string that begins at a quote. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}

function keyIn(text: string, { from, end }: { readonly from: number; readonly end: number }): string | null {
  if (end - from > LONGEST_KEY) return null;
  const key = text.slice(from + 1, end);
  if (!key.includes("\\")) return key;
  try {
    return JSON.parse(`"${key}"`) as string;
  } catch {
    return null;
  }
}

import { markAround } from "../../core/secret/secret-mark.ts";

/** The bytes read of a response, and whether there were more. */
export type ResponseBytes = {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
  /** The connection broke off in the middle. */
  readonly isBroken: boolean;
};

/** Reads at most so many bytes, however many the other side sends. */
export async function readAtMost({ body }: Response, most: number): Promise<ResponseBytes> {
  if (body === null) return { bytes: new Uint8Array(), isWhole: true, isBroken: false };
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const read = (end: Pick<ResponseBytes, "isWhole" | "isBroken">): ResponseBytes => {
    const bytes = new Uint8Array(Buffer.concat(chunks).subarray(0, most));
    return { bytes, ...end };
  };
  try {
    for (;;) {
      const chunk: { readonly done: boolean; readonly value?: Uint8Array } = await reader.read();
      if (chunk.done || chunk.value === undefined) return read({ isWhole: true, isBroken: false });
      chunks.push(chunk.value);
      size += chunk.value.byteLength;
      if (size > most) return read({ isWhole: false, isBroken: false });
    }
  } catch {
    return read({ isWhole: false, isBroken: true });
  } finally {
    // Unread bytes would keep the connection.
    await reader.cancel().catch(() => undefined);
  }
}

/** The two parts of `text/html; charset=ISO-8859-1`, in lower case. */
export function contentTypeOf({ headers }: Response): {
  readonly type: string;
  readonly charset: string | null;
} {
  const [type = "", ...parameters] = (headers.get("content-type") ?? "").toLowerCase().split(";");
  const charset = parameters
    .map((each) => /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/.exec(each)?.[1])
    .find(Boolean);
  return { type: type.trim(), charset: charset ?? null };
}

/** The encoding that a page itself names, for when the server does not. */
export function charsetIn(beginning: string): string | null {
  return /<meta[^>]{0,200}charset\s*=\s*["']?([\w-]{1,40})/i.exec(beginning)?.[1] ?? null;
}

/** Decodes with this encoding, or with UTF-8 if it is unknown. */
export function decoded(bytes: Uint8Array, charset: string | null): string {
  try {
    return new TextDecoder(charset ?? "utf-8").decode(bytes);
  } catch {
    return new TextDecoder("utf-8").decode(bytes);
  }
}

const TEXT_TYPES =
  /^text\/|^application\/(?:.+\+)?(?:json|xml|yaml|x-yaml|javascript|x-ndjson|x-www-form-urlencoded)$/;

export function isTextType(type: string): boolean {
  return TEXT_TYPES.test(type);
}

/** At most so many characters of a text from a position on, cut between characters, and how many are left. */
export function beginningOf(
  text: string,
  from: number,
  most: number,
): { readonly text: string; readonly rest: number } {
  // Not through a secret's mark: half of it would expose part of a digest.
  const start = markAround(text, from)?.start ?? from;
  let end = Math.min(text.length, from + most);
  end = markAround(text, end)?.end ?? end;
  // Nor through the middle of a surrogate pair.
  if (end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end--;
  return { text: text.slice(start, end).toWellFormed(), rest: text.length - end };
}

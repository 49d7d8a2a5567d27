import { isDeeper, type Json, MAX_PAYLOAD_DEPTH } from "../../core/json.ts";
import { HttpProblem } from "../http-problem.ts";

/** How much a request may send, and for how long. */
export type BodyLimits = { readonly maxBytes: number; readonly maxMs: number };

/**
 * The JSON of a request; undefined if it has no body. It must say that it is JSON: a form of another site cannot.
 */
export async function readJson(request: Request, limits: BodyLimits): Promise<Json | undefined> {
  const type = request.headers.get("content-type");
  if (type !== null && !/^application\/json\s*(;|$)/i.test(type))
    throw new HttpProblem(
      415,
      "not_json_type",
      `The body is ${JSON.stringify(type.slice(0, 100))}: send JSON, with the header content-type: application/json.`,
    );
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type ?? "")?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw new HttpProblem(
      415,
      "not_json_type",
      `The body is in the charset ${JSON.stringify(charset.slice(0, 100))}: send JSON in UTF-8.`,
    );
  const text = decoded(await readBytes(request, limits));
  if (text === "") return undefined;
  if (type === null)
    throw new HttpProblem(
      415,
      "not_json_type",
      "The body has no type: send JSON, with the header content-type: application/json.",
    );
  return parse(text);
}

function parse(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw new HttpProblem(400, "bad_json", "The body is not JSON: check that it was sent whole.");
  }
  if (isDeeper(value, MAX_PAYLOAD_DEPTH))
    throw new HttpProblem(
      422,
      "too_deep",
      `The body is nested more than ${MAX_PAYLOAD_DEPTH} levels deep: send it flatter, or as a text.`,
    );
  return value;
}

/** Other bytes would be replaced in what is stored, without a word. */
function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HttpProblem(400, "bad_json", "The body is not UTF-8: encode the JSON as UTF-8.");
  }
}

/** Read piece by piece, so that a larger body is never in memory, and a slow one does not hold a request for ever. */
async function readBytes(request: Request, { maxBytes, maxMs }: BodyLimits): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const body: ReadableStream<Uint8Array> | null = request.body;
  const reader = body?.getReader();
  if (reader === undefined) return new Uint8Array();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooSlow(maxMs)), maxMs);
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) break;
      size += value.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      pieces.push(value);
    }
  } catch (error) {
    void reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(pieces);
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem(
    413,
    "body_too_large",
    `The body is larger than ${maxBytes} bytes: send less at a time.`,
    { details: { maxBytes } },
  );
}

function tooSlow(maxMs: number): HttpProblem {
  return new HttpProblem(
    408,
    "body_too_slow",
    `The body was not sent within ${maxMs / 1_000} seconds: send the request again.`,
  );
}

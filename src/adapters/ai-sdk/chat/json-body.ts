import type { Json } from "../../../core/json.ts";
import { ChatProblem } from "./chat-problem.ts";

/**
 * The JSON of a request. It must say that it is JSON: a form on another site can send any text in the name of a signed-in
 * user, but not with that content type.
 */
export async function readJsonBody(request: Request, maxBytes: number): Promise<Json> {
  if (!isJson(request))
    throw new ChatProblem(415, "The body must be JSON: send the header content-type: application/json.");
  const text = await readText(request, maxBytes);
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new ChatProblem(400, "The body is not JSON.");
  }
}

/**
 * Refuses what a page of another site can send in the name of a signed-in user: a form, or a request without a body. For JSON
 * the browser asks this server first.
 */
export function assertNotForeign(request: Request): void {
  if (isJson(request)) return;
  if (request.headers.get("sec-fetch-site") === "cross-site")
    throw new ChatProblem(403, "A page of another site may not send this: send it from a page of this one.");
  const type = request.headers.get("content-type") ?? "";
  if (/^(text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(type))
    throw new ChatProblem(415, "This is not for forms: send the request without a body, or as JSON.");
}

function isJson({ headers }: Request): boolean {
  return /^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(headers.get("content-type") ?? "");
}

/** Read piece by piece, so that a larger body is never in memory. */
async function readText(request: Request, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | null = request.body;
  for await (const piece of body ?? []) {
    size += piece.byteLength;
    if (size > maxBytes)
      throw new ChatProblem(413, `The body is larger than ${maxBytes} bytes: send less at a time.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

import type { Json } from "../../../core/json.ts";
import { ChatProblem } from "./chat-problem.ts";

/**
 * The JSON of a request. It must say that it is JSON: a form on another site can send any text in the name of a signed-in
 * user, but not with that content type.
 */
export async function readJsonBody(request: Request, maxBytes: number): Promise<Json> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type))
    throw new ChatProblem(415, "The body must be JSON: send the header content-type: application/json.");
  const text = await readText(request, maxBytes);
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new ChatProblem(400, "The body is not JSON.");
  }
}

/** Refuses what a form on another site can send in the name of a signed-in user. A request without a body is no form. */
export function assertNoForm(request: Request): void {
  const type = request.headers.get("content-type") ?? "";
  if (/^(text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(type))
    throw new ChatProblem(415, "This is not for forms: send the request without a body, or as JSON.");
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

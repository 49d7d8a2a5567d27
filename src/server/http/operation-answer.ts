import type { Route } from "../api/routes.ts";
import type { PartialAct } from "../handler.ts";

/** What a handler returns that is no `Response` of its own. */
export type DocumentAnswer = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly acts?: readonly PartialAct[];
};

/** Throws if the document is not what the route promises. For tests and development: it reads every value again. */
export function assertPromised(route: Route, { status, body }: DocumentAnswer): void {
  const schema = route.answers[status];
  if (schema === undefined || typeof schema === "string")
    throw new Error(`The operation answered ${status} with a document, which its route does not have.`);
  const result = schema.safeParse(body);
  if (result.success) return;
  const [issue] = result.error.issues;
  throw new Error(
    `The answer ${status} does not fit its schema at ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}.`,
  );
}

/** A document as JSON; nothing but its headers if the client has it already. */
export function documentResponse(request: Request, { status, body, headers = {} }: DocumentAnswer): Response {
  const sent = new Headers(headers);
  const tag = sent.get("etag");
  if (tag !== null) {
    // The client keeps it, and asks each time whether it is still the same.
    if (!sent.has("cache-control")) sent.set("cache-control", "private, no-cache");
    if (status === 200 && isKnown(request, tag)) return new Response(null, { status: 304, headers: sent });
  }
  sent.set("content-type", "application/json");
  return new Response(JSON.stringify(body), { status, headers: sent });
}

/** True if the client names this version. Tags are compared weakly: a proxy that compresses makes them weak. */
function isKnown(request: Request, tag: string): boolean {
  const named = request.headers.get("if-none-match");
  if (named === null) return false;
  const plain = (text: string) => text.trim().replace(/^W\//, "");
  return named.trim() === "*" || named.split(",").some((each) => plain(each) === plain(tag));
}

import { HttpProblem } from "../http-problem.ts";
import { isLoopbackName } from "./allowed-hosts.ts";

/** What a request shows of the page that made it. */
export type RequestSource = {
  readonly isSafe: boolean;
  /** It is made with the rights of a token of this store: a program adds that, and never a browser on its own. */
  readonly isOfToken: boolean;
  readonly hasCookie: boolean;
  readonly fetchSite: string | null;
  readonly origin: string | null;
};

export type SourceDecision = { readonly kind: "own" } | { readonly kind: "foreign"; readonly why: string };

/**
 * Decides whether a request may come with the rights of the person who is signed in in the browser. `Sec-Fetch-Site` is set
 * by the browser and cannot be set by a page. Over plain HTTP off this machine browsers do not send it: then `Origin`
 * decides. Content types decide nothing: a page elsewhere can send any text as any of three of them.
 */
export function decideSource(
  { isSafe, isOfToken, hasCookie, fetchSite, origin }: RequestSource,
  ownOrigins: readonly string[],
): SourceDecision {
  if (isOfToken) return { kind: "own" };
  if (fetchSite !== null)
    return ["same-origin", "none"].includes(fetchSite)
      ? { kind: "own" }
      : foreign(`Sec-Fetch-Site is ${fetchSite}`);
  if (origin !== null) return ownOrigins.includes(origin) ? { kind: "own" } : foreign(`Origin is ${origin}`);
  // Browsers send one of the two with every request that changes something.
  return isSafe || !hasCookie
    ? { kind: "own" }
    : foreign("it has a cookie, and neither Sec-Fetch-Site nor Origin");
}

/**
 * Refuses what a page of another site asks for in the name of the person who has it open. What counts is what has recognized
 * that person, and not what else was sent: a program that knows people by their cookie does so beside any bearer token.
 */
export function assertOwnSource(
  request: Request,
  { publicUrl, isOfToken }: { readonly publicUrl: string | null; readonly isOfToken: boolean },
): void {
  const { headers } = request;
  const source = {
    isSafe: ["GET", "HEAD", "OPTIONS"].includes(request.method),
    isOfToken,
    hasCookie: headers.has("cookie"),
    fetchSite: headers.get("sec-fetch-site"),
    origin: headers.get("origin"),
  };
  const decision = decideSource(source, originsOf(request, publicUrl));
  if (decision.kind === "own") return;
  throw new HttpProblem(
    403,
    "foreign_page",
    `The request was made by a page of another site (${decision.why.slice(0, 200)}): use the dashboard itself, or a token.`,
  );
}

/** The origins of the server: the public one, and that of the host which was asked for, without TLS on this machine only. */
function originsOf(request: Request, publicUrl: string | null): readonly string[] {
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return [
    `https://${host}`,
    ...(isLoopbackName(host.replace(/:\d+$/, "")) ? [`http://${host}`] : []),
    ...(publicUrl === null ? [] : [new URL(publicUrl).origin]),
  ];
}

function foreign(why: string): SourceDecision {
  return { kind: "foreign", why };
}

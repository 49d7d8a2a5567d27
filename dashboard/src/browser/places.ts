/** A page, with what its path names. */
export type Place =
  | { readonly page: "runs" }
  | { readonly page: "run"; readonly runId: string }
  | { readonly page: "inbox"; readonly waitId: string | null }
  | { readonly page: "compare" | "spend" | "health" | "workers" | "schedules" | "access" }
  | { readonly page: "unknown" };

/** The page of a path. Ids have `/`, `#` and `~` in them, so each is one encoded segment. */
export function placeOf(pathname: string): Place {
  const [first = "", second, ...more] = pathname.replace(/^\/+|\/+$/g, "").split("/");
  const id = second === undefined ? undefined : decoded(second);
  if (more.length > 0 || id === null) return { page: "unknown" };
  if (id !== undefined) {
    if (first === "runs") return { page: "run", runId: id };
    return first === "waits" ? { page: "inbox", waitId: id } : { page: "unknown" };
  }
  switch (first) {
    case "":
    case "runs":
      return { page: "runs" };
    case "waits":
      return { page: "inbox", waitId: null };
    case "compare":
    case "spend":
    case "health":
    case "workers":
    case "schedules":
    case "access":
      return { page: first };
    default:
      return { page: "unknown" };
  }
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/** Paths of what has an id. */
export const runPath = (runId: string): string => `/runs/${encodeURIComponent(runId)}`;
export const waitPath = (waitId: string): string => `/waits/${encodeURIComponent(waitId)}`;
/** A call has its place in the ledger of its run. */
export const callPath = (runId: string, callId: string): string =>
  `${runPath(runId)}?${new URLSearchParams({ view: "ledger", at: callId }).toString()}`;

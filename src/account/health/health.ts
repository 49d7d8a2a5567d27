/** The result of one check of an installation. */
export type Health = {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly what: string;
  /** What to do about it; null if nothing has to be done. */
  readonly remedy: string | null;
};

export function ok(name: string, what: string): Health {
  return { name, status: "ok", what, remedy: null };
}

export function problem(name: string, status: "warn" | "fail", what: string, remedy: string | null): Health {
  return { name, status, what, remedy };
}

/** A failed check; the error message contains the remedy. */
export function failed(name: string, error: unknown): Health {
  return problem(name, "fail", error instanceof Error ? error.message : String(error), null);
}

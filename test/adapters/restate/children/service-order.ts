/** What a service process gets. */
export type ServiceOrder = {
  /** The address of the store. */
  readonly store: string;
  /** Of PostgreSQL. */
  readonly schema?: string;
  readonly port: number;
  /** The address of the outside system that counts effects. */
  readonly effects: string;
  /** How long a tool takes after its effect. */
  readonly toolMs: number;
};

/** What it prints, one line of JSON each. */
export type ServiceLine =
  | { readonly is: "ready" }
  /** A tool has had its effect, and has not returned. */
  | { readonly is: "effect"; readonly runId: string };

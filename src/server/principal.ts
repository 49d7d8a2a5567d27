/** What a principal may do. Each role may do what those before it may. */
export type Role = "viewer" | "operator" | "admin";

/** Which runs a principal sees and acts on; null for all. Every label must be in the metadata of the run. */
export type Scope = {
  readonly pipelines: readonly string[] | null;
  readonly labels: { readonly [name: string]: string } | null;
};

/** Who makes a request. */
export type Principal = {
  readonly name: string;
  /** Distinguishes people of the same name: the id of their token, or what the host gave. */
  readonly id: string;
  readonly role: Role;
  readonly scope: Scope;
  /** How they were recognized: the cookie of a session, a bearer token, or the program that the server is mounted in. */
  readonly source: "session" | "token" | "host";
  /** When the session or token ends, in milliseconds since 1970; null if it does not. */
  readonly expiresAt: number | null;
};

import type { Role } from "../core/access/role.ts";
import type { AccessScope } from "../core/access/scope.ts";

export type { Role } from "../core/access/role.ts";
export type { AccessScope } from "../core/access/scope.ts";

/** Who makes a request. */
export type Principal = {
  readonly name: string;
  /** Of the token, or of the code that the session was made with; or what the host gave. */
  readonly id: string;
  readonly role: Role;
  readonly scope: AccessScope;
  /** How they were recognized: the cookie of a session, a bearer token, or the program that the server is mounted in. */
  readonly source: "session" | "token" | "host";
  /** When the session or token ends, in milliseconds since 1970; null if it does not. */
  readonly expiresAt: number | null;
};

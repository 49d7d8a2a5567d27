import { accessHash } from "../../core/access/access-secret.ts";
import { EVERYTHING } from "../../core/access/scope.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import type { AccessRecord, Store } from "../../store/store.ts";
import { HttpProblem } from "../http-problem.ts";
import type { AccessScope, Principal, Role } from "../principal.ts";
import { FailedLogins } from "./failed-logins.ts";
import { type AccessLookUps, KnownAccess } from "./known-access.ts";
import { newSecret } from "./secrets.ts";
import { SESSION_MS, type SessionCookies } from "./session-cookie.ts";

/** Who makes a request, as the program that serves the handler knows it. */
export type HostPrincipal = {
  readonly name: string;
  /** Distinguishes people of the same name: the same id is the same person. */
  readonly id: string;
  readonly role: Role;
  /** Which runs they see; by default all. */
  readonly scope?: AccessScope;
};

/** Says who makes a request; null if it does not know, so that tokens and sessions of Pawl are looked for. */
export type Authenticate = (request: Request) => Promise<HostPrincipal | null> | HostPrincipal | null;

/** Who makes a request, and the cookie that their browser gets with the answer. */
export type Recognized = { readonly principal: Principal | null; readonly cookie: string | null };

export type AccessOptions = {
  readonly store: AccessLookUps & Pick<Store, "grantAccess" | "redeemCode" | "endSession">;
  readonly cookies: SessionCookies;
  readonly clock: Clock;
  readonly authenticate: Authenticate | null;
  /** Everybody is a viewer. */
  readonly isReadOnly: boolean;
  /** How many wrong secrets a minute are answered with 401; further ones get 429. */
  readonly maxFailedLogins: number;
};

const CODE_MS = 5 * 60_000;

/** Recognizes who makes a request: by a bearer token, by the host's own authentication, or by the cookie of a session. */
export class Access {
  readonly #options: AccessOptions;
  readonly #failures: FailedLogins;
  readonly #known: KnownAccess;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#failures = new FailedLogins(options.clock, options.maxFailedLogins);
    this.#known = new KnownAccess(options.store, options.clock, this.#failures);
  }

  async recognize(request: Request): Promise<Recognized> {
    const bearer = /^bearer +(.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    const host = await this.#options.authenticate?.(request);
    if (host !== null && host !== undefined) return { principal: this.#ofHost(host), cookie: null };
    // A wrong token is refused also if there is a cookie: the request was meant to be made with the token.
    if (bearer !== undefined) return { principal: await this.#ofToken(bearer.trim()), cookie: null };
    return this.#ofSession(request);
  }

  /** Exchanges a code or a token for a session. */
  async signIn(
    login: { readonly code: string } | { readonly token: string },
  ): Promise<Recognized & { readonly principal: Principal }> {
    const session =
      "code" in login ? await this.#redeemed(login.code) : await this.#sessionOfToken(login.token);
    if (session === null)
      throw new HttpProblem(
        401,
        "login_refused",
        "The code or token is wrong, expired or used: make a new code with `pawl token login`, or ask for a token.",
      );
    return this.#inSession(session, this.#options.clock.now() + SESSION_MS);
  }

  /** Ends the session of a request, for this browser and for everyone who has copied its cookie. */
  async signOut(request: Request): Promise<string> {
    const { cookies, clock, store } = this.#options;
    const claim = cookies.read(request, clock.now());
    if (claim !== null) await store.endSession(claim.accessId);
    this.forget();
    return cookies.clear();
  }

  /** A code for one sign-in, within five minutes. */
  async newCode(who: {
    readonly name: string;
    readonly role: Role;
  }): Promise<{ readonly secret: string; readonly record: AccessRecord }> {
    const { store, clock } = this.#options;
    const secret = newSecret();
    const record = await store.grantAccess({
      ...who,
      kind: "code",
      scope: EVERYTHING,
      hash: accessHash(secret),
      createdBy: who.name,
      madeFrom: null,
      expiresAt: clock.now() + CODE_MS,
    });
    return { secret, record };
  }

  /** Something was revoked in this process: it takes effect with the next request. */
  forget(): void {
    this.#known.forget();
  }

  #ofHost({ name, id, role, scope = EVERYTHING }: HostPrincipal): Principal {
    return { name, id, role: this.#role(role), scope, source: "host", expiresAt: null };
  }

  async #ofToken(secret: string): Promise<Principal> {
    const record = await this.#known.ofSecret(secret);
    if (record === null)
      throw new HttpProblem(
        401,
        "token_refused",
        "The token is wrong, expired or revoked: ask for another one.",
      );
    return this.#principal(record, "token", record.expiresAt);
  }

  async #ofSession(request: Request): Promise<Recognized> {
    const { cookies, clock } = this.#options;
    const claim = cookies.read(request, clock.now());
    const record = claim === null ? null : await this.#known.ofSession(claim.accessId);
    if (claim === null || record === null) return { principal: null, cookie: null };
    if (cookies.isDue(claim, clock.now())) return this.#inSession(record, clock.now() + SESSION_MS);
    return { principal: this.#principal(record, "session", claim.expiresAt), cookie: null };
  }

  #inSession(record: AccessRecord, expiresAt: number): Recognized & { readonly principal: Principal } {
    const { cookies, clock } = this.#options;
    return {
      principal: this.#principal(record, "session", expiresAt),
      cookie: cookies.set({ accessId: record.id, expiresAt }, clock.now()),
    };
  }

  /** A code is redeemed once, however many try at the same time. A wrong one is looked up, and does not take the lock of the redeemers. */
  async #redeemed(code: string): Promise<AccessRecord | null> {
    const { store } = this.#options;
    const hash = accessHash(code);
    const record = (await store.findAccess(hash)) === null ? null : await store.redeemCode(hash);
    if (record === null) this.#failures.add();
    return record;
  }

  /** A session has an access of its own, so that it can end before the token that it was made with. */
  async #sessionOfToken(token: string): Promise<AccessRecord | null> {
    const { store, clock } = this.#options;
    const made = await this.#known.ofSecret(token);
    if (made === null) return null;
    const hash = accessHash(newSecret());
    const { name, role, scope, id } = made;
    const expiresAt = clock.now() + CODE_MS;
    await store.grantAccess({
      kind: "code",
      name,
      role,
      scope,
      hash,
      createdBy: name,
      madeFrom: id,
      expiresAt,
    });
    return store.redeemCode(hash);
  }

  #principal(record: AccessRecord, source: "session" | "token", expiresAt: number | null): Principal {
    const { id, name, role, scope } = record;
    return { name, id, role: this.#role(role), scope, source, expiresAt };
  }

  #role(role: Role): Role {
    return this.#options.isReadOnly ? "viewer" : role;
  }
}

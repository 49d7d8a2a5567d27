import { decideAccess } from "../../core/access/access-decision.ts";
import { accessHash } from "../../core/access/access-secret.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import type { AccessRecord, Store } from "../../store/store.ts";
import type { FailedLogins } from "./failed-logins.ts";

/** A revocation by another process is seen within this time. */
const KEPT_MS = 3_000;
const MOST_KEPT = 1_000;

/** What is asked of a store with each request. */
export type AccessLookUps = Pick<Store, "findAccess" | "getAccess" | "noteAccessUse">;

type Kept = { readonly record: AccessRecord; readonly until: number };

/**
 * Looks up tokens and sessions, and keeps what it found for a few seconds: a page makes several requests a second. Only what
 * exists is kept, so that wrong secrets do not fill the memory.
 */
export class KnownAccess {
  readonly #store: AccessLookUps;
  readonly #clock: Clock;
  readonly #failures: FailedLogins;
  readonly #kept = new Map<string, Kept>();
  #forgotten = 0;

  constructor(store: AccessLookUps, clock: Clock, failures: FailedLogins) {
    this.#store = store;
    this.#clock = clock;
    this.#failures = failures;
  }

  /** The token with this secret, if it may be used now. */
  async ofSecret(secret: string): Promise<AccessRecord | null> {
    const hash = accessHash(secret);
    const key = Buffer.from(hash).toString("hex");
    const record = await this.#found(key, () => this.#store.findAccess(hash));
    if (record === null || record.kind !== "token" || !this.#isValid(record)) {
      this.#failures.add();
      return null;
    }
    return record;
  }

  /** The access that a session was made with, if it was not revoked since. The code of a session has expired long ago. */
  async ofSession(accessId: string): Promise<AccessRecord | null> {
    const record = await this.#found(`id ${accessId}`, () => this.#store.getAccess(accessId));
    if (record === null || record.revokedAt !== null) return null;
    if (record.kind === "token") return this.#isValid(record) ? record : null;
    if (record.madeFrom === null) return record;
    // A session that was made with a token ends with it.
    return (await this.ofSession(record.madeFrom)) === null ? null : record;
  }

  /** Forgets everything: something was revoked in this process. */
  forget(): void {
    this.#kept.clear();
    this.#forgotten += 1;
  }

  #isValid(record: AccessRecord): boolean {
    return decideAccess(record, this.#clock.now()).kind === "valid";
  }

  async #found(key: string, find: () => Promise<AccessRecord | null>): Promise<AccessRecord | null> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > this.#clock.monotonic()) return kept.record;
    const forgotten = this.#forgotten;
    const record = await find();
    if (record === null) {
      this.#kept.delete(key);
      return null;
    }
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    // What was read before a revocation must not stay after it.
    if (forgotten === this.#forgotten)
      this.#kept.set(key, { record, until: this.#clock.monotonic() + KEPT_MS });
    // For people who look for tokens that are not used. No request waits for it, or fails with it.
    void this.#store.noteAccessUse(record.id).catch(() => undefined);
    return record;
  }
}

import type {
  AccessReader,
  AccessRecord,
  AccessStore,
  AuditEntry,
  AuditRange,
  AuditRecord,
  NewAccess,
} from "../../src/store/store.ts";

/** The part of a store that knows people, in memory: what is in it is seen without a query, and its clock can be set. */
export class MemoryAccessStore implements Omit<AccessStore & AccessReader, "trimAudit" | "verifyAudit"> {
  readonly records = new Map<string, { record: AccessRecord; hash: string }>();
  readonly audit: AuditEntry[] = [];
  now = () => Date.now();

  async grantAccess({ hash, madeFrom = null, ...access }: NewAccess): Promise<AccessRecord> {
    const id = `acc_${this.records.size + 1}`;
    const times = { createdAt: this.now(), redeemedAt: null, lastUsedAt: null, revokedAt: null };
    const record = { ...access, ...times, madeFrom, id };
    this.records.set(id, { record, hash: Buffer.from(hash).toString("hex") });
    return record;
  }

  async redeemCode(hash: Uint8Array): Promise<AccessRecord | null> {
    const found = await this.findAccess(hash);
    if (found === null || found.kind !== "code" || found.redeemedAt !== null || found.revokedAt !== null)
      return null;
    if (found.expiresAt !== null && found.expiresAt <= this.now()) return null;
    return this.#change(found.id, { redeemedAt: this.now() });
  }

  async revokeAccess(id: string): Promise<AccessRecord | null> {
    for (const { record } of this.records.values())
      if (record.madeFrom === id) await this.revokeAccess(record.id);
    return this.records.has(id) ? this.#change(id, { revokedAt: this.now() }) : null;
  }

  async endSession(id: string): Promise<void> {
    this.#change(id, { revokedAt: this.now() });
  }

  async findAccess(hash: Uint8Array): Promise<AccessRecord | null> {
    const wanted = Buffer.from(hash).toString("hex");
    return [...this.records.values()].find((each) => each.hash === wanted)?.record ?? null;
  }

  async getAccess(id: string): Promise<AccessRecord | null> {
    return this.records.get(id)?.record ?? null;
  }

  async listAccess(): Promise<readonly AccessRecord[]> {
    return [...this.records.values()].map(({ record }) => record);
  }

  async noteAccessUse(): Promise<void> {}

  async recordAudit(entries: readonly AuditEntry[]): Promise<void> {
    this.audit.push(...entries);
  }

  async listAudit({
    limit = 100,
    after = Number.POSITIVE_INFINITY,
  }: AuditRange = {}): Promise<readonly AuditRecord[]> {
    const rows = this.audit.map((entry, index) => ({ ...entry, no: index + 1, at: this.now() }));
    return rows
      .filter(({ no }) => no < after)
      .reverse()
      .slice(0, limit);
  }

  #change(id: string, change: Partial<AccessRecord>): AccessRecord {
    const known = this.records.get(id);
    if (known === undefined) throw new Error(`There is no access ${id}.`);
    known.record = { ...known.record, ...change };
    return known.record;
  }
}

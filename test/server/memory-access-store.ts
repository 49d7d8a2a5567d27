import type { AccessRecord, AccessStore, NewAudit } from "../../src/server/access/access-port.ts";

/** The part of a store that knows people, in memory. */
export class MemoryAccessStore implements AccessStore {
  readonly records = new Map<string, { record: AccessRecord; hash: string }>();
  readonly audit: NewAudit[] = [];
  now = () => Date.now();

  async grantAccess({ hash, ...access }: Parameters<AccessStore["grantAccess"]>[0]): Promise<AccessRecord> {
    const accessId = `acc_${this.records.size + 1}`;
    const record = {
      ...access,
      accessId,
      createdAt: this.now(),
      redeemedAt: null,
      lastUsedAt: null,
      revokedAt: null,
    };
    this.records.set(accessId, { record, hash: Buffer.from(hash).toString("hex") });
    return record;
  }

  async redeemCode(hash: Uint8Array): Promise<AccessRecord | null> {
    const found = await this.findAccess(hash);
    if (found === null || found.kind !== "code" || found.redeemedAt !== null || found.revokedAt !== null)
      return null;
    if (found.expiresAt !== null && found.expiresAt <= this.now()) return null;
    return this.#change(found.accessId, { redeemedAt: this.now() });
  }

  async revokeAccess(accessId: string): Promise<boolean> {
    if (!this.records.has(accessId)) return false;
    this.#change(accessId, { revokedAt: this.now() });
    return true;
  }

  async findAccess(hash: Uint8Array): Promise<AccessRecord | null> {
    const wanted = Buffer.from(hash).toString("hex");
    return [...this.records.values()].find((each) => each.hash === wanted)?.record ?? null;
  }

  async getAccess(accessId: string): Promise<AccessRecord | null> {
    return this.records.get(accessId)?.record ?? null;
  }

  async listAccess(): Promise<readonly AccessRecord[]> {
    return [...this.records.values()].map(({ record }) => record);
  }

  async noteAccessUse(): Promise<void> {}

  async recordAudit(entries: readonly NewAudit[]): Promise<void> {
    this.audit.push(...entries);
  }

  #change(accessId: string, change: Partial<AccessRecord>): AccessRecord {
    const known = this.records.get(accessId);
    if (known === undefined) throw new Error(`There is no access ${accessId}.`);
    known.record = { ...known.record, ...change };
    return known.record;
  }
}

import { randomBytes } from "node:crypto";

const last = { ms: 0, count: 0 };

/**
 * A new run id: a UUID of version 7 (RFC 9562). Ids sort by the time at which they were made; those of one process in one
 * millisecond, by a counter.
 */
export function newRunId(): string {
  const now = Date.now();
  const isLater = now > last.ms;
  // The counter has 12 bits. It begins in the lower half, so that it rarely overflows into the next millisecond.
  last.count = isLater ? randomBytes(2).readUInt16BE() & 0x7ff : last.count + 1;
  last.ms = isLater ? now : last.ms + (last.count > 0xfff ? 1 : 0);
  last.count &= 0xfff;
  const bytes = randomBytes(16);
  bytes.writeUIntBE(last.ms, 0, 6);
  bytes.writeUInt16BE(0x7000 | last.count, 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

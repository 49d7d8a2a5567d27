// An archive is whole or fails, is made only as fast as it is read, and unpacks to what was put into it.

import { randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ZipFile, zipArchive } from "../../../src/export/archive/zip-archive.ts";
import { directoryOf, fileEnd, type ZipEntry } from "../../../src/export/archive/zip-records.ts";
import { readDirectory, unzipped } from "./read-zip.ts";

const AT = Date.UTC(2026, 10, 18, 15, 4, 6);

async function* inOrder<T>(...items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}

async function archived(...files: readonly ZipFile[]): Promise<Buffer> {
  return buffer(zipArchive(inOrder(...files)));
}

describe("an archive", () => {
  it("unpacks to its files: texts in pieces, bytes, and nothing at all", async () => {
    const noise = randomBytes(300_000);
    const archive = await archived(
      { name: "q-1/run.log", at: AT, content: inOrder("Grüße ", "👋🏽\n", "x".repeat(200_000)) },
      { name: "q-1/artifacts/Überblick 日本.txt", at: AT, content: "One." },
      { name: "q-1/artifacts/noise.bin", at: AT, content: noise },
      { name: "q-1/artifacts/empty", at: AT, content: new Uint8Array() },
    );
    const files = unzipped(archive);
    expect([...files.keys()]).toEqual([
      "q-1/run.log",
      "q-1/artifacts/Überblick 日本.txt",
      "q-1/artifacts/noise.bin",
      "q-1/artifacts/empty",
    ]);
    expect(files.get("q-1/run.log")?.toString()).toBe(`Grüße 👋🏽\n${"x".repeat(200_000)}`);
    expect(files.get("q-1/artifacts/noise.bin")?.equals(noise)).toBe(true);
    expect(archive.byteLength).toBeLessThan(noise.byteLength + 2_000);
  });

  it("has files for their owner only, as the export to a folder, and may have none", async () => {
    const [entry] = readDirectory(await archived({ name: "a", at: 0, content: "A" }), 0);
    expect(entry?.mode).toBe(0o100600);
    expect(unzipped(await archived()).size).toBe(0);
  });

  it("is the same for the same files", async () => {
    const files = () => [
      { name: "a", at: AT, content: inOrder("a".repeat(100_000), "b") },
      { name: "b", at: 0, content: "b" },
    ];
    expect((await archived(...files())).equals(await archived(...files()))).toBe(true);
  });

  it("fails where a file fails, and does not end", async () => {
    async function* failing(): AsyncGenerator<string, void, undefined> {
      yield "x".repeat(100_000);
      throw new Error("The store does not answer.");
    }
    const pieces: Uint8Array[] = [];
    const read = async () => {
      for await (const piece of zipArchive(inOrder({ name: "a", at: 0, content: failing() })))
        pieces.push(piece);
    };
    await expect(read()).rejects.toThrow("The store does not answer.");
    expect(() => unzipped(Buffer.concat(pieces))).toThrow();
  });

  it("is made as it is read, and no longer once its reader has left", async () => {
    const seen = { pieces: 0, files: 0, ended: 0 };
    async function* noise(): AsyncGenerator<string, void, undefined> {
      try {
        for (;;) {
          seen.pieces += 1;
          yield randomBytes(50_000).toString("hex");
        }
      } finally {
        seen.ended += 1;
      }
    }
    async function* files(): AsyncGenerator<ZipFile, void, undefined> {
      try {
        for (;;) {
          seen.files += 1;
          yield { name: `${seen.files}`, at: 0, content: noise() };
        }
      } finally {
        seen.ended += 1;
      }
    }
    const archive = zipArchive(files());
    for (let i = 0; i < 5; i++) await archive.next();
    await sleep(100);
    const before = seen.pieces;
    // A piece in the compressor, and one or two on their way to it.
    expect(before).toBeLessThan(10);
    await sleep(50);
    expect(seen).toEqual({ pieces: before, files: 1, ended: 0 });
    await archive.return();
    await expect.poll(() => seen.ended).toBe(2);
    expect(seen.pieces).toBeLessThanOrEqual(before + 1);
  });
});

describe("numbers that do not fit", () => {
  const GIGABYTES_5 = 5 * 2 ** 30;
  const entry = (over: Partial<ZipEntry>): ZipEntry => ({
    name: "a",
    at: AT,
    crc: 7,
    size: 1,
    packedSize: 1,
    offset: 0,
    end: 0,
    ...over,
  });

  it.each([
    ["a large file", [entry({ size: GIGABYTES_5, packedSize: 3 })], 100],
    ["a large archive", [entry({}), entry({ name: "b", offset: GIGABYTES_5 })], GIGABYTES_5 + 100],
    ["the last numbers that fit", [entry({ size: 0xffff_fffe })], 0xffff_fffe],
    ["the first number that does not", [entry({ offset: 0xffff_ffff })], 0xffff_ffff],
    ["many files", Array.from({ length: 70_000 }, (_, i) => entry({ name: `${i}` })), 100],
  ])("are in the wide fields of the directory: %s", (_, entries, offset) => {
    const read = readDirectory(directoryOf(entries, offset), offset);
    const shown = ({ name, crc, size, packedSize, offset: at }: Omit<ZipEntry, "at" | "end">) =>
      [name, crc, size, packedSize, at].join();
    expect(read.map(shown)).toEqual(entries.map(shown));
  });

  it("are behind their file in wide fields, too", () => {
    expect(fileEnd({ crc: 1, size: 2, packedSize: 3 }).byteLength).toBe(16);
    const end = fileEnd({ crc: 1, size: GIGABYTES_5, packedSize: 3 });
    expect([end.readBigUInt64LE(8), end.readBigUInt64LE(16)]).toEqual([3n, BigInt(GIGABYTES_5)]);
  });
});

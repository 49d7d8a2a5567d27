import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  BundleRefusedError,
  ConfigurationError,
  exportBundle,
  importBundle,
  openStore,
  RunBusyError,
  type Store,
} from "../../../src/index.ts";
import { waitingRun } from "../../../src/testing/store/sample-move.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";

let source: Store;
let target: Store;
let file: string;

beforeEach(async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-bundle-"));
  [source, target] = [await openStore(":memory:"), await openStore(":memory:")];
  file = join(folder, "run.bundle");
  onTestFinished(async () => {
    await Promise.all([source.close({ graceMs: 0 }), target.close({ graceMs: 0 })]);
    rmSync(folder, { recursive: true });
  });
});

/** Moves a run into the file. */
async function exported(): Promise<void> {
  await waitingRun(source);
  await exportBundle(source, "run-1", { file, to: await target.storeId() });
}

/** The reason why the file is refused; the target must have nothing of it. */
async function refusal(): Promise<string> {
  const error: unknown = await importBundle(target, file).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!BundleRefusedError.isInstance(error)) throw new Error(`It was not refused: ${String(error)}`);
  expect(await target.listRuns()).toEqual([]);
  return error.details.reason;
}

/** The content of a compressed file; null if it cannot be read. */
function textIn(compressed: Uint8Array): string | null {
  try {
    return gunzipSync(compressed).toString("latin1");
  } catch {
    return null;
  }
}

function lines(): string[] {
  return gunzipSync(readFileSync(file)).toString("utf8").trimEnd().split("\n");
}

/** Writes a bundle of these lines, with the count and the hash that belong to them. */
function forge(content: readonly string[], wrong: { lines?: number; sha256?: string } = {}): void {
  const text = content.map((line) => `${line}\n`).join("");
  const sha256 = createHash("sha256").update(text).digest("hex");
  const end = JSON.stringify({ end: { lines: content.length, sha256, ...wrong } });
  writeFileSync(file, gzipSync(`${text}${end}\n`));
}

/** The lines without the last, with one value of the first row of a table replaced. */
function changed(table: string, column: string, value: unknown): string[] {
  const content = lines().slice(0, -1);
  const header = JSON.parse(content[0] ?? "") as { tables: Record<string, string[]> };
  const at = content.findIndex((line) => line.startsWith(`["${table}",`));
  const [, values] = JSON.parse(content[at] ?? "") as [string, unknown[]];
  const index = header.tables[table]?.indexOf(column) ?? -1;
  expect([at > 0, index >= 0, values[index]]).not.toEqual([true, true, value]);
  return content.with(at, JSON.stringify([table, values.with(index, value)]));
}

describe("a bundle", () => {
  it("is the same, byte by byte, however often it is made", async () => {
    await exported();
    const first = readFileSync(file);
    await exportBundle(source, "run-1", { file, to: await target.storeId() });
    expect(readFileSync(file).equals(first)).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("is refused wherever it is cut off", async () => {
    await exported();
    const whole = readFileSync(file);
    for (const share of [0, 0.001, 0.2, 0.5, 0.9, 0.999]) {
      writeFileSync(file, whole.subarray(0, Math.floor(whole.length * share)));
      expect(["damaged", "no_bundle"]).toContain(await refusal());
    }
    writeFileSync(file, whole.subarray(0, -1));
    expect(await refusal()).toBe("damaged");
  });

  it("is refused with any byte changed, and accepted once it is as it was", async () => {
    await exported();
    const whole = readFileSync(file);
    let refused = 0;
    for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 40)) {
      const other = whole.with(at, (whole[at] ?? 0) ^ 0x11);
      // Some bytes say nothing about the content, such as the time of the compression.
      if (textIn(other) === textIn(whole)) continue;
      writeFileSync(file, other);
      expect(["damaged", "no_bundle", "version"]).toContain(await refusal());
      refused += 1;
    }
    expect(refused).toBeGreaterThan(30);
    writeFileSync(file, whole);
    expect((await importBundle(target, file)).run.status).toBe("waiting");
  });

  it("is refused if lines are missing, moved or follow its end, although it is whole as a file", async () => {
    await exported();
    const content = lines();
    const [rows, end] = [content.slice(0, -1), content.at(-1) ?? ""];
    for (const forged of [
      rows.toSpliced(5, 1),
      rows.toSpliced(2, 0, rows[3] ?? ""),
      [...rows.slice(0, 1), ...rows.slice(2)],
      rows.with(3, rows[4] ?? "").with(4, rows[3] ?? ""),
      [...rows.slice(0, 1), ...rows.slice(1).reverse()],
      [...rows, '["workers",["anna","run-1","1",1,null,null]]'],
      [...rows, '["turns",[1]]'],
      [...rows, "[]"],
      [...rows, "{}"],
      [...rows, "no JSON"],
      [...rows, end],
    ]) {
      forge(forged);
      expect(await refusal()).toBe("damaged");
    }
    for (const wrong of [{ lines: rows.length - 1 }, { sha256: "0".repeat(64) }]) {
      forge(rows, wrong);
      expect(await refusal()).toBe("damaged");
    }
    forge(rows);
    expect((await importBundle(target, file)).isNew).toBe(true);
  });

  it.for([
    ["events", "type", "run.failed"],
    ["events", "of_run", 0],
    ["runs", "status", "running"],
    ["runs", "moved", null],
    ["runs", "charged_tokens", 0],
    ["runs", "event_seq", 3],
    ["runs", "epoch", 99],
    ["run_inputs", "input", '"other"'],
    ["turns", "response", "{}"],
    ["waits", "question", "May I?"],
    ["tool_calls", "tool_name", "other"],
    ["receipts", "output", "{}"],
    ["blobs", "bytes", "AAAA"],
    ["blobs", "bytes", Buffer.alloc(30_000, "other").toString("base64")],
    ["turns", "tokens", 1.5],
    ["turns", "response", null],
    ["blobs", "bytes", "not base64!"],
  ] as const)("is refused if %s.%s is %.40s, although its hash is right", async ([table, column, value]) => {
    await exported();
    forge(changed(table, column, value));
    expect(["damaged", "target"]).toContain(await refusal());
  });

  it("of a newer version, or of other tables, is refused", async () => {
    await exported();
    const [header = "", ...rows] = lines().slice(0, -1);
    forge([header.replace('"version":1', '"version":2'), ...rows]);
    expect(await refusal()).toBe("version");
    forge([header.replace('"step_path"', '"step_place"'), ...rows]);
    expect(await refusal()).toBe("version");
  });

  it("is refused by every store but its target", async () => {
    await exported();
    const other = await openStore(":memory:");
    for (const store of [other, source])
      await expect(importBundle(store, file)).rejects.toMatchObject({ details: { reason: "target" } });
    await other.close();
  });

  it("does not replace a file that is something else, and nothing is marked then", async () => {
    await waitingRun(source);
    await SampleRun.create(source, "other").then(({ fence }) => source.interruptRun(fence));
    const to = await target.storeId();
    await exportBundle(source, "other", { file, to });
    const before = readFileSync(file);
    await expect(exportBundle(source, "run-1", { file, to })).rejects.toThrow(ConfigurationError);
    expect(readFileSync(file).equals(before)).toBe(true);
    writeFileSync(file, "notes");
    await expect(exportBundle(source, "run-1", { file, to })).rejects.toThrow("name another one");
    expect((await source.getRun("run-1"))?.status).toBe("waiting");
  });

  it("is not made of a run that is being worked on", async () => {
    const run = await SampleRun.create(source);
    source.attend(run.fence);
    const moving = exportBundle(source, run.runId, { file, to: await target.storeId() });
    await expect(moving).rejects.toThrow(RunBusyError);
    expect(existsSync(file)).toBe(false);
  });

  it("can be imported again at once after an import that failed", async () => {
    await exported();
    const failing = new Proxy(target, {
      get: (store, name) => {
        const member: unknown = Reflect.get(store, name, store);
        if (name === "finishArrival") return () => Promise.reject(new Error("out of memory"));
        return typeof member === "function" ? (member.bind(store) as unknown) : member;
      },
    });
    await expect(importBundle(failing, file)).rejects.toThrow("out of memory");
    expect((await target.getRun("run-1"))?.status).toBe("moved");
    expect((await importBundle(target, file)).run.status).toBe("waiting");
  });

  it("is imported once if two imports begin at the same time", async () => {
    await exported();
    const outcomes = await Promise.allSettled([importBundle(target, file), importBundle(target, file)]);
    const arrived = outcomes.filter((each) => each.status === "fulfilled" && each.value.isNew);
    expect(arrived).toHaveLength(1);
    expect((await target.verify("run-1")).problems).toEqual([]);
    expect((await importBundle(target, file)).isNew).toBe(false);
  });
});

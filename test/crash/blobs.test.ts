import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import { CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import type { Act, CrashSite, Variant } from "./harness/worker-order.ts";
import { documentOf } from "./scenarios/scenarios.ts";

function run(input: string, runId = "reading-1"): Act {
  return { do: "run", input, runId };
}
const RESUME: Act = { do: "resume", runId: "reading-1" };
const AFTER_THE_FIRST_TURN: CrashSite = { point: "turn:committed", turn: 1 };

/** The expected blob of a document, computed here and not by the code under test. */
function blobOf(name: string): { readonly id: string; readonly reference: string; readonly missing: string } {
  const bytes = Buffer.from(JSON.stringify(documentOf(name)));
  const id = createHash("sha256").update(bytes).digest("hex");
  const size = bytes.byteLength;
  return {
    id,
    reference: `<<FL_BLOB_REF:${id}:size=${size}>>`,
    missing: `<<FL_BLOB_MISSING:${id}:size=${size}>>`,
  };
}

/** A document as the model sees it. */
function shown(name: string): string {
  const document = documentOf(name);
  return typeof document === "string" ? document : JSON.stringify(document);
}

function seenIn(folder: CrashFolder, turn: number): readonly string[] | undefined {
  return folder.lines("saw").findLast((line) => line.turn === turn)?.results;
}

/** The tool results in the stored history. */
function storedResults(folder: CrashFolder, runId: string): Promise<unknown[]> {
  return folder.withStore(async (store) =>
    (await store.readHistory(runId, "reading")).flatMap((message) =>
      message.role === "tool" ? message.content.map((part) => part.output.value) : [],
    ),
  );
}

describe("a tool result of more than 50 KB", () => {
  const kills = [
    { name: "novel", crash: AFTER_THE_FIRST_TURN },
    { name: "json catalogue", crash: AFTER_THE_FIRST_TURN },
    { name: "novel", crash: { point: "turn:journaled", turn: 2 } },
    // Stored with its own receipt, while the other call of the turn has none yet.
    { name: "json catalogue", crash: { point: "tool:receipt-stored", turn: 1 } },
  ] as const;

  test.for(sampled(kills, 3, 2))(
    "is seen whole by the model of the next process ($name, $crash.point)",
    async ({ name, crash }) => {
      expect(Buffer.byteLength(shown(name))).toBeGreaterThan(50_000);
      const folder = crashFolder();
      await folder.killed({ scenario: "reading", act: run(name), crash });
      const result = await folder.result({ scenario: "reading", act: RESUME });

      expect(seenIn(folder, 2)).toEqual([shown(name), "<<short>>"]);
      expect(seenIn(folder, 3)).toEqual([shown(name), "<<short>>", "<<short>>"]);
      expect(result.output).toBe(`Read ${shown(name).length + 18} characters.`);
      expect(await storedResults(folder, "reading-1")).toEqual([
        blobOf(name).reference,
        "<<short>>",
        "<<short>>",
      ]);
      expect(folder.tries("read", name)).toBe(1);
    },
  );
});

describe("a large result that is gone", () => {
  /** Killed after the first turn, and then the blob was deleted. */
  let dead: CrashFolder;
  beforeAll(async () => {
    dead = CrashFolder.make();
    await dead.killed({ scenario: "reading", act: run("novel"), crash: AFTER_THE_FIRST_TURN });
    dead.sql("DELETE FROM blobs");
  });
  afterAll(() => dead.remove());

  test.for([
    { what: "is named in the error, and the model is not asked", variant: {} },
    {
      what: "fails the run if its tool may not be repeated",
      variant: { step: { degradedReplay: true }, lookRecovery: "opaque" },
    },
  ] as const)("$what", async ({ variant }) => {
    const folder = dead.copy();
    const before = folder.witness();
    const error = await folder.error({ scenario: "reading", act: RESUME, variant });
    const { id } = blobOf("novel");
    expect(error).toMatchObject({ name: "BlobMissingError", details: { blobId: id, runId: "reading-1" } });
    expect(error.message).toContain(`Blob ${id}`);
    expect(error.message).toContain("a result of read");
    expect(error.message).toMatch(/restore it from a backup.*degradedReplay/);
    expect(folder.witness()).toEqual(before);
    const stored = await folder.withStore((store) => store.getRun("reading-1"));
    expect(stored).toMatchObject({ status: "failed", error: { code: "blob_missing" } });
  });

  test.for(sampled(["repeat", "keyed"] as const))(
    "leaves a marker for the model if the step allows it and the tool is %s",
    async (lookRecovery) => {
      const folder = dead.copy();
      const variant: Variant = { step: { degradedReplay: true }, lookRecovery };
      const result = await folder.result({ scenario: "reading", act: RESUME, variant });
      expect(result.status).toBe("succeeded");
      expect(seenIn(folder, 2)).toEqual([blobOf("novel").missing, "<<short>>"]);
      expect(folder.tries("read", "novel")).toBe(1);
      // The history is unchanged; only the view has the marker.
      expect((await storedResults(folder, "reading-1"))[0]).toBe(blobOf("novel").reference);
    },
  );
});

describe("a tool result that looks like a reference", () => {
  const MADE_UP = `<<FL_BLOB_REF:${"0".repeat(64)}:size=123>>`;

  const lookalikes = [
    { what: "names no blob", text: MADE_UP },
    { what: "names a blob of another run", text: blobOf("novel").reference },
    { what: "looks like a missing one", text: blobOf("novel").missing },
  ];

  test.for(sampled(lookalikes))("stays text if it $what", async ({ text }) => {
    const folder = crashFolder();
    await folder.result({ scenario: "reading", act: run("novel", "other-1") });
    await folder.killed({ scenario: "reading", act: run(text), crash: AFTER_THE_FIRST_TURN });
    const result = await folder.result({ scenario: "reading", act: RESUME });

    expect(result.status).toBe("succeeded");
    expect(seenIn(folder, 2)).toEqual([text, "<<short>>"]);
    expect(await storedResults(folder, "reading-1")).toEqual([text, "<<short>>", "<<short>>"]);
    await folder.withStore(async (store) => {
      expect(await store.readBlob("other-1", blobOf("novel").id)).not.toBeNull();
      expect(await store.readBlob("reading-1", blobOf("novel").id)).toBeNull();
    });
  });

  test("stays text inside a large result, too", async () => {
    const folder = crashFolder();
    const name = `a list of ${blobOf("novel").reference}`;
    await folder.result({ scenario: "reading", act: run("novel", "other-1") });
    await folder.killed({ scenario: "reading", act: run(name), crash: AFTER_THE_FIRST_TURN });
    await folder.result({ scenario: "reading", act: RESUME });
    expect(seenIn(folder, 2)).toEqual([shown(name), "<<short>>"]);
    expect((await storedResults(folder, "reading-1"))[0]).toBe(blobOf(name).reference);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../src/core/canonical-json.ts";
import type { Json } from "../../../src/core/json.ts";
import {
  describeChanges,
  type FingerprintDocument,
  fingerprintChanges,
  fingerprintOf,
  POLICY_VERSION,
  toolSchemaHash,
} from "../../../src/core/turn/turn-fingerprint.ts";

const DOCUMENT: FingerprintDocument = {
  input: { topic: "ratchets", pages: [1, 2] },
  prompt: "You are a careful researcher.",
  model: "m-1",
  provider: "p-1",
  pricingPlan: "2026-01",
  tools: { "local.search": "aa", "local.send": "bb" },
  settings: { temperature: 0, maxOutputTokens: 1000, seed: 7 },
  policyVersion: POLICY_VERSION,
  switches: { enforceIdempotency: false, blobThresholdBytes: 20_000 },
};

describe("fingerprintOf", () => {
  it("is the SHA-256 that any other program computes from the same document", () => {
    expect(fingerprintOf(DOCUMENT)).toBe("fba2c59fab720f4e15fa9b387abb6006579fb0679fc4cc97de5e4732034b87fa");
  });

  it("does not depend on the order of keys or tools", () => {
    expect(
      fingerprintOf({
        switches: { blobThresholdBytes: 20_000, enforceIdempotency: false },
        policyVersion: POLICY_VERSION,
        settings: { seed: 7, maxOutputTokens: 1000, temperature: 0 },
        tools: { "local.send": "bb", "local.search": "aa" },
        pricingPlan: "2026-01",
        provider: "p-1",
        model: "m-1",
        prompt: "You are a careful researcher.",
        input: { pages: [1, 2], topic: "ratchets" },
      }),
    ).toBe(fingerprintOf(DOCUMENT));
  });

  it("refuses input that is not JSON, with its path", () => {
    const input = { when: new Date(0) } as unknown as Json;
    expect(() => fingerprintOf({ ...DOCUMENT, input })).toThrow("$.input.when is a Date");
  });
});

describe("a change of any one component", () => {
  const changes: [string, Partial<FingerprintDocument>, Json, Json][] = [
    ["input.topic", { input: { topic: "pawls", pages: [1, 2] } }, "ratchets", "pawls"],
    ["input.pages", { input: { topic: "ratchets", pages: [2, 1] } }, [1, 2], [2, 1]],
    ["input", { input: "ratchets" }, { topic: "ratchets", pages: [1, 2] }, "ratchets"],
    ["prompt", { prompt: "You are careless." }, "You are a careful researcher.", "You are careless."],
    ["model", { model: "m-2" }, "m-1", "m-2"],
    ["provider", { provider: "p-2" }, "p-1", "p-2"],
    ["pricingPlan", { pricingPlan: "2026-02" }, "2026-01", "2026-02"],
    ["tools.local.send", { tools: { "local.search": "aa", "local.send": "cc" } }, "bb", "cc"],
    ["tools.local.send", { tools: { "local.search": "aa" } }, "bb", null],
    ["tools.local.zip", { tools: { ...DOCUMENT.tools, "local.zip": "dd" } }, null, "dd"],
    ["settings.temperature", { settings: { ...DOCUMENT.settings, temperature: 0.5 } }, 0, 0.5],
    ["settings.maxOutputTokens", { settings: { ...DOCUMENT.settings, maxOutputTokens: 1 } }, 1000, 1],
    ["settings.seed", { settings: { ...DOCUMENT.settings, seed: 8 } }, 7, 8],
    ["settings.topP", { settings: { ...DOCUMENT.settings, topP: 1 } }, null, 1],
    ["policyVersion", { policyVersion: POLICY_VERSION + 1 }, POLICY_VERSION, POLICY_VERSION + 1],
    [
      "switches.enforceIdempotency",
      { switches: { ...DOCUMENT.switches, enforceIdempotency: true } },
      false,
      true,
    ],
    ["switches.blobThresholdBytes", { switches: { ...DOCUMENT.switches, blobThresholdBytes: 1 } }, 20_000, 1],
  ];

  it.each(changes)(
    "changes the fingerprint, and %s is named with its old and new value",
    (what, change, was, is) => {
      const changed = { ...DOCUMENT, ...change };
      expect(fingerprintOf(changed)).not.toBe(fingerprintOf(DOCUMENT));
      expect(fingerprintChanges(DOCUMENT, changed)).toEqual([{ what, was, is }]);
    },
  );

  it("is tested above for every component", () => {
    const checked = new Set(changes.map(([what]) => what.split(".")[0]));
    expect(checked).toEqual(new Set(Object.keys(DOCUMENT)));
  });
});

describe("fingerprintChanges", () => {
  const jsonValue = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;

  it("is empty exactly if the fingerprints are equal", () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (was, is) => {
        expect(fingerprintChanges(was, is).length === 0).toBe(canonicalJson(was) === canonicalJson(is));
      }),
    );
  });

  it("distinguishes objects that differ in a key or two", () => {
    const small = fc.dictionary(
      fc.constantFrom("a", "b", "constructor", "__proto__"),
      fc.constantFrom(null, 0, ""),
    );
    fc.assert(
      fc.property(small, small, (was, is) => {
        expect(fingerprintChanges(was, is).length === 0).toBe(canonicalJson(was) === canonicalJson(is));
      }),
    );
  });

  it("finds nothing between a document and itself", () => {
    expect(fingerprintChanges(DOCUMENT, structuredClone(DOCUMENT))).toEqual([]);
  });

  it("names several changes in the order of their paths", () => {
    const changed = { ...DOCUMENT, provider: "p-2", model: "m-2", input: null, settings: {} };
    expect(fingerprintChanges(DOCUMENT, changed).map(({ what }) => what)).toEqual([
      "input",
      "model",
      "provider",
      "settings.maxOutputTokens",
      "settings.seed",
      "settings.temperature",
    ]);
  });

  it("names a key that was null and is gone", () => {
    const [change, ...others] = fingerprintChanges({ note: null }, {});
    expect(others).toEqual([]);
    expect(change).toEqual({ what: "note", was: null, is: null });
    expect(describeChanges(fingerprintChanges({ note: null }, {}))).toBe(
      "note: null on one side, absent on the other",
    );
  });

  it("compares keys that every object inherits by their values in the documents", () => {
    expect(fingerprintChanges({ constructor: 1 }, {})).toEqual([{ what: "constructor", was: 1, is: null }]);
    expect(fingerprintChanges({}, JSON.parse('{"__proto__":{"a":1}}') as Json)).toEqual([
      { what: "__proto__", was: null, is: { a: 1 } },
    ]);
  });

  it("names a change of the whole value", () => {
    expect(fingerprintChanges("a", "b")).toEqual([{ what: "value", was: "a", is: "b" }]);
  });
});

describe("describeChanges", () => {
  it("shows the old and the new value, one clause per change", () => {
    expect(
      describeChanges([
        { what: "model", was: "m-1", is: "m-2" },
        { what: "settings.seed", was: 7, is: null },
        { what: "input", was: null, is: { a: [1] } },
      ]),
    ).toBe('model: "m-1" → "m-2"; settings.seed: 7 → (absent); input: (absent) → {"a":[1]}');
  });

  it("shows the place where long prompts differ, and little else", () => {
    const start = "Lorem ipsum dolor sit amet. ".repeat(200);
    const end = " Consectetur adipiscing elit.".repeat(200);
    const text = describeChanges([
      { what: "prompt", was: `${start}Be kind.${end}`, is: `${start}Be stern.${end}` },
    ]);
    expect(text).toContain("Be kind.");
    expect(text).toContain("Be stern.");
    expect(text).toMatch(/^prompt: ….*… → ….*…$/);
    expect(text.length).toBeLessThan(280);
  });

  it("marks only the ends that were cut", () => {
    const tail = "x".repeat(500);
    expect(describeChanges([{ what: "prompt", was: `a${tail}`, is: `b${tail}` }])).toMatch(
      /^prompt: "ax+… → "bx+…$/,
    );
    expect(describeChanges([{ what: "prompt", was: `${tail}a`, is: `${tail}b` }])).toMatch(
      /^prompt: …x+a" → …x+b"$/,
    );
  });

  it("shows a short value in full beside a long one", () => {
    const text = describeChanges([{ what: "prompt", was: "Be kind.", is: "Be kind. ".repeat(100) }]);
    expect(text).toMatch(/^prompt: "Be kind\." → "Be kind\. Be .*…$/);
  });

  it("does not split a character at the cut", () => {
    for (let shift = 0; shift < 4; shift++) {
      const faces = "x".repeat(shift) + "😀".repeat(200);
      const text = describeChanges([{ what: "prompt", was: `${faces}a`, is: `${faces}b` }]);
      expect(text).toMatch(/a" → .*b"$/u);
      expect(text.isWellFormed()).toBe(true);
    }
  });

  it("is short and well-formed for every change", () => {
    const text = fc.string({ unit: "binary", maxLength: 2000, size: "max" });
    fc.assert(
      fc.property(text, text, text, (common, was, is) => {
        const described = describeChanges([{ what: "prompt", was: common + was, is: common + is }]);
        expect(described.isWellFormed()).toBe(true);
        expect(described.length).toBeLessThanOrEqual("prompt: ".length + 2 * 122 + " → ".length);
      }),
    );
  });
});

describe("toolSchemaHash", () => {
  const schema = { type: "object", properties: { to: { type: "string" } }, required: ["to"] };

  it("depends on the name and on the schema, not on the order of its keys", () => {
    const hash = toolSchemaHash("local.send", schema);
    const { type, properties, required } = schema;
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(toolSchemaHash("local.send", { required, properties, type })).toBe(hash);
    expect(toolSchemaHash("mail.send", schema)).not.toBe(hash);
    expect(toolSchemaHash("local.send", { ...schema, required: [] })).not.toBe(hash);
  });
});

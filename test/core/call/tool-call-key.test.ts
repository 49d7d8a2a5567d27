import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ToolCallIdentity,
  toolCallIdentityHash,
  toolCallKey,
} from "../../../src/core/call/tool-call-key.ts";
import { canonicalJson } from "../../../src/core/canonical-json.ts";
import type { Json } from "../../../src/core/json.ts";

const CALL: ToolCallIdentity = {
  runId: "q-1",
  namespace: "local",
  tool: "send_email",
  identityHash: toolCallIdentityHash("local", "send_email", { to: "a@example.org", subject: "Hi" }),
  scope: { kind: "call", stepPath: "report[2]/mail" },
  occurrence: 1,
};
const hex = (call: ToolCallIdentity) => toolCallKey(call).toString("hex");

describe("toolCallKey", () => {
  it("is the SHA-256 that any other program computes from the same call", () => {
    expect(hex(CALL)).toBe("bac6004e8b92cbbbd65443e152a28121c5f9147febfb3f258189b084d2299f90");
    expect(hex(structuredClone(CALL))).toBe(hex(CALL));
  });

  const others: [keyof ToolCallIdentity, ToolCallIdentity][] = [
    ["runId", { ...CALL, runId: "q-2" }],
    ["namespace", { ...CALL, namespace: "mail" }],
    ["tool", { ...CALL, tool: "send_mail" }],
    [
      "identityHash",
      { ...CALL, identityHash: toolCallIdentityHash("local", "send_email", { to: "b@example.org" }) },
    ],
    ["scope", { ...CALL, scope: { kind: "call", stepPath: "report[3]/mail" } }],
    ["scope", { ...CALL, scope: { kind: "effect" } }],
    ["occurrence", { ...CALL, occurrence: 2 }],
  ];

  it.each(others)("differs with another %s", (_, other) => {
    expect(hex(other)).not.toBe(hex(CALL));
  });

  it("is tested above for every component", () => {
    expect([...new Set(others.map(([field]) => field))].sort()).toEqual(Object.keys(CALL).sort());
  });

  it("keeps its components apart, however they are spelled", () => {
    const odd = fc.string({ unit: fc.constantFrom("a", "/", ":", '"', ",", "[", "1"), maxLength: 4 });
    const call = fc.record({
      runId: odd,
      namespace: odd,
      tool: odd,
      identityHash: fc.uint8Array({ maxLength: 2 }),
      scope: fc.oneof(
        fc.record({ kind: fc.constant("call" as const), stepPath: odd }),
        fc.record({ kind: fc.constant("effect" as const) }),
      ),
      occurrence: fc.integer({ min: 1, max: 3 }),
    });
    fc.assert(
      fc.property(call, call, (a, b) => {
        const same =
          Buffer.compare(a.identityHash, b.identityHash) === 0 &&
          canonicalJson({ ...a, identityHash: 0 }) === canonicalJson({ ...b, identityHash: 0 });
        expect(hex(a) === hex(b)).toBe(same);
      }),
      { numRuns: 500 },
    );
  });
});

describe("toolCallIdentityHash", () => {
  it("does not depend on the order of keys", () => {
    expect(toolCallIdentityHash("local", "send", { to: "a", cc: { x: 1, y: 2 } })).toEqual(
      toolCallIdentityHash("local", "send", { cc: { y: 2, x: 1 }, to: "a" }),
    );
  });

  it("differs if the arguments, the tool or the namespace differ", () => {
    const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;
    const name = fc.constantFrom("a", "b", "a.b");
    fc.assert(
      fc.property(fc.tuple(name, name, json), fc.tuple(name, name, json), (a, b) => {
        const same = canonicalJson(a) === canonicalJson(b);
        expect(toolCallIdentityHash(...a).equals(toolCallIdentityHash(...b))).toBe(same);
      }),
    );
  });

  it('distinguishes values that look alike: 1 and "1", null and absent, one argument and a list of one', () => {
    const inputs: Json[] = [1, "1", null, {}, { a: null }, [1], [[1]], "", false, 0];
    const hashes = inputs.map((input) => toolCallIdentityHash("local", "send", input).toString("hex"));
    expect(new Set(hashes).size).toBe(inputs.length);
  });
});

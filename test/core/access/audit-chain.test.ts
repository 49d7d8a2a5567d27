import { describe, expect, it } from "vitest";
import {
  AuditChain,
  type AuditEntry,
  type ChainedEntry,
  chainEntries,
  NO_ENTRY,
} from "../../../src/core/access/audit-chain.ts";

const entry: AuditEntry = {
  who: { name: "Ann", id: "a-1", role: "operator" },
  act: "runs.cancel",
  target: "run-1",
  status: 200,
  problem: null,
  requestId: null,
};

const trim = (last: number): AuditEntry => ({ ...entry, act: "audit.trim", target: `1-${last}` });

function problemOf(entries: readonly ChainedEntry[]) {
  const chain = new AuditChain();
  for (const each of entries) chain.take(each);
  return chain.end();
}

describe("the audit log", () => {
  const three = chainEntries(NO_ENTRY, 1, [entry, entry, entry]);

  it("holds as it was written, also in several parts", () => {
    const last = three.at(-1) ?? NO_ENTRY;
    expect(problemOf([])).toBeNull();
    expect(problemOf([...three, ...chainEntries(last, 2, [entry])])).toBeNull();
  });

  it.each([
    ["at", { at: 9 }],
    ["name", { who: { ...entry.who, name: "Bob" } }],
    ["role", { who: { ...entry.who, role: "admin" } }],
    ["act", { act: "runs.show" }],
    ["target", { target: "run-2" }],
    ["status", { status: 403 }],
    ["problem", { problem: "forbidden" }],
    ["requestId", { requestId: "q-1" }],
  ])("notices that the %s of an entry was changed", (_, over) => {
    const changed = three.map((each) => (each.no === 2 ? ({ ...each, ...over } as ChainedEntry) : each));
    expect(problemOf(changed)).toEqual({ no: 2, what: "was changed" });
  });

  it("notices that an entry was written again, with a hash that fits it", () => {
    const [first] = chainEntries(NO_ENTRY, 1, [{ ...entry, target: "run-2" }]);
    const changed = three.map((each) => (each.no === 1 && first !== undefined ? first : each));
    expect(problemOf(changed)).toEqual({ no: 2, what: "does not follow the entry before it" });
  });

  it("notices a missing entry in the middle, and at the beginning", () => {
    expect(problemOf(three.filter(({ no }) => no !== 2))).toEqual({ no: 2, what: "is missing" });
    expect(problemOf(three.slice(1))).toEqual({ no: 1, what: "is missing, and no trim has removed it" });
  });

  it("holds without the entries that a trim has removed, and only without those", () => {
    const trimmed = [...three, ...chainEntries(three.at(-1) ?? NO_ENTRY, 2, [trim(2)])];
    expect(problemOf(trimmed.slice(2))).toBeNull();
    expect(problemOf(trimmed.slice(3))).toEqual({ no: 3, what: "is missing, and no trim has removed it" });
  });
});

import { describe, expect, it } from "vitest";
import {
  decideToolCall,
  defaultRecovery,
  type RecoveryClass,
  type SideEffectClass,
  type ToolCallDecision,
  type ToolCallStatus,
} from "../../src/core/tool-call-decision.ts";

type Kind = ToolCallDecision["kind"];

describe("decideToolCall", () => {
  const table: Record<ToolCallStatus, Record<RecoveryClass, Kind>> = {
    prepared: { repeat: "execute", keyed: "execute", reconcile: "execute", opaque: "execute" },
    running: { repeat: "retry", keyed: "retry", reconcile: "refuse", opaque: "refuse" },
    succeeded: { repeat: "replay", keyed: "replay", reconcile: "replay", opaque: "replay" },
    failed: { repeat: "replay", keyed: "replay", reconcile: "replay", opaque: "replay" },
  };
  const rows = Object.entries(table).flatMap(([status, row]) =>
    Object.entries(row).map(([recovery, kind]) => [status, recovery, kind] as const),
  );

  it.each(rows)("a call found %s whose tool is %s: %s", (status, recovery, kind) => {
    expect(decideToolCall(status as ToolCallStatus, recovery as RecoveryClass)).toEqual({ kind });
  });
});

describe("defaultRecovery", () => {
  it.each<[SideEffectClass, RecoveryClass]>([
    ["read_only", "repeat"],
    ["local", "opaque"],
    ["memory", "opaque"],
    ["external", "opaque"],
  ])("a tool that is %s is %s unless it says otherwise", (effect, recovery) => {
    expect(defaultRecovery(effect)).toBe(recovery);
  });
});

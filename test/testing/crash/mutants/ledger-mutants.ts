// Tool calls: when they run, when they may run again, and what is stored of them.

import type { Mutant } from "./mutant.ts";

export const LEDGER_MUTANTS: readonly Mutant[] = [
  {
    what: "the receipt is stored before the tool is run",
    patches: [
      {
        file: "engine/call/call-settlement.ts",
        right: "    const end = await dispatchTool(this.#run, this.#call, {",
        wrong: `    const { stepKey, turnIndex } = this.#call;
    const receipt = makeReceipt(this.#run, this.#call, {
      ...failed("none", "", { uncertain: false }),
      status: "succeeded",
      source: "tool",
      errorCode: null,
      output: { type: "text", value: "It was run." },
    });
    await this.#run.store.recordReceipt(this.#run.fence, { stepKey, turnIndex, receipt });
    const end = await dispatchTool(this.#run, this.#call, {`,
      },
    ],
    breaks: "effects-exactly-once-where-succeeded",
    scenario: "one-tool",
  },
  {
    what: "tools run before the response that requests them is journaled",
    patches: [
      {
        file: "engine/turn/turn-executor.ts",
        right: "if (calls.rows.length === 0) return { turnIndex,",
        wrong: "if (calls.rows.length <= 1) return { turnIndex,",
      },
    ],
    breaks: "journal-before-tools",
    scenario: "one-tool",
  },
  {
    what: "an opaque call in doubt runs again without a person",
    patches: [
      {
        file: "core/call/tool-call-decision.ts",
        right: '    case "opaque":\n      return unknown(call);',
        wrong: '    case "opaque":\n      return retry(call);',
      },
    ],
    breaks: "effects-at-most-once",
    scenario: "opaque",
  },
  {
    what: "a tool that failed and may have happened is retried",
    patches: [
      {
        file: "core/call/tool-call-decision.ts",
        right: 'const again = outcome === "not_applied" || recovery === "repeat" || recovery === "keyed";',
        wrong: "const again = true;",
      },
    ],
    breaks: "effects-at-most-once",
    scenario: "reconcile",
  },
  {
    what: "a call that a look-up has found runs again",
    patches: [
      {
        file: "core/call/tool-call-decision.ts",
        right: '    case "done":\n      return { kind: "adopt" };',
        wrong: '    case "done":\n      return { kind: "retry" };',
      },
    ],
    breaks: "effects-exactly-once-where-succeeded",
    scenario: "reconcile",
  },
  {
    what: "a call that a look-up has not found runs again at once, while the first attempt may still land",
    patches: [
      {
        file: "core/call/tool-call-decision.ts",
        right: 'return { kind: canStillLand ? "wait" : "retry" };',
        wrong: 'return { kind: "retry" };',
      },
    ],
    breaks: "effects-at-most-once",
    scenario: "late-landing",
  },
  {
    what: "every attempt has its own key",
    patches: [
      {
        file: "engine/call/tool-gateway.ts",
        right: "    idempotencyKey: call.idempotencyKey,\n    // Computed on demand",
        wrong:
          "    idempotencyKey: `${call.idempotencyKey.slice(attempt)}${'0'.repeat(attempt)}`,\n    // Computed on demand",
      },
    ],
    breaks: "effects-at-most-once",
    scenario: "keyed",
  },
  {
    what: "a new worker counts equal calls from the beginning",
    patches: [
      {
        file: "engine/call/call-occurrences.ts",
        right: 'if (this.#seen.has(identity) || (this.#knowsAll && scope === "call"))',
        wrong: "if (this.#knowsAll || this.#isTaken !== null)",
      },
    ],
    breaks: "same-end",
    scenario: "parallel-mixed",
  },
  {
    what: "a restarted code step does not reuse its receipts",
    patches: [
      {
        file: "engine/steps/code-step-calls.ts",
        right:
          '    const rowOf = (n: number) => rows.get(identity.keyOf(n).toString("hex")) ?? null;\n    let count = (this.#requestCounts.get(id) ?? 0) + 1;',
        wrong:
          '    const rowOf = (_: number): ToolCallRecord | null => null;\n    let count = (this.#requestCounts.get(id) ?? 0) + 1;\n    while (rows.has(identity.keyOf(count).toString("hex"))) count += 1;',
      },
      {
        file: "engine/steps/code-step-calls.ts",
        right: "    const leftover = await leftovers.unclaimedEffect(tool);",
        wrong: "    const leftover = null as { toolCallId: string } | null;",
      },
    ],
    breaks: "no-more-effects-than-undisturbed",
    scenario: "loop",
  },
  {
    what: "an effect that is wanted once in a run happens as often as it is requested",
    patches: [
      {
        file: "core/call/tool-call-decision.ts",
        right: 'if (call.earlier === "succeeded") return { kind: "deduplicate" };',
        wrong: "",
      },
    ],
    breaks: "wanted-once-had-once",
    scenario: "artifacts-and-spec",
  },
  {
    what: "a late receipt replaces the stored one",
    patches: [
      {
        file: "store/sql/intents/tool-call-intents.ts",
        right: 'if (call.status === "in_doubt" && call.attempt === attempt && !call.hasReceipt) {',
        wrong: 'if (call.status !== "prepared") {',
      },
      {
        file: "store/sql/tables/tool-call-rows.ts",
        right: "  if (call.hasReceipt) throw settledMeanwhile(callNo);\n  if (isDispatched",
        wrong: "  if (isDispatched",
      },
      {
        file: "store/sql/tables/tool-call-rows.ts",
        right: '  insertRow(tx, run, "receipts", {',
        wrong: '  putRow(tx, run, "receipts", {',
      },
      {
        file: "store/sql/tables/tool-call-rows.ts",
        right: "import { changeRow, insertRow, removeRow,",
        wrong: "import { changeRow, insertRow, putRow, removeRow,",
      },
    ],
    breaks: "receipts-immutable",
    scenario: "late-return",
    schedule: "pause after store.commitTurn 1; wake at the end",
  },
  {
    what: "a tool runs without the approval that it needs",
    patches: [
      {
        file: "core/call/tool-call-decision.ts",
        right: 'return { kind: "ask", why: WHY_ASK[call.earlier] };',
        wrong: 'return { kind: "execute" };',
      },
      {
        file: "store/sql/tables/tool-call-rows.ts",
        right: "  yield* assertApproved(run, callNo, start.approvedArguments);\n",
        wrong: "",
      },
    ],
    breaks: "runs-as-approved",
    scenario: "approval",
  },
  {
    what: "an approval is valid for any arguments",
    patches: [
      {
        file: "engine/call/call-decision.ts",
        right: 'return wait.argumentsHash === hash ? "given" : "outdated";',
        wrong: 'return wait.argumentsHash === hash ? "given" : "given";',
      },
      {
        file: "store/sql/tables/tool-call-rows.ts",
        right: 'if (isApproved && wait.hex("arguments_hash") === approvedArguments) return;',
        wrong: "if (isApproved) return;",
      },
    ],
    breaks: "runs-as-approved",
    scenario: "changed-arguments",
  },
  {
    what: "a denied call runs anyway",
    patches: [
      {
        file: "core/call/tool-call-decision.ts",
        right: 'case "denied":\n      return { kind: "refuse", why: "denied" };',
        wrong: 'case "denied":\n      return { kind: "execute" };',
      },
      {
        file: "store/sql/tables/tool-call-rows.ts",
        right: "  yield* assertApproved(run, callNo, start.approvedArguments);\n",
        wrong: "",
      },
    ],
    breaks: "runs-as-approved",
    scenario: "approval",
  },
  {
    what: "an approval that was not requested yet is forgotten in a crash",
    patches: [
      {
        file: "engine/call/call-decision.ts",
        right: 'const isNew = known === null || known.status === "prepared";\n  const mayRepeat',
        wrong: "const isNew = known === null;\n  const mayRepeat",
      },
    ],
    breaks: "runs-as-approved",
    scenario: "approval",
  },
  {
    what: "a new worker does not know which failed calls may have happened",
    patches: [
      {
        file: "engine/run/uncertain-calls.ts",
        right: "this.#exist ??= await this.#store.hasUncertainCalls(this.#runId);",
        wrong: "this.#exist ??= false;",
      },
    ],
    breaks: "same-end",
    scenario: "uncertain-again",
  },
];

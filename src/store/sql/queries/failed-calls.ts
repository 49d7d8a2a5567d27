import { ANY_TOOL } from "../../../core/call/any-tool.ts";
import type { SqlCondition } from "./sql-condition.ts";

/** True for the receipt of a call that failed. As it is in the index of these receipts. */
export const HAS_FAILED = "receipts.status = 'failed'";

/** True for the call of the receipt. */
export const OF_RECEIPT = "tool_calls.run_key = receipts.run_key AND tool_calls.call_no = receipts.call_no";

/** The receipts of failed calls, of all runs and tools: as many as there are, from their index. */
export const FAILED_RECEIPTS: SqlCondition = {
  text: `SELECT receipts.run_key FROM receipts WHERE ${HAS_FAILED}`,
  values: [],
};

/** The keys of the runs with a failed call of the tool. */
export function failedKeys(tool: string): SqlCondition {
  const failed = failedCalls(tool);
  return { text: `SELECT DISTINCT receipts.run_key ${failed.text}`, values: failed.values };
}

/** True for a run with a failed call of the tool. */
export function hasToolError(tool: string): SqlCondition {
  const failed = failedCalls(tool);
  return {
    text: `EXISTS (SELECT 1 ${failed.text} AND receipts.run_key = runs.run_key)`,
    values: failed.values,
  };
}

/** Only the ledger has the name of the tool. A cross join is made in this order: few of all calls have failed. */
function failedCalls(tool: string): SqlCondition {
  if (tool === ANY_TOOL) return { text: `FROM receipts WHERE ${HAS_FAILED}`, values: [] };
  return {
    text: `FROM receipts CROSS JOIN tool_calls WHERE ${HAS_FAILED} AND ${OF_RECEIPT} AND tool_calls.tool_name = ?`,
    values: [tool],
  };
}

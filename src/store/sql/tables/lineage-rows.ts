import { canonicalJson } from "../../../core/canonical-json.ts";
import type { NewLineage } from "../../store.ts";
import type { GranularStateRow, RunHead } from "../run-head.ts";
import type { ColumnsOf } from "../table-list.ts";
import { insertRow, type Transaction } from "../transaction.ts";
import { saveLineage, saveTurns } from "./granular-state.ts";

/** Stores a new lineage and makes it the current one of its step: its history is empty. Returns its number. */
export function switchLineage(
  tx: Transaction,
  run: RunHead,
  state: GranularStateRow,
  fingerprint: NewLineage["fingerprint"],
  begun: Omit<ColumnsOf<"lineages">, "begun_at">,
): number {
  const { stepNo } = state;
  state.lineage += 1;
  insertRow(tx, run, "lineages", { step_no: stepNo, lineage: state.lineage, begun_at: tx.now, ...begun });
  insertRow(tx, run, "fingerprints", {
    step_no: stepNo,
    lineage: state.lineage,
    document: canonicalJson(fingerprint.document),
  });
  // The last call is settled: that of an abandoned turn was journaled. Nothing else may be reserved here.
  if (state.lastCall !== null) state.lastCall = { ...state.lastCall, reserved: null };
  state.firstTurn = begun.first_turn;
  state.turnIndex = begun.first_turn - 1;
  state.messages = 0;
  state.tokens = 0;
  state.fingerprint = Buffer.from(fingerprint.hash, "hex");
  saveTurns(tx, run, state);
  saveLineage(tx, run, state);
  return state.lineage;
}

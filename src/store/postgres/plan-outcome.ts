import type { RunKey } from "../sql/table-list.ts";
import type { Connection } from "./connection.ts";
import type { CommitPlan } from "./plan.ts";

/** Where the run of a plan is. */
export type PlanOutcome =
  /** At the plan's own event, or past it by others' hands while this owner has it. */
  | "done"
  /** Past it, and another owner has the run. */
  | "followed"
  /** Where it was before the plan. */
  | "unmoved"
  /** Elsewhere. */
  | "moved";

/**
 * Whether a plan was committed, read from the log: the hash of its event says whose it is. Waits for a session that still
 * has the row. "Unmoved" alone proves nothing: the first try may still be under way, so the same plan is sent again and
 * the compare-and-set decides.
 */
export async function outcomeOf(
  connection: Connection,
  plan: CommitPlan,
  owner: string,
): Promise<PlanOutcome> {
  const move = headMove(plan);
  if (move === null) return "moved";
  void connection.begin();
  try {
    return await outcomeOfMove(connection, move, owner);
  } finally {
    await connection.send("COMMIT").catch(() => undefined);
  }
}

async function outcomeOfMove(connection: Connection, move: HeadMove, owner: string): Promise<PlanOutcome> {
  const head = "SELECT event_hash, owner FROM runs WHERE run_key = ?::uuid FOR UPDATE";
  const [run] = await connection.rows(head, [move.key]);
  if (run === undefined || isSame(run.bytes("event_hash"), move.previousHash)) return "unmoved";
  const written = "SELECT hash FROM events WHERE run_key = ?::uuid AND seq = ?";
  const [event] = await connection.rows(written, [move.key, move.seq]);
  if (event === undefined || !isSame(event.bytes("hash"), move.hash)) return "moved";
  const isLast = isSame(run.bytes("event_hash"), move.hash);
  return isLast || run.optionalText("owner") === owner ? "done" : "followed";
}

/** The change of a run's head that a plan makes: from the last event that it knows to its own last one. */
type HeadMove = {
  readonly key: RunKey;
  readonly previousHash: Uint8Array;
  readonly seq: number;
  readonly hash: Uint8Array;
};

/** The first head that a plan moves, and where to; null if it moves none. */
function headMove({ writes }: CommitPlan): HeadMove | null {
  const moves = writes.filter((write) => write.kind === "advance");
  const first = moves[0];
  const last = moves.findLast(({ key }) => key === first?.key);
  if (first === undefined || last === undefined) return null;
  const { event_seq: seq, event_hash: hash } = last.set;
  if (typeof seq !== "number" || !(hash instanceof Uint8Array)) throw new Error("A head moves to no event.");
  return { key: first.key as RunKey, previousHash: first.previousHash, seq, hash };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
